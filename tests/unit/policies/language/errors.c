#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

#define OTHER_PORTS "the exception has other ports or another protocol than its rule"

/* One mistake each: where it is said to be, and with which words. */
static const struct {
	const char *text;
	int line, column;
	const char *words;
} mistakes[] = {
	/* statements */
	{ "alow a.test", 1, 1, "unknown statement \"alow\"" },
	{ "\n\n  nonsense", 3, 3, "unknown statement \"nonsense\"" },
	{ "\"allow\" a.test", 1, 1, "unknown statement \"allow\"" },
	{ "inspect a.test", 1, 1, "this version does not support `inspect` yet" },
	{ "secret", 1, 7, "a secret is named by an environment variable" },
	{ "secret 1X for a.test", 1, 8, "a secret is named by an environment variable" },
	{ "secret X a.test", 1, 16, "a secret needs a destination: `for` and a host" },
	{ "secret X for a..test header y", 1, 16, "the host has an empty label" },
	{ "secret X for a.test", 1, 20, "a secret needs a header field: `header` and its name" },
	{ "secret X for a.test header", 1, 27,
	  "a secret needs a header field: `header` and its name" },
	{ "secret X for a.test header a:b", 1, 28,
	  "a secret needs a header field: `header` and its name" },
	{ "secret X for a.test header a digest", 1, 30, "this is not an authorization scheme" },
	{ "secret X for a.test header a bearer b", 1, 37,
	  "unexpected text at the end of the line" },
	{ "socket", 1, 7, "a socket is an absolute path, or one variable that contains it" },
	{ "socket x", 1, 8, "a socket is an absolute path, or one variable that contains it" },
	{ "socket /$X", 1, 8, "a socket is an absolute path, or one variable that contains it" },
	{ "socket /x y", 1, 11, "unexpected text at the end of the line" },
	{ "socket /x filter y", 1, 18, "this is not a filter" },
	{ "socket /x filter ssh-agent", 1, 27,
	  "the ssh-agent filter needs the keys that may be used" },
	{ "socket /x filter ssh-agent key SHA256:a", 1, 28,
	  "a key is given by its SHA256: fingerprint in quotes" },
	{ "read", 1, 5, "the line is not complete" },
	{ "read a*", 1, 6, "a path cannot contain *, ? or [" },
	/* presets, tools, commands */
	{ "include preset npn", 1, 16, "there is no preset \"npn\"" },
	{ "include preset \"npm\"", 1, 16, "there is no preset" },
	{ "include preset", 1, 15, "the line is not complete" },
	{ "include preset npm pip", 1, 20, "unexpected text at the end of the line" },
	{ "allow configured pip", 1, 7, "the configuration of pip cannot be read from here" },
	{ "deny * except configured pip", 1, 15,
	  "the configuration of pip cannot be read from here" },
	{ "allow configured", 1, 17, "`configured` needs the name of a tool" },
	{ "allow configured pipp", 1, 18, "unknown tool \"pipp\"" },
	{ "allow configured \"pip\"", 1, 18, "unknown tool \"pip\"" },
	{ "answer allow configured pip", 1, 14, "an `answer` line cannot use `configured`" },
	{ "command", 1, 8, "`command` must be followed by allow, ask or deny" },
	{ "command alow git", 1, 9, "`command` must be followed by allow, ask or deny" },
	{ "command deny", 1, 13, "the command is missing" },
	{ "command deny git (a|", 1, 18, "the parenthesis does not begin a list of alternatives" },
	{ "command deny git (a||b)", 1, 21, "an alternative is empty" },
	{ "command deny \"a\\n\"", 1, 16, "unknown escape \"\\\\n\" in this string" },
	{ "command deny a because no", 1, 24, "`because` needs a text in quotes" },
	{ "command ask a unconfined", 1, 15, "only `command allow` may have `unconfined`" },
	{ "program git", 1, 12, "the paths of the program are missing" },
	{ "program git bin/git", 1, 13, "the path is not absolute" },
	{ "program git \"/usr/bin/gin\"", 1, 14,
	  "the file's name differs from the program's name" },
	{ "expect ask command", 1, 19, "the command is missing" },
	{ "expect maybe command git", 1, 8, "this is not an action" },
	{ "expect ask command \"a\\n\"", 1, 22, "unknown escape \"\\\\n\" in this string" },
	/* version, default */
	{ "version 2", 1, 9, "this program only reads version 1" },
	{ "version", 1, 8, "the line is not complete" },
	{ "version 1 1", 1, 11, "unexpected text at the end of the line" },
	{ "version 1\nversion 1", 2, 1, "this file has `version` twice" },
	{ "default ask\nversion 1", 2, 1, "`version` must be the first statement of the file" },
	{ "default ask\ndefault ask", 2, 1, "this file has `default` twice" },
	{ "default", 1, 8, "the line is not complete" },
	{ "default maybe", 1, 9, "this is not an action" },
	{ "default ask deny", 1, 13, "unexpected text at the end of the line" },
	/* rules and their clauses */
	{ "allow", 1, 6, "the destination is missing" },
	{ "allow \"a.test\"", 1, 7, "a destination must not be in quotes" },
	{ "allow a.test b.test", 1, 14, "unknown clause \"b.test\"" },
	{ "allow a.test private private", 1, 22, "this rule has `private` twice" },
	{ "deny a.test private", 1, 13,
	  "only a rule that allows or asks may have `private`; a denial always covers private "
	  "addresses" },
	{ "allow a.test because", 1, 21, "`because` needs a text" },
	{ "allow a.test because no", 1, 22, "`because` needs a text in quotes" },
	{ "allow a.test because \"\"", 1, 22, "`because` needs a text in quotes" },
	{ "allow a.test because \"a\" because \"b\"", 1, 26, "this rule has `because` twice" },
	{ "allow a.test because \"a\\n\"", 1, 24, "unknown escape \"\\\\n\" in this string" },
	{ "allow a.test except", 1, 20, "`except` needs a destination" },
	{ "allow a.test except because \"x\"", 1, 21, "`except` needs a destination" },
	{ "allow **.a.test except b.a.test private except c.a.test", 1, 41,
	  "this rule has `except` twice" },
	{ "allow **.a.test except b.test", 1, 24,
	  "the exception lies outside of its rule's destination" },
	{ "allow 10.0.0.0/8 except 11.0.0.1", 1, 25,
	  "the exception lies outside of its rule's destination" },
	{ "deny a.test except 10.0.0.1", 1, 20,
	  "the exception lies outside of its rule's destination" },
	{ "allow *.a.test except b.a.test:8443", 1, 23, OTHER_PORTS },
	{ "allow *.a.test:443 except b.a.test:1-442,444-65535", 1, 27, OTHER_PORTS },
	{ "allow https://*.a.test except http://b.a.test", 1, 31, OTHER_PORTS },
	{ "allow http://*.a.test:8000-8100 except https://b.a.test:8000-8100", 1, 40, OTHER_PORTS },
	{ "deny *.a.test except b.a.test:22", 1, 22, OTHER_PORTS },
	{ "deny https://*.a.test except tcp://b.a.test:22", 1, 30, OTHER_PORTS },
	{ "deny http://* except https://b.a.test:80", 1, 22, OTHER_PORTS },
	{ "ask 10.0.0.0/8:80 except 10.1.0.0/16:443", 1, 26, OTHER_PORTS },
	{ "allow * except [2001:db8::1]:8443", 1, 16, OTHER_PORTS },
	{ "answer ask a.test", 1, 8, "`answer` must be followed by allow or deny" },
	{ "answer", 1, 7, "`answer` must be followed by allow or deny" },
	{ "answer a.test", 1, 8, "`answer` must be followed by allow or deny" },
	{ "answer allow", 1, 13, "the destination is missing" },
	/* destinations */
	{ "allow ftp://a.test", 1, 7, "unknown protocol" },
	{ "deny udp://a.test", 1, 6, "a destination of udp needs a port" },
	{ "allow https://a.test/path", 1, 21,
	  "a destination has no path, only a protocol, a host and a port" },
	{ "allow user@a.test", 1, 7, "a user name before the host is not allowed" },
	{ "allow a.test:", 1, 14, "the port is missing" },
	{ "allow a.test:0", 1, 14, "the port is out of range" },
	{ "allow a.test:65536", 1, 14, "the port is out of range" },
	{ "allow a.test:99999999999999999999", 1, 14, "the port is out of range" },
	{ "allow a.test:http", 1, 14, "the port is not a number" },
	{ "allow a.test:80,,443", 1, 17, "the port is missing" },
	{ "allow a.test:80,", 1, 17, "the port is missing" },
	{ "allow a.test:80-", 1, 17, "the port is missing" },
	{ "allow a.test:90-80", 1, 14, "the port range ends below its start" },
	{ "allow a.test:*,80", 1, 14, "the port is not a number" },
	{ "allow exa*mple.org", 1, 10,
	  "a wildcard may only stand for whole labels at the front of a name" },
	{ "allow example.*", 1, 15,
	  "a wildcard may only stand for whole labels at the front of a name" },
	{ "allow *.*.test", 1, 9,
	  "a wildcard may only stand for whole labels at the front of a name" },
	{ "allow *a.test", 1, 7, "a wildcard cannot be inside a label" },
	{ "allow ***.a.test", 1, 7, "a wildcard cannot be inside a label" },
	{ "allow **", 1, 7, "'*' alone stands for every host" },
	{ "allow *.", 1, 9, "the host is empty" },
	{ "allow .a.test", 1, 7, "the host begins with a dot" },
	{ "allow *.com", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow *.amazonaws.com", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow **.compute.amazonaws.com", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow *.windows.net", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow *.core.windows.net", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow *.azure.com", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow *.cloudapp.azure.com", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow **.github.io", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow **.co.uk except a.co.uk", 1, 7,
	  "the wildcard matches a public suffix, and anyone can register a name below it" },
	{ "allow *.10.0.0.1", 1, 7, "an address cannot have a wildcard" },
	{ "allow a..test", 1, 9, "the host has an empty label" },
	{ "allow a.test..", 1, 14, "the host has an empty label" },
	{ "allow https://", 1, 15, "the host is empty" },
	{ "allow :80", 1, 7, "the host is empty" },
	{ "allow a%2e.test", 1, 8, "the host contains '%'" },
	{ "allow a;b.test", 1, 8, "the host contains ';'" },
	{ "allow a\\b.test", 1, 8, "the host contains '\\\\'" },
	{ "allow 256.1.1.1", 1, 7, "the host is neither a name nor an IPv4 address" },
	{ "allow 127.1", 1, 7, "the IPv4 address is not written as four decimal numbers" },
	{ "deny 0x7f000001", 1, 6, "the IPv4 address is not written as four decimal numbers" },
	{ "allow 010.0.0.1", 1, 7, "the IPv4 address is not written as four decimal numbers" },
	{ "allow 10.0.0.1/8", 1, 7, "the address block has host bits set" },
	{ "allow 10.0.0.0/33", 1, 15, "the prefix length is not valid" },
	{ "allow 10.0.0.0/", 1, 15, "the prefix length is not valid" },
	{ "allow [2001:db8::1]/32", 1, 8, "the address block has host bits set" },
	{ "allow [::1", 1, 7, "the opening bracket has no closing bracket" },
	{ "allow [::1]x", 1, 7, "the brackets do not contain an IPv6 address" },
	{ "allow [1.2.3.4]", 1, 7, "only an IPv6 address may be in brackets" },
	{ "allow [fe80::1%eth0]", 1, 15, "the address has a zone id" },
	{ "allow ::1", 1, 7, "the destination has more than one colon" },
	{ "allow a.test:80:90", 1, 7, "the destination has more than one colon" },
	{ "allow \xd1\x96\xff.test", 1, 9, "the text is not valid UTF-8" },
	/* include, expect */
	{ "include", 1, 8, "the line is not complete" },
	{ "include team.policy", 1, 9, "the file's name must be in quotes" },
	{ "include \"a\" \"b\"", 1, 13, "unexpected text at the end of the line" },
	{ "include \"a\"", 1, 9, "only a file can have an include" },
	{ "include \"a\\x\"", 1, 11, "unknown escape \"\\\\x\" in this string" },
	{ "expect", 1, 7, "the line is not complete" },
	{ "expect allow", 1, 13, "the line is not complete" },
	{ "expect maybe a.test", 1, 8, "this is not an action" },
	{ "expect allow *.a.test", 1, 14, "\"*.a.test\" cannot be a host" },
	{ "expect allow \"a.test\"", 1, 14, "a destination must not be in quotes" },
	{ "expect allow a.test:80-90", 1, 14, "the port must be a number" },
	{ "expect allow a.test b.test", 1, 21, "unexpected text at the end of the line" },
	{ "expect allow a.test", 1, 8, "this line expects allow, but the policy says deny" },
	{ "default allow\nexpect deny a.test", 2, 8,
	  "this line expects deny, but the policy says allow" },
	{ "deny a.test\nexpect ask a.test", 2, 8,
	  "this line expects ask, but the policy says deny: A rule denies it. <test>:1: deny "
	  "a.test" },
	/* bytes */
	{ "\xef\xbb\xbf"
	  "allow a.test",
	  1, 1, "the file begins with a byte order mark" },
	{ "allow a.test\r\nallow b.test\r\n", 1, 13, "the line ends with CR and LF" },
	{ "allow a.test # \r x", 1, 16, "the line contains a control byte" },
	{ "allow a.test\x1b[2J", 1, 13, "the line contains a control byte" },
	{ "# \x7f", 1, 3, "the line contains a control byte" },
	{ "# \xff", 1, 3, "the text is not valid UTF-8" },
	{ "# \xc0\xaf", 1, 3, "the text is not valid UTF-8" },
	{ "# \xed\xa0\x80", 1, 3, "the text is not valid UTF-8" },
	{ "# \xf4\x90\x80\x80", 1, 3, "the text is not valid UTF-8" },
	{ "# \xe2\x80", 1, 3, "the text is not valid UTF-8" },
	{ "# x\xe2\x80\xae"
	  "y",
	  1, 4, "the line contains a character that changes how the line is displayed" },
	{ "# \xc2\x9b"
	  "2J",
	  1, 3, "the line contains a character that changes how the line is displayed" },
	/* words */
	{ "allow a.test because \"open", 1, 22, "the quote is not closed" },
	{ "allow a.test because \"open\\\"", 1, 22, "the quote is not closed" },
	{ "allow a.test because \"a\"b", 1, 25, "text follows the closing quote without a space" },
	{ "allow a.test because a\"b\"", 1, 23, "a quote is inside a word" },
	{ "allow a.test#comment", 1, 13, "'#' is inside a word" },
};

