#include "tests/unit/proxy/parse/parse_test.h"

#include <string.h>

#include "base/mem.h"
#include "proxy/parse/packet.h"

#define SERVER_4 "50.0.0.10"
#define CLIENT_4 "192.0.0.8"
#define SERVER_6 "fd5a:11a9:7047:1::1"
#define CLIENT_6 "fd5a:11a9:7047::1"

/* Computed by another program. */
static const struct {
	const char *server, *client;
	struct bytes head, refusal;
} families[] = {
	{ SERVER_4, CLIENT_4,
	  BYTES("\x45\x00\x00\x1f\x00\x00\x40\x00\x40\x11\x48\xbc\x32\x00\x00\x0a\xc0\x00\x00\x08"
		"\x00\x7b\x9c\x40\x00\x0b\xe7\xa0"),
	  BYTES("\x45\x00\x00\x38\x00\x00\x40\x00\x40\x01\x48\xb3\x32\x00\x00\x0a\xc0\x00\x00\x08"
		"\x03\x03\xef\x28\x00\x00\x00\x00"
		"\x45\x00\x00\x1c\x00\x00\x40\x00\x40\x11\x48\xbf\xc0\x00\x00\x08\x32\x00\x00\x0a"
		"\x9c\x40\x00\x7b\x00\x08\x71\x10") },
	{ SERVER_6, CLIENT_6,
	  BYTES("\x60\x00\x00\x00\x00\x0b\x11\x40"
		"\xfd\x5a\x11\xa9\x70\x47\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"
		"\xfd\x5a\x11\xa9\x70\x47\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
		"\x00\x7b\x9c\x40\x00\x0b\xdb\x19"),
	  BYTES("\x60\x00\x00\x00\x00\x38\x3a\x40"
		"\xfd\x5a\x11\xa9\x70\x47\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"
		"\xfd\x5a\x11\xa9\x70\x47\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
		"\x01\x04\x8e\xc0\x00\x00\x00\x00"
		"\x60\x00\x00\x00\x00\x08\x11\x40"
		"\xfd\x5a\x11\xa9\x70\x47\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
		"\xfd\x5a\x11\xa9\x70\x47\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"
		"\x9c\x40\x00\x7b\x00\x08\x64\x89") },
};

static struct packet_way way_of(const char *from, uint16_t from_port, const char *to,
				uint16_t to_port)
{
	struct packet_way way = { .from_port = from_port, .to_port = to_port };

	ck_assert_int_eq(addr_parse(from, strlen(from), &way.from), 0);
	ck_assert_int_eq(addr_parse(to, strlen(to), &way.to), 0);
	return way;
}

START_TEST(answer)
{
	struct packet_way way = way_of(families[_i].server, 123, families[_i].client, 40000);
	struct bytes want = families[_i].head;
	uint8_t out[PACKET_HEAD_MAX];

	memset(out, 0xaa, sizeof(out));
	ck_assert_uint_eq(packet_write_head(&way, "hi!", 3, out), want.len);
	ck_assert_mem_eq(out, want.at, want.len);
}
END_TEST

START_TEST(refusal)
{
	struct packet_way way = way_of(families[_i].client, 40000, families[_i].server, 123);
	struct bytes want = families[_i].refusal;
	uint8_t out[PACKET_REFUSAL_MAX];

	memset(out, 0xaa, sizeof(out));
	ck_assert_uint_eq(packet_write_refusal(&way, out), want.len);
	ck_assert_mem_eq(out, want.at, want.len);
}
END_TEST

/* A sum of zero would mean that there is none. */
START_TEST(sum_is_never_zero)
{
	struct packet_way way = way_of(SERVER_4, 123, CLIENT_4, 40000);
	uint8_t out[PACKET_HEAD_MAX];

	ck_assert_uint_eq(packet_write_head(&way, "\x71\x0c", 2, out), 28);
	ck_assert_mem_eq(out + 26, "\xff\xff", 2);
}
END_TEST

START_TEST(largest)
{
	struct packet_way way = way_of(families[_i].server, 123, families[_i].client, 40000);
	size_t most = _i == 0 ? 65507 : 65527;
	auto_free char *payload = mem_new(most + 1);
	uint8_t out[PACKET_HEAD_MAX];

	ck_assert_uint_eq(packet_write_head(&way, payload, most, out), families[_i].head.len);
	ck_assert_uint_eq(packet_write_head(&way, payload, most + 1, out), 0);
}
END_TEST

TCase *packet_cases(void)
{
	TCase *tcase = tcase_create("packet");

	tcase_add_loop_test(tcase, answer, 0, ARRAY_SIZE(families));
	tcase_add_loop_test(tcase, refusal, 0, ARRAY_SIZE(families));
	tcase_add_loop_test(tcase, largest, 0, ARRAY_SIZE(families));
	tcase_add_test(tcase, sum_is_never_zero);
	return tcase;
}
