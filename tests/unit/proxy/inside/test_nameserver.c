/* Names inside the sandbox: their addresses, and what the resolver answers. */
#include "proxy/inside/nameserver.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/inside_net.h"
#include "proxy/inside/names.h"
#include "proxy/parse/dns.h"
#include "proxy/way.h"
#include "tests/unit/proxy/rig.h"

START_TEST(a_name_keeps_its_address)
{
	struct names names = { 0 };
	struct addr first, later;
	char host[32], text[ADDR_TEXT_MAX];

	ck_assert_uint_eq(names_add(&names, "a.test"), 1);
	first = names_address(1, AF_INET);
	ck_assert_str_eq(addr_text(&first, text), "198.18.1.0");
	for (int i = 2; i <= INSIDE_NET_NAMES; i++) {
		(void)snprintf(host, sizeof(host), "n%d.test", i);
		ck_assert_uint_eq(names_add(&names, host), i);
	}
	ck_assert_uint_eq(names_add(&names, "one-too-many.test"), 0);
	ck_assert_uint_eq(names_add(&names, "a.test"), 1);
	later = names_address(INSIDE_NET_NAMES, AF_INET);
	ck_assert_str_eq(addr_text(&later, text), "198.18.128.255");
	ck_assert_str_eq(names_host(&names, &later), host);
	later = names_address(258, AF_INET6);
	ck_assert_str_eq(addr_text(&later, text), "fd5a:11a9:7047:1::102");
	ck_assert_str_eq(names_host(&names, &later), "n258.test");
	later = names_address(INSIDE_NET_NAMES + 1, AF_INET);
	ck_assert_ptr_null(names_host(&names, &later));
	later = names_address(0, AF_INET);
	ck_assert_ptr_null(names_host(&names, &later));
	ck_assert_int_eq(addr_parse("10.0.0.1", 8, &later), 0);
	ck_assert_ptr_null(names_host(&names, &later));
	names_done(&names);
}
END_TEST

/* A worker that follows another one uses none of its numbers. */
START_TEST(a_later_worker_reuses_no_address)
{
	struct names names = { .first = INSIDE_NET_NAMES - 1 };
	struct addr own = names_address(INSIDE_NET_NAMES, AF_INET),
		    other = names_address(1, AF_INET);

	ck_assert_uint_eq(names_add(&names, "a.test"), INSIDE_NET_NAMES);
	ck_assert_uint_eq(names_add(&names, "a.test"), INSIDE_NET_NAMES);
	ck_assert_uint_eq(names_add(&names, "b.test"), 0);
	ck_assert_str_eq(names_host(&names, &own), "a.test");
	ck_assert_ptr_null(names_host(&names, &other));
	names_done(&names);
}
END_TEST

static size_t make_query(const char *name, enum dns_type type, uint8_t *out)
{
	static const uint8_t head[12] = { 1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1 };
	static const uint8_t edns[11] = { 0, 0, 41, 4, 208 };
	size_t len = sizeof(head);

	memcpy(out, head, len);
	while (*name) {
		size_t label = strcspn(name, ".");

		out[len++] = (uint8_t)label;
		memcpy(out + len, name, label);
		len += label;
		name += label + (name[label] == '.');
	}
	out[len++] = 0;
	out[len++] = 0;
	out[len++] = (uint8_t)type;
	out[len++] = 0;
	out[len++] = 1;
	memcpy(out + len, edns, sizeof(edns));
	return len + sizeof(edns);
}