static void check_form(const char *errors, const char *instead_of)
{
	const char *newline = strchr(errors, '\n');

	ck_assert_ptr_nonnull(newline);
	for (const char *at = errors; *at; at++)
		ck_assert_msg(*at == '\n' || (*at >= 0x20 && *at < 0x7f), "byte in: %s",
			      instead_of);
}

START_TEST(mistake)
{
	struct policy *policy = policy_new();
	const char *text = mistakes[_i].text;
	int r = policy_load_text(policy, "<test>", text);

	if (r == 0)
		r = policy_finish(policy);
	ck_assert_msg(r == -EINVAL, "accepted: %s", text);
	const char *errors = policy_errors(policy);
	auto_free char *want = mem_printf("<test>:%d:%d: error: %s", mistakes[_i].line,
					  mistakes[_i].column, mistakes[_i].words);

	ck_assert_msg(strncmp(errors, want, strlen(want)) == 0, "%s\nwanted %s\ngot %s", text, want,
		      errors);
	ck_assert_msg(policy_error_count(policy) == 1, "%s\n%s", text, errors);
	check_form(errors, text);

	/* Nothing may be allowed by a policy that has errors. */
	struct policy_verdict verdict;

	policy_set_default(policy, POLICY_ALLOW);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policy_free(policy);
}
END_TEST

