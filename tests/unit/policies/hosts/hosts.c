#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

#define LABEL_63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"

/* The bypass catalogue: names, spellings and addresses. @want NULL: refused. */
static const struct {
	const char *host;
	size_t len; /* 0: strlen */
	const char *want;
} spellings[] = {
	/* N01: NUL */
	{ "evil.test\0.good.test", 20, NULL },
	{ "good.test\0", 10, NULL },
	{ "\0", 1, NULL },
	/* N02: what other parsers read something into */
	{ "a b.test", 0, NULL },
	{ " a.test", 0, NULL },
	{ "a.test\t", 0, NULL },
	{ "a.test\r\n", 0, NULL },
	{ "a\x01.test", 0, NULL },
	{ "a\x7f.test", 0, NULL },
	{ "a%00.test", 0, NULL },
	{ "a%2e.test", 0, NULL },
	{ "a\\b.test", 0, NULL },
	{ "user@a.test", 0, NULL },
	{ "a.test#b", 0, NULL },
	{ "a.test?b", 0, NULL },
	{ "a.test/b", 0, NULL },
	{ "a.test;b", 0, NULL },
	{ "a,b.test", 0, NULL },
	{ "a.test:80", 0, NULL },
	{ "under_score.test", 0, "under_score.test" },
	{ "_dmarc.a.test", 0, "_dmarc.a.test" },
	{ "a--b.test", 0, "a--b.test" },
	{ "-a.test", 0, NULL },
	/* N03: trailing dots */
	{ "a.test.", 0, "a.test" },
	{ "a.test..", 0, NULL },
	{ "localhost.", 0, "localhost" },
	{ "169.254.169.254.", 0, "169.254.169.254" },
	{ "169.254.169.254..", 0, NULL },
	{ "0x7f.1.", 0, "127.0.0.1" },
	{ ".", 0, NULL },
	{ "..", 0, NULL },
	/* N04: case, dots, lengths */
	{ "A.TeSt", 0, "a.test" },
	{ ".a.test", 0, NULL },
	{ "a..test", 0, NULL },
	{ "", 0, NULL },
	{ LABEL_63 ".test", 0, LABEL_63 ".test" },
	{ "x" LABEL_63 ".test", 0, NULL },
	{ LABEL_63 "." LABEL_63 "." LABEL_63 "."
		   "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg",
	  0,
	  LABEL_63 "." LABEL_63 "." LABEL_63 "."
		   "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg" },
	{ LABEL_63 "." LABEL_63 "." LABEL_63 "."
		   "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgg",
	  0, NULL },
	/* N06: patterns are not hosts */
	{ "*.a.test", 0, NULL },
	{ "*", 0, NULL },
	/* N07: other alphabets */
	{ "b\xc3\xbc"
	  "cher.example",
	  0, "xn--bcher-kva.example" },
	{ "B\xc3\x9c"
	  "CHER.example",
	  0, "xn--bcher-kva.example" },
	{ "fa\xc3\x9f.example", 0, "xn--fa-hia.example" }, /* non-transitional: not fass */
	{ "g\xd1\x96thub.com", 0, "xn--gthub-n2e.com" },   /* Cyrillic i */
	{ "a\xe3\x80\x82test", 0, "a.test" },              /* ideographic full stop */
	{ "a.test\xe3\x80\x82", 0, "a.test" },
	{ "a.test\xe3\x80\x82.", 0, NULL },
	{ "git\xc2\xadhub.com", 0,
	  "github.com" }, /* soft hyphen: shown and matched as what it maps to */
	{ "a\xef\xbc\x8f"
	  "b.test",
	  0, NULL }, /* full-width slash */
	{ "a\xef\xbc\x85"
	  "00.test",
	  0, NULL }, /* full-width percent */
	{ "a\xe2\x80\x8b.test\xff", 0, NULL },
	{ "\xff.test", 0, NULL },
	{ "\xc0\xae.test", 0, NULL },
	{ "\xed\xa0\x80.test", 0, NULL },
	{ "xn--bcher-kva.example", 0, "xn--bcher-kva.example" },
	/* N08: IPv4 spellings */
	{ "2130706433", 0, "127.0.0.1" },
	{ "0177.0.0.1", 0, "127.0.0.1" },
	{ "0x7f.1", 0, "127.0.0.1" },
	{ "0X7F.1", 0, "127.0.0.1" },
	{ "127.1", 0, "127.0.0.1" },
	{ "127.0.1", 0, "127.0.0.1" },
	{ "0x7f000001", 0, "127.0.0.1" },
	{ "017700000001", 0, "127.0.0.1" },
	{ "010.0.0.1", 0, "8.0.0.1" },
	{ "0", 0, "0.0.0.0" },
	{ "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", 0, "127.0.0.1" }, /* full-width digits */
	{ "256.1.1.1", 0, NULL },
	{ "1.2.3.4.5", 0, NULL },
	{ "08.0.0.1", 0, NULL },
	{ "4294967296", 0, NULL },
	{ "a.1", 0, NULL },
	{ "a.0x1f", 0, NULL },
	{ "a.0x", 0, NULL },
	{ "1.2.3.4a", 0, "1.2.3.4a" },
	{ "127.0.0.1.nip.io", 0, "127.0.0.1.nip.io" }, /* N14: judged once resolved */
	/* N09: IPv6 spellings */
	{ "::1", 0, "::1" },
	{ "[::1]", 0, "::1" },
	{ "[::1", 0, NULL },
	{ "::1]", 0, NULL },
	{ "[]", 0, NULL },
	{ "[", 0, NULL },
	{ "[127.0.0.1]", 0, NULL },
	{ "[a.test]", 0, NULL },
	{ "0:0:0:0:0:0:0:1", 0, "::1" },
	{ "2001:DB8::A", 0, "2001:db8::a" },
	{ "fe80::1%lo", 0, NULL },
	{ "[fe80::1%25lo]", 0, NULL },
	{ "::1.", 0, NULL },
	{ "::ffff:127.0.0.1", 0, "127.0.0.1" },
	{ "::ffff:7f00:1", 0, "127.0.0.1" },
	{ "[::FFFF:169.254.169.254]", 0, "169.254.169.254" },
	{ "::127.0.0.1", 0, "::127.0.0.1" },
	{ "1::2::3", 0, NULL },
};