/* In this order, of one sandbox. @want: bytes at the end of the answer; "": no record. */
static const struct {
	const char *name;
	enum dns_type type;
	enum dns_code code;
	const char *want;
	size_t want_len;
} answers[] = {
	{ "A.test", DNS_A, DNS_OK, "\306\22\1\0", 4 },
	{ "b.test", DNS_A, DNS_OK, "\306\22\1\1", 4 },
	{ "a.test", DNS_A, DNS_OK, "\306\22\1\0", 4 },
	{ "a.test", DNS_AAAA, DNS_OK, "", 0 }, /* this sandbox has no IPv6 */
	{ "a.test", DNS_TXT, DNS_OK, "", 0 },
	{ "localhost", DNS_A, DNS_OK, "\177\0\0\1", 4 },
	{ "x.localhost", DNS_A, DNS_OK, "\177\0\0\1", 4 },
	{ "a.invalid", DNS_A, DNS_NO_NAME, "", 0 },
	{ "a.onion", DNS_A, DNS_NO_NAME, "", 0 },
	{ "printer.local", DNS_A, DNS_NO_NAME, "", 0 },
	{ "10.0.0.1", DNS_A, DNS_NO_NAME, "", 0 },
	{ "", DNS_A, DNS_NO_NAME, "", 0 },
	{ "a b.test", DNS_A, DNS_NO_NAME, "", 0 },
	{ "0.1.18.198.in-addr.arpa", DNS_PTR, DNS_OK, "\1a\4test\0", 8 },
	{ "2.1.18.198.in-addr.arpa", DNS_PTR, DNS_NO_NAME, "", 0 },
	{ "1.0.0.10.in-addr.arpa", DNS_PTR, DNS_NO_NAME, "", 0 },
	{ "1.1.18.198.1.in-addr.arpa", DNS_PTR, DNS_NO_NAME, "", 0 },
	{ "2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.7.4.0.7.9.a.1.1.a.5.d.f.ip6.arpa", DNS_PTR,
	  DNS_OK, "\1b\4test\0", 8 },
	{ "2.0.0.0.x.ip6.arpa", DNS_PTR, DNS_NO_NAME, "", 0 },
	{ "b.test", DNS_ANY, DNS_OK, "\306\22\1\1", 4 },
};

START_TEST(answers_a_query)
{
	struct rig rig;
	uint8_t query[512], out[DNS_REPLY_MAX];
	static const uint8_t edns[3] = { 0, 0, 41 };

	rig_init(&rig);
	struct nameserver *server = &LIST_FIRST(&rig.proxy->ways)->nameserver;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		size_t asked = make_query(answers[i].name, answers[i].type, query);
		size_t len = nameserver_answer(server, query, asked, true, out);
		size_t want = answers[i].want_len;

		ck_assert_uint_gt(len, 12);
		ck_assert_msg((out[3] & 15) == answers[i].code, "%s: code %d", answers[i].name,
			      out[3] & 15);
		ck_assert_msg(out[7] == (want > 0), "%s: %d records", answers[i].name, out[7]);
		const uint8_t *end = memmem(out + 12, len - 12, edns, sizeof(edns));

		if (want > 0 && answers[i].want[0] != '\177')
			ck_assert_msg(end != NULL && memcmp(end - want, answers[i].want, want) == 0,
				      "%s", answers[i].name);
	}
	rig_done(&rig);
}
END_TEST

START_TEST(says_what_policy_denies)
{
	static const char want[] = "https://denied.test: A rule denies it.";
	struct rig rig;
	uint8_t query[512], out[DNS_REPLY_MAX];

	rig_init(&rig);
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load_text(policy, "<test>", "deny denied.test\nallow a.test\n"), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	const struct policy *before = rig.config.policy;
	struct nameserver *server = &LIST_FIRST(&rig.proxy->ways)->nameserver;

	rig.config.policy = policy;
	size_t len = nameserver_answer(server, query, make_query("denied.test", DNS_A, query), true,
				       out);

	ck_assert_uint_eq(out[7], 1); /* the connection is decided, and recorded */
	ck_assert_ptr_nonnull(memmem(out, len, want, sizeof(want) - 1));
	len = nameserver_answer(server, query, make_query("_why.denied.test", DNS_TXT, query), true,
				out);
	ck_assert_ptr_nonnull(memmem(out, len, want, sizeof(want) - 1));
	ck_assert_ptr_nonnull(memmem(out, len, "<test>:1: deny denied.test", 26));
	len = nameserver_answer(server, query, make_query("a.test", DNS_A, query), true, out);
	ck_assert_ptr_null(memmem(out, len, "denie", 5));
	len = nameserver_answer(server, query, make_query("_why.a.test", DNS_TXT, query), true,
				out);
	ck_assert_ptr_nonnull(memmem(out, len, "no rule denies it", 17));
	rig.config.policy = before;
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

TCase *test_nameserver(void)
{
	TCase *tcase = tcase_create("nameserver");

	tcase_add_test(tcase, a_name_keeps_its_address);
	tcase_add_test(tcase, a_later_worker_reuses_no_address);
	tcase_add_test(tcase, answers_a_query);
	tcase_add_test(tcase, says_what_policy_denies);
	return tcase;
}