static void load_bad(struct policy *policy, const char *text)
{
	ck_assert_int_eq(policy_load_text(policy, "<test>", text), -EINVAL);
}

START_TEST(compiler_form)
{
	struct policy *policy = policy_new();

	load_bad(policy, "version 1\n\tallow exa*mple.org private # caf\xc3\xa9\n");
	ck_assert_str_eq(policy_errors(policy), "<test>:2:11: error: a wildcard may only stand for "
						"whole labels at the front of a name\n"
						"     allow exa*mple.org private # caf\\xc3\\xa9\n"
						"              ^\n"
						"    write: *.example.org\n");
	policy_free(policy);
}
END_TEST

START_TEST(an_exception_of_other_ports)
{
	struct policy *policy = policy_new();

	load_bad(policy, "allow *.a.test except http://b.a.test:8443");
	ck_assert_str_eq(policy_errors(policy),
			 "<test>:1:23: error: the exception has other ports or another protocol "
			 "than its rule\n"
			 "    allow *.a.test except http://b.a.test:8443\n"
			 "                          ^\n"
			 "    write: b.a.test   (has the rule's ports and protocol)\n");
	policy_free(policy);
}
END_TEST

START_TEST(the_caret_follows_escapes)
{
	struct policy *policy = policy_new();

	load_bad(policy, "allow a.test because \"\xc3\xa9\" privat");
	ck_assert_str_eq(policy_errors(policy), "<test>:1:27: error: unknown clause \"privat\"\n"
						"    allow a.test because \"\\xc3\\xa9\" privat\n"
						"                                    ^\n"
						"    write: private\n");
	policy_free(policy);
}
END_TEST