START_TEST(one_spelling)
{
	const char *host = spellings[_i].host, *want = spellings[_i].want;
	size_t len = spellings[_i].len ? spellings[_i].len : strlen(host);
	struct policy_destination dst = { .port = 7 };
	struct err why = { 0 };
	int r = policy_destination_set(&dst, host, len, 443, &why);

	ck_assert_msg(r == (want ? 0 : -EBADMSG), "%s: %d %s", host, r, why.text);
	if (!want) {
		ck_assert_int_eq(dst.port, 7); /* untouched on failure */
		ck_assert_msg(why.text[0] != '\0', "%s: refused without a word", host);
		return;
	}
	ck_assert_str_eq(dst.host, want);
	ck_assert_int_eq(dst.protocol, POLICY_HTTPS);

	/* Canonical is a fixed point. */
	struct policy_destination again;

	ck_assert_int_eq(policy_destination_set(&again, dst.host, strlen(dst.host), 443, NULL), 0);
	ck_assert(policy_destination_equal(&dst, &again));
	ck_assert_mem_eq(&dst.addr, &again.addr, sizeof(dst.addr));
}
END_TEST

static const struct {
	const char *text, *want; /* NULL: refused */
} destinations[] = {
	{ "a.test", "https://a.test:443" },
	{ "a.test:80", "http://a.test:80" },
	{ "a.test:22", "tcp://a.test:22" },
	{ "https://a.test", "https://a.test:443" },
	{ "HTTPS://A.test.", "https://a.test:443" },
	{ "http://a.test", "http://a.test:80" },
	{ "http://a.test:8000", "http://a.test:8000" },
	{ "tcp://a.test:443", "tcp://a.test:443" },
	{ "tcp://a.test", "tcp://a.test:443" },
	{ "10.0.0.1:22", "tcp://10.0.0.1:22" },
	{ "[::1]:80", "http://[::1]:80" },
	{ "[2001:db8::1]", "https://[2001:db8::1]:443" },
	{ "2001:db8::1", "https://[2001:db8::1]:443" },
	{ "https://[::ffff:10.0.0.1]:8443", "https://10.0.0.1:8443" },
	{ "a.test:0", NULL },
	{ "a.test:65536", NULL },
	{ "a.test:", NULL },
	{ "a.test:+80", NULL },
	{ "a.test:80x", NULL },
	{ "a.test:80-90", NULL },
	{ "ftp://a.test", NULL },
	{ "udp://a.test:53", "udp://a.test:53" },
	{ "udp://a.test", NULL },
	{ "https://", NULL },
	{ "", NULL },
	{ ":80", NULL },
	{ "https://a.test/path", NULL },
	{ "https://u:p@a.test", NULL },
	{ "[::1]x", NULL },
	{ "*.a.test", NULL },
	{ "10.0.0.0/8", NULL },
};

START_TEST(destination_text)
{
	struct policy_destination dst;
	struct err why = { 0 };
	int r = policy_destination_parse(destinations[_i].text, &dst, &why);
	char text[POLICY_DESTINATION_TEXT_MAX];

	ck_assert_msg(r == (destinations[_i].want ? 0 : -EBADMSG), "%s: %s", destinations[_i].text,
		      why.text);
	if (r == 0)
		ck_assert_str_eq(policy_destination_text(&dst, text), destinations[_i].want);
	else
		ck_assert_str_ne(why.text, "");
}
END_TEST

START_TEST(port_zero_is_refused)
{
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, "a.test", 6, 0, NULL), -EBADMSG);
}
END_TEST

