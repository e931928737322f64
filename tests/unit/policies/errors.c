#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

#define OTHER_PORTS "the exception can never meet its rule: it is for other ports"

/* One mistake each: where it is said to be, and with which words. */
static const struct {
	const char *text;
	int line, column;
	const char *words;
} mistakes[] = {
	/* statements */
	{ "alow a.test", 1, 1, "an unknown word: \"alow\"" },
	{ "\n\n  nonsense", 3, 3, "an unknown word: \"nonsense\"" },
	{ "\"allow\" a.test", 1, 1, "an unknown word" },
	{ "inspect a.test", 1, 1, "inspect is not supported yet" },
	{ "secret", 1, 7, "a secret is the name of a variable" },
	{ "secret 1X for a.test", 1, 8, "a secret is the name of a variable" },
	{ "secret X a.test", 1, 16, "a secret is for a destination" },
	{ "secret X for a..test header y", 1, 16, "an empty label" },
	{ "secret X for a.test", 1, 20, "a secret goes into a header field" },
	{ "secret X for a.test header", 1, 27, "a secret goes into a header field" },
	{ "secret X for a.test header a:b", 1, 28, "a secret goes into a header field" },
	{ "secret X for a.test header a digest", 1, 30, "not a scheme of authorization" },
	{ "secret X for a.test header a bearer b", 1, 37, "something is left over" },
	{ "socket", 1, 7, "a socket is a whole path" },
	{ "socket x", 1, 8, "a socket is a whole path" },
	{ "socket /$X", 1, 8, "a socket is a whole path" },
	{ "socket /x y", 1, 11, "something is left over" },
	{ "socket /x filter y", 1, 18, "not a filter" },
	{ "socket /x filter ssh-agent", 1, 27, "a filter for ssh-agent names the keys" },
	{ "socket /x filter ssh-agent key SHA256:a", 1, 28, "a key is the SHA256: fingerprint" },
	{ "read", 1, 5, "something is missing" },
	{ "read a*", 1, 6, "a path is one path" },
	/* presets, tools, commands */
	{ "include preset npn", 1, 16, "there is no preset \"npn\"" },
	{ "include preset \"npm\"", 1, 16, "there is no preset" },
	{ "include preset", 1, 15, "something is missing" },
	{ "include preset npm pip", 1, 20, "something is left over" },
	{ "allow configured pip", 1, 7, "what pip is configured to use cannot be looked up" },
	{ "deny * except configured pip", 1, 15, "what pip is configured to use cannot be" },
	{ "allow configured", 1, 17, "configured needs the name of a tool" },
	{ "allow configured pipp", 1, 18, "not a tool whose configuration is read: \"pipp\"" },
	{ "allow configured \"pip\"", 1, 18, "not a tool" },
	{ "answer allow configured pip", 1, 14, "an answer names its destination itself" },
	{ "command", 1, 8, "a command is allow, ask or deny" },
	{ "command alow git", 1, 9, "a command is allow, ask or deny" },
	{ "command deny", 1, 13, "the command is missing" },
	{ "command deny git (a|", 1, 18, "a parenthesis that is not an alternative" },
	{ "command deny git (a||b)", 1, 21, "an empty alternative" },
	{ "command deny \"a\\n\"", 1, 16, "an unknown escape" },
	{ "command deny a because no", 1, 24, "because needs a text in quotes" },
	{ "command ask a unconfined", 1, 15, "unconfined says how an allowed command runs" },
	{ "program git", 1, 12, "its files are missing" },
	{ "program git bin/git", 1, 13, "a path that is not absolute" },
	{ "program git \"/usr/bin/gin\"", 1, 14, "a file of another name" },
	{ "expect ask command", 1, 19, "the command is missing" },
	{ "expect maybe command git", 1, 8, "not an action" },
	{ "expect ask command \"a\\n\"", 1, 22, "an unknown escape" },
	/* version, default */
	{ "version 2", 1, 9, "this program reads version 1 only" },
	{ "version", 1, 8, "something is missing" },
	{ "version 1 1", 1, 11, "something is left over" },
	{ "version 1\nversion 1", 2, 1, "a second version" },
	{ "default ask\nversion 1", 2, 1, "version must be the first statement" },
	{ "default ask\ndefault ask", 2, 1, "a second default" },
	{ "default", 1, 8, "something is missing" },
	{ "default maybe", 1, 9, "not an action" },
	{ "default ask deny", 1, 13, "something is left over" },
	/* rules and their clauses */
	{ "allow", 1, 6, "a destination is missing" },
	{ "allow \"a.test\"", 1, 7, "a destination is not quoted" },
	{ "allow a.test b.test", 1, 14, "an unknown clause: \"b.test\"" },
	{ "allow a.test private private", 1, 22, "a second private" },
	{ "deny a.test private", 1, 13, "private says what may be allowed" },
	{ "allow a.test because", 1, 21, "because needs a text" },
	{ "allow a.test because no", 1, 22, "because needs a text in quotes" },
	{ "allow a.test because \"\"", 1, 22, "because needs a text in quotes" },
	{ "allow a.test because \"a\" because \"b\"", 1, 26, "a second because" },
	{ "allow a.test because \"a\\n\"", 1, 24, "an unknown escape" },
	{ "allow a.test except", 1, 20, "except needs a destination" },
	{ "allow a.test except because \"x\"", 1, 21, "except needs a destination" },
	{ "allow **.a.test except b.a.test private except c.a.test", 1, 41, "a second except" },
	{ "allow **.a.test except b.test", 1, 24, "the exception can never meet its rule" },
	{ "allow 10.0.0.0/8 except 11.0.0.1", 1, 25, "the exception can never meet its rule" },
	{ "deny a.test except 10.0.0.1", 1, 20, "the exception can never meet its rule" },
	{ "allow *.a.test except b.a.test:8443", 1, 23, OTHER_PORTS },
	{ "allow *.a.test:443 except b.a.test:1-442,444-65535", 1, 27, OTHER_PORTS },
	{ "allow https://*.a.test except http://b.a.test", 1, 31, OTHER_PORTS },
	{ "allow http://*.a.test:8000-8100 except https://b.a.test:8000-8100", 1, 40, OTHER_PORTS },
	{ "deny *.a.test except b.a.test:22", 1, 22, OTHER_PORTS },
	{ "deny https://*.a.test except tcp://b.a.test:22", 1, 30, OTHER_PORTS },
	{ "deny http://* except https://b.a.test:80", 1, 22, OTHER_PORTS },
	{ "ask 10.0.0.0/8:80 except 10.1.0.0/16:443", 1, 26, OTHER_PORTS },
	{ "allow * except [2001:db8::1]:8443", 1, 16, OTHER_PORTS },
	{ "answer ask a.test", 1, 8, "an answer is allow or deny" },
	{ "answer", 1, 7, "an answer is allow or deny" },
	{ "answer a.test", 1, 8, "an answer is allow or deny" },
	{ "answer allow", 1, 13, "a destination is missing" },
	/* destinations */
	{ "allow ftp://a.test", 1, 7, "an unknown protocol" },
	{ "deny udp://a.test:53", 1, 6, "udp is not supported yet by this version" },
	{ "allow https://a.test/path", 1, 21, "a path" },
	{ "allow user@a.test", 1, 7, "a user name before a host" },
	{ "allow a.test:", 1, 14, "a port is missing" },
	{ "allow a.test:0", 1, 14, "a port out of range" },
	{ "allow a.test:65536", 1, 14, "a port out of range" },
	{ "allow a.test:99999999999999999999", 1, 14, "a port out of range" },
	{ "allow a.test:http", 1, 14, "not a port" },
	{ "allow a.test:80,,443", 1, 17, "a port is missing" },
	{ "allow a.test:80,", 1, 17, "a port is missing" },
	{ "allow a.test:80-", 1, 17, "a port is missing" },
	{ "allow a.test:90-80", 1, 14, "a range of ports that runs backwards" },
	{ "allow a.test:*,80", 1, 14, "not a port" },
	{ "allow exa*mple.org", 1, 10, "a wildcard stands for whole labels at the front only" },
	{ "allow example.*", 1, 15, "a wildcard stands for whole labels at the front only" },
	{ "allow *.*.test", 1, 9, "a wildcard stands for whole labels at the front only" },
	{ "allow *a.test", 1, 7, "a wildcard inside a label" },
	{ "allow ***.a.test", 1, 7, "a wildcard inside a label" },
	{ "allow **", 1, 7, "'*' alone stands for every host" },
	{ "allow *.", 1, 9, "an empty host" },
	{ "allow .a.test", 1, 7, "a host that begins with a dot" },
	{ "allow *.com", 1, 7, "a wildcard on a public suffix" },
	{ "allow *.amazonaws.com", 1, 7, "a wildcard on a public suffix" },
	{ "allow **.compute.amazonaws.com", 1, 7, "a wildcard on a public suffix" },
	{ "allow *.windows.net", 1, 7, "a wildcard on a public suffix" },
	{ "allow *.core.windows.net", 1, 7, "a wildcard on a public suffix" },
	{ "allow *.azure.com", 1, 7, "a wildcard on a public suffix" },
	{ "allow *.cloudapp.azure.com", 1, 7, "a wildcard on a public suffix" },
	{ "allow **.github.io", 1, 7, "a wildcard on a public suffix" },
	{ "allow **.co.uk except a.co.uk", 1, 7, "a wildcard on a public suffix" },
	{ "allow *.10.0.0.1", 1, 7, "a wildcard on an address" },
	{ "allow a..test", 1, 9, "an empty label in a host" },
	{ "allow a.test..", 1, 14, "an empty label in a host" },
	{ "allow https://", 1, 15, "an empty host" },
	{ "allow :80", 1, 7, "an empty host" },
	{ "allow a%2e.test", 1, 8, "'%' in a host" },
	{ "allow a;b.test", 1, 8, "';' in a host" },
	{ "allow a\\b.test", 1, 8, "'\\\\' in a host" },
	{ "allow 256.1.1.1", 1, 7, "neither a name nor an IPv4 address" },
	{ "allow 127.1", 1, 7, "an IPv4 address in an unusual spelling" },
	{ "deny 0x7f000001", 1, 6, "an IPv4 address in an unusual spelling" },
	{ "allow 010.0.0.1", 1, 7, "an IPv4 address in an unusual spelling" },
	{ "allow 10.0.0.1/8", 1, 7, "a block with host bits set" },
	{ "allow 10.0.0.0/33", 1, 15, "not a prefix length" },
	{ "allow 10.0.0.0/", 1, 15, "not a prefix length" },
	{ "allow [2001:db8::1]/32", 1, 8, "a block with host bits set" },
	{ "allow [::1", 1, 7, "an unclosed bracket" },
	{ "allow [::1]x", 1, 7, "not an address in brackets" },
	{ "allow [1.2.3.4]", 1, 7, "brackets are for IPv6" },
	{ "allow [fe80::1%eth0]", 1, 15, "an address with a zone id" },
	{ "allow ::1", 1, 7, "more than one colon" },
	{ "allow a.test:80:90", 1, 7, "more than one colon" },
	{ "allow \xd1\x96\xff.test", 1, 9, "not valid UTF-8" },
	/* include, expect */
	{ "include", 1, 8, "something is missing" },
	{ "include team.policy", 1, 9, "the file's name must be in quotes" },
	{ "include \"a\" \"b\"", 1, 13, "something is left over" },
	{ "include \"a\"", 1, 9, "an include in text that is not a file" },
	{ "include \"a\\x\"", 1, 11, "an unknown escape" },
	{ "expect", 1, 7, "something is missing" },
	{ "expect allow", 1, 13, "something is missing" },
	{ "expect maybe a.test", 1, 8, "not an action" },
	{ "expect allow *.a.test", 1, 14, "\"*.a.test\" cannot be a host" },
	{ "expect allow \"a.test\"", 1, 14, "a destination is not quoted" },
	{ "expect allow a.test:80-90", 1, 14, "the port must be a number" },
	{ "expect allow a.test b.test", 1, 21, "something is left over" },
	{ "expect allow a.test", 1, 8, "expected allow, but it is deny" },
	{ "default allow\nexpect deny a.test", 2, 8, "expected deny, but it is allow" },
	{ "deny a.test\nexpect ask a.test", 2, 8,
	  "expected ask, but it is deny: A rule denies it. <test>:1: deny a.test" },
	/* bytes */
	{ "\xef\xbb\xbf"
	  "allow a.test",
	  1, 1, "a byte order mark" },
	{ "allow a.test\r\nallow b.test\r\n", 1, 13, "a carriage return" },
	{ "allow a.test # \r x", 1, 16, "a control byte" },
	{ "allow a.test\x1b[2J", 1, 13, "a control byte" },
	{ "# \x7f", 1, 3, "a control byte" },
	{ "# \xff", 1, 3, "not valid UTF-8" },
	{ "# \xc0\xaf", 1, 3, "not valid UTF-8" },
	{ "# \xed\xa0\x80", 1, 3, "not valid UTF-8" },
	{ "# \xf4\x90\x80\x80", 1, 3, "not valid UTF-8" },
	{ "# \xe2\x80", 1, 3, "not valid UTF-8" },
	{ "# x\xe2\x80\xae"
	  "y",
	  1, 4, "a character that changes how the line is shown" },
	{ "# \xc2\x9b"
	  "2J",
	  1, 3, "a character that changes how the line is shown" },
	/* words */
	{ "allow a.test because \"open", 1, 22, "an unterminated quote" },
	{ "allow a.test because \"open\\\"", 1, 22, "an unterminated quote" },
	{ "allow a.test because \"a\"b", 1, 25, "text right behind a quote" },
	{ "allow a.test because a\"b\"", 1, 23, "a quote inside a word" },
	{ "allow a.test#comment", 1, 13, "'#' inside a word" },
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
	ck_assert_str_eq(
		policy_errors(policy),
		"<test>:2:11: error: a wildcard stands for whole labels at the front only\n"
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
			 "<test>:1:23: error: the exception can never meet its rule: it is for "
			 "other ports or another protocol\n"
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
	ck_assert_str_eq(policy_errors(policy),
			 "<test>:1:27: error: an unknown clause: \"privat\"\n"
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
				     "<test>:100:1: error: 100 errors or more: "
				     "what follows this line is not read"));
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
				 "<test>:1:4097: error: a line of more than 4096 bytes\n", 53),
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
				     "<test>:1:513: error: more than 256 words on a line"));
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
	ck_assert_ptr_nonnull(
		strstr(policy_errors(policy), "<test>:1:22: error: text of more than 400 bytes"));
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