START_TEST(all_at_once)
{
	struct policy *policy = policy_new();

	load_bad(policy, "version 3\nalow a.test\nallow *.com\ndeny b.test:0 becuse \"x\"\nexpect "
			 "deny c.test\n");
	ck_assert_uint_eq(policy_error_count(policy), 5);
	ck_assert_ptr_nonnull(strstr(policy_errors(policy), "<test>:1:9: "));
	ck_assert_ptr_nonnull(strstr(policy_errors(policy), "<test>:2:1: "));
	ck_assert_ptr_nonnull(strstr(policy_errors(policy), "    write: *.com broad"));
	ck_assert_ptr_nonnull(strstr(policy_errors(policy), "<test>:4:13: "));
	ck_assert_ptr_nonnull(strstr(policy_errors(policy), "    write: because\n"));
	ck_assert_int_eq(policy_finish(policy), -EINVAL);
	policy_free(policy);
}
END_TEST

START_TEST(read_up_to_a_hundred)
{
	struct policy *policy = policy_new();
	auto_free char *text = mem_new(1000 * 5 + 1);
	size_t shown = 0;

	for (size_t i = 0; i < 1000; i++)
		memcpy(text + i * 5, "nope\n", 5);
	load_bad(policy, text);
	ck_assert_uint_eq(policy_error_count(policy), 101);
	for (const char *at = policy_errors(policy); (at = strstr(at, ": error: ")); at++)
		shown++;
	ck_assert_uint_eq(shown, 101);
	ck_assert_ptr_nonnull(strstr(policy_errors(policy),
				     "<test>:100:1: error: the file has 100 errors or "
				     "more; the lines after this one are not read"));
	ck_assert_ptr_null(strstr(policy_errors(policy), "<test>:101:"));
	policy_free(policy);
}
END_TEST