START_TEST(a_refused_host_is_shown_visibly)
{
	struct policy_destination dst;
	struct err why = { 0 };

	ck_assert_int_eq(policy_destination_set(&dst, "a\x1b[2J.test", 10, 80, &why), -EBADMSG);
	ck_assert_ptr_null(strchr(why.text, '\x1b'));
	ck_assert_ptr_nonnull(strstr(why.text, "\\x1b"));
}
END_TEST

START_TEST(a_very_long_host_is_refused)
{
	size_t len = 100000;
	auto_free char *host = mem_new(len);
	struct policy_destination dst;

	memset(host, 'a', len);
	ck_assert_int_eq(policy_destination_set(&dst, host, len, 80, NULL), -EBADMSG);
}
END_TEST

static const struct {
	const char *host;
	bool want;
} loopbacks[] = {
	{ "127.0.0.1", true },
	{ "127.255.255.254", true },
	{ "128.0.0.1", false },
	{ "126.255.255.255", false },
	{ "::1", true },
	{ "::2", false },
	{ "::", false },
	{ "::ffff:127.9.9.9", true },
	{ "localhost", true },
	{ "LOCALHOST.", true },
	{ "a.localhost", true },
	{ "alocalhost", false },
	{ "localhost.test", false },
	{ "0.0.0.0", false },
	{ "2130706433", true },
	{ "10.0.0.1", false },
};

START_TEST(loopback)
{
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, loopbacks[_i].host,
						strlen(loopbacks[_i].host), 80, NULL),
			 0);
	ck_assert_int_eq(policy_destination_is_loopback(&dst), loopbacks[_i].want);
}
END_TEST

/* What would allow a.test; NULL: no line of its own. */
static const struct {
	enum policy_reason reason;
	const char *rule, *line;
} lines[] = {
	{ POLICY_DEFAULT_DENY, NULL, "allow https://a.test:443" },
	{ POLICY_PROMPT_TIMEOUT, NULL, "allow https://a.test:443" },
	{ POLICY_NO_APPROVER, "", "allow https://a.test:443" },
	{ POLICY_NO_APPROVER, "p:1: ask a.test", NULL },
	{ POLICY_PRIVATE_ADDRESS, NULL, "allow https://a.test:443 private" },
	{ POLICY_PRIVATE_ADDRESS, "p:1: allow a.test", "allow https://a.test:443 private" },
	{ POLICY_RULE_DENY, "p:1: deny a.test", NULL },
	{ POLICY_OUTSIDE_ONLY, NULL, NULL },
	{ POLICY_METADATA_ADDRESS, NULL, NULL },
	{ POLICY_DENIED_ONCE, NULL, NULL },
};

START_TEST(a_line_would_allow_it)
{
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_parse("https://a.test", &dst, NULL), 0);
	auto_free char *line = policy_reason_line(lines[_i].reason, &dst, lines[_i].rule);

	ck_assert_pstr_eq(line, lines[_i].line);
}
END_TEST

START_TEST(names_have_words_for_everything)
{
	ck_assert_str_eq(policy_action_name(POLICY_ALLOW), "allow");
	ck_assert_str_eq(policy_action_name((enum policy_action)77), "deny");
	ck_assert_str_eq(policy_protocol_name(POLICY_TCP), "tcp");
	ck_assert_str_eq(policy_protocol_name((enum policy_protocol)77), "none");
	ck_assert_str_eq(policy_way_name(POLICY_WAY_SOCKS5), "socks5");
	ck_assert_str_eq(policy_way_name((enum policy_way)77), "none");
	ck_assert_str_eq(policy_reason_code((enum policy_reason)9999), "none");
	for (int i = 0; i < POLICY_REASON_COUNT; i++) {
		enum policy_reason reason = (enum policy_reason)i;

		ck_assert_uint_gt(strlen(policy_reason_code(reason)), 2);
		ck_assert_uint_gt(strlen(policy_reason_sentence(reason)), 5);
		ck_assert_ptr_nonnull(policy_reason_next(reason));
		ck_assert_int_ge(policy_reason_status(reason), 200);
		ck_assert_int_lt(policy_reason_status(reason), 600);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(policy_reason_code(reason),
					 policy_reason_code((enum policy_reason)j));
	}
}
END_TEST

TCase *hosts_cases(void)
{
	TCase *cases = tcase_create("hosts");

	tcase_add_loop_test(cases, one_spelling, 0, ARRAY_SIZE(spellings));
	tcase_add_loop_test(cases, destination_text, 0, ARRAY_SIZE(destinations));
	tcase_add_loop_test(cases, loopback, 0, ARRAY_SIZE(loopbacks));
	tcase_add_test(cases, port_zero_is_refused);
	tcase_add_test(cases, a_refused_host_is_shown_visibly);
	tcase_add_test(cases, a_very_long_host_is_refused);
	tcase_add_loop_test(cases, a_line_would_allow_it, 0, ARRAY_SIZE(lines));
	tcase_add_test(cases, names_have_words_for_everything);
	return cases;
}
