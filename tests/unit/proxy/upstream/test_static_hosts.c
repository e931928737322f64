#include "tests/unit/proxy/dial_test.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/upstream/families.h"
#include "proxy/upstream/static_hosts.h"
#include "proxy/upstream/nameservers.h"

static const struct {
	const char *text, *want;
} servers[] = {
	{ "nameserver 192.0.2.1\n", "192.0.2.1:53" },
	{ "# x\n\nsearch a.test\nnameserver\t192.0.2.1 # y\n nameserver 192.0.2.2",
	  "192.0.2.1:53,192.0.2.2:53" },
	{ "nameserver 2001:db8::1\r\n", "[2001:db8::1]:53" },
	{ "nameserver fe80::1%eth0\n", "[fe80::1%eth0]:53" },
	{ "nameserver 1.1\nnameserver a.test\nnameserver 192.0.2.1%x\nnameserver 192.0.2.3\n",
	  "192.0.2.3:53" },
	{ "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver "
	  "192.0.2.4\n",
	  "192.0.2.1:53,192.0.2.2:53,192.0.2.3:53" },
	{ "", "127.0.0.1:53" },
	{ "nameservers 192.0.2.1\n;nameserver 192.0.2.2\noptions ndots:5", "127.0.0.1:53" },
};

START_TEST(nameservers_from_text)
{
	auto_free char *text = mem_strdup(servers[_i].text);
	char out[NAMESERVERS_TEXT_MAX];

	nameservers_parse(text, out);
	ck_assert_str_eq(out, servers[_i].want);
}
END_TEST

static const char hosts_text[] = "127.0.0.1 localhost\n"
				 "# 192.0.2.99 comment.test\n"
				 "192.0.2.1\tA.Test  alias.test. # first\n"
				 "2001:db8::1 a.test\n"
				 "192.0.2.2 b.test a.test\r\n"
				 "bogus c.test\n"
				 "fe80::1%eth0 d.test\n"
				 "192.0.2.7\n"
				 "192.0.2.3 last.test";

static const struct {
	const char *name, *want;
} found[] = {
	{ "a.test", "192.0.2.1 2001:db8::1 192.0.2.2 " }, /* in file order */
	{ "alias.test", "192.0.2.1 " },
	{ "b.test", "192.0.2.2 " },
	{ "last.test", "192.0.2.3 " },
	{ "c.test", "" },
	{ "d.test", "" },
	{ "comment.test", "" },
	{ "test", "" },
	{ "aa.test", "" },
	{ "localhost", "127.0.0.1 ::1 " },
	{ "db.localhost", "127.0.0.1 ::1 " },
	{ "notlocalhost", "" },
	{ "mapped.test", "10.0.0.1 10.0.0.2 mapped " },
	{ "b.mapped.test", "" },
};

START_TEST(names_are_found)
{
	static const char *const addrs[] = { "10.0.0.1", "10.0.0.9", "10.0.0.2" };
	struct proxy_mapping mappings[] = { { .name = "mapped.test" },
					    { .name = "other.test" },
					    { .name = "mapped.test" } };
	struct proxy_config config = { .resolves = mappings,
				       .resolve_count = ARRAY_SIZE(mappings) };
	char out[256] = "", text[ADDR_TEXT_MAX];
	struct addr addrs_found[4];
	bool is_mapped;
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++)
		mappings[i].addr = dial_test_addr(addrs[i]);
	struct static_hosts *known = static_hosts_new(&config, mem_strdup(hosts_text));
	size_t count = static_hosts_find(known, found[_i].name, addrs_found, 4, &is_mapped);

	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s ",
					addr_text(&addrs_found[i], text));
	(void)snprintf(out + len, sizeof(out) - len, "%s", is_mapped ? "mapped " : "");
	ck_assert_str_eq(out, found[_i].want);
	ck_assert_uint_eq(static_hosts_find(known, found[_i].name, addrs_found, 1, &is_mapped),
			  count ? 1 : 0);
	static_hosts_free(known);
}
END_TEST

static const struct {
	size_t v4, v6;
	bool is_v6_first;
	size_t max;
	const char *want; /* 4 and 6, by family */
} orders[] = {
	{ 2, 2, true, 16, "6464" },  { 2, 2, false, 16, "4646" }, { 3, 1, true, 16, "6444" },
	{ 1, 3, false, 16, "4666" }, { 0, 2, false, 16, "66" },   { 2, 0, true, 16, "44" },
	{ 3, 3, true, 3, "646" },    { 0, 0, true, 16, "" },
};

START_TEST(families_take_turns)
{
	struct addr v4[4] = { { 0 } }, v6[4] = { { 0 } }, out[16];
	char text[17] = "";

	for (uint8_t i = 0; i < 4; i++) {
		v4[i] = (struct addr){ AF_INET, { 192, 0, 2, i } };
		v6[i] = (struct addr){ AF_INET6, { 0x20, 1, [15] = i } };
	}
	size_t count = families_interleave(v4, orders[_i].v4, v6, orders[_i].v6,
					   orders[_i].is_v6_first, out, orders[_i].max);

	for (size_t i = 0; i < count; i++)
		text[i] = out[i].family == AF_INET ? '4' : '6';
	ck_assert_str_eq(text, orders[_i].want);
}
END_TEST

START_TEST(each_address_once)
{
	struct addr v4[3] = { dial_test_addr("192.0.2.1"), dial_test_addr("192.0.2.1"),
			      dial_test_addr("192.0.2.2") };
	struct addr out[16];

	ck_assert_uint_eq(families_interleave(v4, 3, NULL, 0, false, out, 16), 2);
	ck_assert(addr_equal(&out[1], &v4[2]));
}
END_TEST

TCase *test_known(void)
{
	TCase *tcase = tcase_create("known");

	tcase_add_loop_test(tcase, nameservers_from_text, 0, ARRAY_SIZE(servers));
	tcase_add_loop_test(tcase, names_are_found, 0, ARRAY_SIZE(found));
	tcase_add_loop_test(tcase, families_take_turns, 0, ARRAY_SIZE(orders));
	tcase_add_test(tcase, each_address_once);
	return tcase;
}
