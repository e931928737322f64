#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <string.h>

#include "base/addr.h"

static const struct {
	const char *text, *want; /* NULL: refused */
} strict[] = {
	{ "1.2.3.4", "1.2.3.4" },
	{ "1.2.3", NULL },
	{ "01.2.3.4", NULL },
	{ "256.1.1.1", NULL },
	{ "::1", "::1" },
	{ "2001:DB8:0:0::1", "2001:db8::1" },
	{ "fe80::1%lo", NULL },
	{ "[::1]", NULL },
	{ "", NULL },
	{ "::ffff:1.2.3.4", "::ffff:1.2.3.4" },
};

START_TEST(parses_strictly)
{
	struct addr addr;
	char out[ADDR_TEXT_MAX];
	int r = addr_parse(strict[_i].text, strlen(strict[_i].text), &addr);

	if (!strict[_i].want) {
		ck_assert_int_eq(r, -EINVAL);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_str_eq(addr_text(&addr, out), strict[_i].want);
}
END_TEST

static const struct {
	const char *text, *want;
} loose[] = {
	{ "2130706433", "127.0.0.1" },
	{ "0177.0.0.1", "127.0.0.1" },
	{ "0x7f.1", "127.0.0.1" },
	{ "127.1", "127.0.0.1" },
	{ "0x7F000001", "127.0.0.1" },
	{ "1.2.65535", "1.2.255.255" },
	{ "1.2.65536", NULL },
	{ "4294967296", NULL },
	{ "08.1.1.1", NULL },
	{ "1.2.3.4.5", NULL },
	{ "a.test", NULL },
	{ "1..2", NULL },
	{ "0x", NULL },
	{ "", NULL },
	{ "1.", NULL },
	{ "0", "0.0.0.0" },
};

START_TEST(knows_every_spelling_of_ipv4)
{
	struct addr addr;
	char out[ADDR_TEXT_MAX];
	int r = addr_parse_loose_v4(loose[_i].text, strlen(loose[_i].text), &addr);

	if (!loose[_i].want) {
		ck_assert_int_eq(r, -EINVAL);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_str_eq(addr_text(&addr, out), loose[_i].want);
}
END_TEST

static const struct {
	const char *block, *addr;
	int want; /* -1: the block is refused */
} blocks[] = {
	{ "10.0.0.0/8", "10.255.0.1", 1 },
	{ "10.0.0.0/8", "11.0.0.0", 0 },
	{ "10.0.0.1/8", "10.0.0.1", -1 },
	{ "10.0.0.0/33", "10.0.0.0", -1 },
	{ "0.0.0.0/0", "9.9.9.9", 1 },
	{ "::/0", "9.9.9.9", 0 },
	{ "fc00::/7", "fdff::1", 1 },
	{ "fc00::/7", "fe00::1", 0 },
	{ "1.2.3.4/32", "1.2.3.4", 1 },
	{ "1.2.3.4/32", "1.2.3.5", 0 },
	{ "100.64.0.0/10", "100.127.255.255", 1 },
	{ "100.64.0.0/10", "100.128.0.0", 0 },
	{ "1.2.3.4/", "1.2.3.4", -1 },
	{ "1.2.3.4/ 8", "1.2.3.4", -1 },
};

START_TEST(blocks_have_edges)
{
	struct addr_block block;
	struct addr addr;
	int r = addr_block_parse(blocks[_i].block, strlen(blocks[_i].block), &block);

	ck_assert_int_eq(r, blocks[_i].want < 0 ? -EINVAL : 0);
	if (r < 0)
		return;
	ck_assert_int_eq(addr_parse(blocks[_i].addr, strlen(blocks[_i].addr), &addr), 0);
	ck_assert_int_eq(addr_block_has(&block, &addr), blocks[_i].want);
}
END_TEST

START_TEST(survives_sockaddr_and_back)
{
	struct sockaddr_storage storage;
	struct addr addr, back;
	uint16_t port;
	char out[ADDR_PORT_MAX];

	ck_assert_int_eq(addr_parse("2001:db8::5", 11, &addr), 0);
	addr_to_sockaddr(&addr, 8443, &storage);
	ck_assert_int_eq(addr_from_sockaddr((struct sockaddr *)&storage, &back, &port), 0);
	ck_assert(addr_equal(&addr, &back));
	ck_assert_str_eq(addr_port_text(&back, port, out), "[2001:db8::5]:8443");
}
END_TEST

TCase *test_addr(void)
{
	TCase *tcase = tcase_create("addr");

	tcase_add_loop_test(tcase, parses_strictly, 0, sizeof(strict) / sizeof(strict[0]));
	tcase_add_loop_test(tcase, knows_every_spelling_of_ipv4, 0,
			    sizeof(loose) / sizeof(loose[0]));
	tcase_add_loop_test(tcase, blocks_have_edges, 0, sizeof(blocks) / sizeof(blocks[0]));
	tcase_add_test(tcase, survives_sockaddr_and_back);
	return tcase;
}