START_TEST(long_lines)
{
	struct policy *policy = policy_new();
	size_t len = 100000;
	auto_free char *text = mem_new(len + 1);

	memset(text, ' ', len);
	load_bad(policy, text);
	ck_assert_int_eq(strncmp(policy_errors(policy),
				 "<test>:1:4097: error: the line is longer than 4096 bytes\n", 53),
			 0);
	ck_assert_uint_lt(strlen(policy_errors(policy)), 1000);
	text[4096] = '\0';
	ck_assert_int_eq(policy_load_text(policy, "<longest>", text), 0);
	policy_free(policy);
}
END_TEST

START_TEST(too_many_words)
{
	struct policy *policy = policy_new();
	char text[1100];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 2 ? ' ' : 'a';
	text[sizeof(text) - 1] = '\0';
	load_bad(policy, text);
	ck_assert_ptr_nonnull(strstr(policy_errors(policy),
				     "<test>:1:513: error: the line has more than 256 words"));
	policy_free(policy);
}
END_TEST

START_TEST(long_because)
{
	struct policy *policy = policy_new();
	char reason[402];

	memset(reason, 'x', sizeof(reason) - 1);
	reason[401] = '\0';
	auto_free char *text = mem_printf("allow a.test because \"%s\"", reason);

	load_bad(policy, text);
	ck_assert_ptr_nonnull(strstr(policy_errors(policy),
				     "<test>:1:22: error: the text has more than 400 bytes"));
	reason[400] = '\0';
	auto_free char *fits = mem_printf("allow a.test because \"%s\"", reason);
	ck_assert_int_eq(policy_load_text(policy, "<fits>", fits), 0);
	policy_free(policy);
}
END_TEST

START_TEST(a_hostile_file_name)
{
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load_text(policy, "a\n\x1b[2Jb", "nope"), -EINVAL);
	ck_assert_int_eq(strncmp(policy_errors(policy), "a\\x0a\\x1b[2Jb:1:1: error:", 25), 0);
	policy_free(policy);
}
END_TEST

START_TEST(carriage_returns_are_said_once)
{
	struct policy *policy = policy_new();

	load_bad(policy, "version 1\r\nallow a.test\r\nnope\r\n");
	ck_assert_uint_eq(policy_error_count(policy), 2);
	policy_free(policy);
}
END_TEST

TCase *errors_cases(void)
{
	TCase *cases = tcase_create("errors");

	tcase_add_loop_test(cases, mistake, 0, ARRAY_SIZE(mistakes));
	tcase_add_test(cases, compiler_form);
	tcase_add_test(cases, an_exception_of_other_ports);
	tcase_add_test(cases, the_caret_follows_escapes);
	tcase_add_test(cases, all_at_once);
	tcase_add_test(cases, read_up_to_a_hundred);
	tcase_add_test(cases, long_lines);
	tcase_add_test(cases, too_many_words);
	tcase_add_test(cases, long_because);
	tcase_add_test(cases, a_hostile_file_name);
	tcase_add_test(cases, carriage_returns_are_said_once);
	return cases;
}
