#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"
#include "policies/policies_upstream.h"

#define NOON 1767182400 /* 2025-12-31T12:00:00Z */
#define HEX  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Each must load. */
static const char *const accepted[] = {
	"allow a.test method GET HEAD",
	"allow a.test method M-SEARCH",
	"allow http://a.test path / /api/** /a%20b /x*.tgz",
	"allow a.test query page \"q=*\" a=b=c",
	"allow a.test header authorization \"accept: text/*\"",
	"ask a.test method POST because \"publishes\"",
	"deny a.test path /admin/**",
	"allow a.test from \"pip install\"",
	"allow a.test by /usr/bin/git",
	"allow a.test by sha256:" HEX,
	"allow a.test upload 64k download 1g rate 10/m connections 4",
	"allow a.test upload 1 download 1024g rate 1000000/d connections 65535",
	"allow a.test for 1h",
	"allow a.test until 2030-01-01",
	"allow a.test until 2030-01-01T00:00Z for 30s",
	"allow a.test until 2028-02-29T23:59:59Z",
	"allow a.test inspect",
	"allow a.test no-inspect",
	"allow http://a.test no-inspect method GET",
	"allow a.test fronted-by edge.test b\xc3\xbc"
	"cher.example",
	"allow **.a.test except b.a.test method GET",
	"allow a.test:443,8443 method GET except a.test:8443",
	"deny a.test from \"curl\" until 2030-01-01",
	"answer allow a.test for 1h   # by ana on tty, 2026-11-20T20:13Z, run 7f3a",
	"answer deny a.test until 2030-01-01",
	"approvals on-request",
	"approvals never",
	"approvals untrusted",
	"approvals on-failure",
	"approvals granular sandbox rules network",
	"approvals reject permissions elicitation",
	"on-denial report",
	"on-denial stop",
	"hook /usr/local/lib/hook --quick for exec patch",
	"reviewer \"~/my tools/judge\" for network",
	"prompt-timeout 5m",
	"cache private",
	"cache shared",
	"cache none",
	"write . /tmp \"a b\"",
	"hide ~/.ssh ~ \"~/my keys\"",
	"limit processes 8",
	"limit memory 1024g",
	"limit tmp 65536",
	"limit tmp 512m",
	"limit files 4096",
	"limit questions 1",
	"limit records 100000",
	"limit connections 4",
	"durable strict",
	"durable batch",
	"audit keep 90d",
	"audit keep 1m",
	"audit keep 90d 2g",
	"audit keep 2g 1d",
};

START_TEST(clause)
{
	struct policy *policy = policies_test_load(accepted[_i]);

	ck_assert_uint_eq(policy_error_count(policy), 0);
	policy_free(policy);
}
END_TEST

/* One mistake each. */
static const struct {
	const char *text;
	int column;
	const char *words;
} mistakes[] = {
	{ "allow a.test method", 20, "the value is missing" },
	{ "allow a.test method because \"x\"", 21, "the value is missing" },
	{ "allow a.test method get", 21, "a method has only capital letters" },
	{ "allow a.test method GET,HEAD", 21, "a method has only capital letters" },
	{ "allow a.test method GET method PUT", 25, "this rule has `method` twice" },
	{ "allow tcp://a.test:22 method GET", 1, "this rule has conditions on an HTTP request" },
	{ "allow a.test path x", 19, "a path must begin with /" },
	{ "allow a.test path /a?b", 19,
	  "a path must not contain ?, #, backslashes, blanks or bytes that are not ASCII" },
	{ "allow a.test path /a%2", 19, "% in a path" },
	{ "allow a.test path /a/../b", 19, "the path without . and .. segments" },
	{ "allow a.test path /.", 19, "the path without . and .. segments" },
	{ "allow a.test path \"/a b\"", 19,
	  "a path must not contain ?, #, backslashes, blanks or bytes that are not ASCII" },
	{ "allow a.test path \"\"", 19, "the value is empty" },
	{ "allow a.test query a&b", 20, "a parameter is NAME or NAME=VALUE" },
	{ "allow a.test query =b", 20, "the parameter has no name" },
	{ "allow a.test header a(b", 21, "a header field is NAME, or \"NAME: VALUE\" in quotes" },
	{ "allow a.test header \"a:b\"", 21,
	  "a header field is NAME, or \"NAME: VALUE\" in quotes" },
	{ "allow a.test header \"a: \xc3\xa9\"", 21,
	  "the value of a header field may only contain printable ASCII" },
	{ "allow a.test from pip", 19, "the value must be in quotes" },
	{ "allow a.test from \" \"", 19, "the command is missing" },
	{ "allow a.test from", 18, "the value is missing" },
	{ "allow a.test by git", 17, "a program is named by its absolute path or its digest" },
	{ "allow a.test by sha256:12", 17,
	  "a program is named by its absolute path or its digest" },
	{ "allow a.test upload", 20, "the value is missing" },
	{ "allow a.test upload 0", 21, "a size is a number, then k, m, g or nothing" },
	{ "allow a.test upload k", 21, "a size is a number, then k, m, g or nothing" },
	{ "allow a.test upload 64K", 21, "a size is a number, then k, m, g or nothing" },
	{ "allow a.test upload -1", 21, "a size is a number, then k, m, g or nothing" },
	{ "allow a.test download 1025g", 23, "a size is a number, then k, m, g or nothing" },
	{ "deny a.test upload 64k", 13,
	  "this clause limits what a rule allows, and this rule denies" },
	{ "deny a.test inspect", 13,
	  "this clause limits what a rule allows, and this rule denies" },
	{ "answer deny a.test rate 1/s", 20,
	  "this clause limits what a rule allows, and this rule denies" },
	{ "allow a.test rate 10", 19, "a rate is a number of requests" },
	{ "allow a.test rate 10/w", 19, "a rate is a number of requests" },
	{ "allow a.test rate /s", 19, "a rate is a number of requests" },
	{ "allow a.test rate 0/s", 19, "a rate is a number of requests" },
	{ "allow a.test rate 1/ss", 19, "a rate is a number of requests" },
	{ "allow a.test connections 0", 26, "`connections` needs a number from 1 to 65535" },
	{ "allow a.test connections 65536", 26, "`connections` needs a number from 1 to 65535" },
	{ "allow a.test for ever", 18, "a duration is a number" },
	{ "allow a.test for 10ms", 18, "a duration is a number" },
	{ "allow a.test for 1h for 2h", 21, "this rule has `for` twice" },
	{ "answer allow a.test for 1h", 25, "the comment of this answer does not say when" },
	{ "answer allow a.test for 1h # by ana, today", 25, "the comment of this answer" },
	{ "allow a.test until tomorrow", 20, "this is not a date in UTC" },
	{ "allow a.test until 2027-02-29", 20, "this is not a date in UTC" },
	{ "allow a.test until 2027-13-01", 20, "this is not a date in UTC" },
	{ "allow a.test until 2027-01-01T24:00Z", 20, "this is not a date in UTC" },
	{ "allow a.test until 2027-01-01T12:00", 20, "this is not a date in UTC" },
	{ "allow a.test until 1969-12-31", 20, "this is not a date in UTC" },
	{ "allow a.test until 2027-1-1", 20, "this is not a date in UTC" },
	{ "allow a.test inspect no-inspect", 1,
	  "one rule cannot have both `inspect` and `no-inspect`" },
	{ "allow a.test no-inspect path /x", 1,
	  "conditions on an HTTP request need `inspect` for https" },
	{ "allow a.test fronted-by *.b.test", 25, "a wildcard is not allowed here" },
	{ "allow a.test fronted-by 10.0.0.1", 25, "a server name cannot be an address" },
	{ "allow a.test uplod 1k", 14, "unknown clause \"uplod\"" },
	{ "allow a.test unconfined", 14, "this version does not support `unconfined` yet" },
	{ "approvals", 10, "the line is not complete" },
	{ "approvals always", 11, "this is not an approval mode" },
	{ "prompt-timeout", 15, "the line is not complete" },
	{ "cache", 6, "the line is not complete" },
	{ "cache own", 7, "private, shared or none" },
	{ "upstream", 9, "the line is not complete" },
	{ "upstream none x", 16, "the line is not complete" },
	{ "upstream socks4://proxy.test", 10,
	  "only http://, https:// and socks5h:// proxies are supported" },
	{ "upstream \"http://proxy.test\"", 10, "the URL is written without quotes" },
	{ "upstream http://a:b@proxy.test", 10, "a login does not belong into a policy" },
	{ "upstream http://proxy.test login x", 28, "this word is not known here" },
	{ "upstream http://proxy.test credentials-file $x", 45, "variables are not expanded" },
	{ "upstream http://proxy.test ca-file /x", 28,
	  "only a proxy of https:// has a certificate" },
	{ "upstream https://proxy.test ca-file /x ca-file /y", 40, "this word is not known here" },
	{ "upstream https://proxy.test ca-file /x credentials-file", 56,
	  "the line is not complete" },
	{ "prompt-timeout soon", 16, "this is not a duration" },
	{ "prompt-timeout 0s", 16, "this is not a duration" },
	{ "write", 6, "the line is not complete" },
	{ "hide", 5, "the line is not complete" },
	{ "hide ~ana/.ssh", 6, "~USER is not supported; only ~/ for your own home directory is" },
	{ "hide /home/*", 6, "a path cannot contain *, ? or [" },
	{ "write $HOME", 7, "variables are not expanded; write the path itself" },
	{ "write \"\"", 7, "the path is empty" },
	{ "limit", 6, "the line is not complete" },
	{ "limit processes", 16, "the line is not complete" },
	{ "limit processes 10 20", 20, "unexpected text at the end of the line" },
	{ "limit process 10", 7, "this is not the name of a limit" },
	{ "limit processes 7", 17, "this is not a number from 8 to 65536" },
	{ "limit processes 1k", 17, "this is not a number from 8 to 65536" },
	{ "limit processes -1", 17, "this is not a number from 8 to 65536" },
	{ "limit processes \"10\"", 17, "this is not a number from 8 to 65536" },
	{ "limit questions 4097", 17, "this is not a number from 1 to 4096" },
	{ "limit questions 0", 17, "this is not a number from 1 to 4096" },
	{ "limit memory 15m", 14, "a size is a number, then k, m, g or nothing" },
	{ "limit memory 1025g", 14, "a size is a number, then k, m, g or nothing" },
	{ "limit memory 18446744073709551615g", 14, "a size is a number, then k, m, g or nothing" },
	{ "limit memory k", 14, "a size is a number, then k, m, g or nothing" },
	{ "limit tmp 0", 11, "a size is a number, then k, m, g or nothing" },
	{ "only a.test", 1, "only the managed layer may have an `only` line" },
};

START_TEST(mistake)
{
	struct policy *policy = policy_new();
	int r = policy_load_text(policy, "<test>", mistakes[_i].text);
	auto_free char *want =
		mem_printf("<test>:1:%d: error: %s", mistakes[_i].column, mistakes[_i].words);
	struct policy_verdict verdict;

	ck_assert_msg(r == -EINVAL, "accepted: %s", policy_errors(policy));
	ck_assert_msg(strncmp(policy_errors(policy), want, strlen(want)) == 0,
		      "%s\nwanted %s\ngot %s", policy_errors(policy), want, policy_errors(policy));
	ck_assert_uint_eq(policy_error_count(policy), 1);
	policy_set_default(policy, POLICY_ALLOW);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policy_free(policy);
}
END_TEST

/* A part that cannot be seen never allows, and always denies. @because: the clause to name. */
static const struct {
	const char *text;
	enum policy_action want;
	enum policy_reason reason;
	const char *because;
} enforcement[] = {
	{ "allow a.test method GET", POLICY_DENY, POLICY_NOT_ENFORCED, "method" },
	{ "allow http://a.test:443 path /x\nallow a.test path /x", POLICY_DENY, POLICY_NOT_ENFORCED,
	  "path" },
	{ "allow a.test query a", POLICY_DENY, POLICY_NOT_ENFORCED, "query" },
	{ "allow a.test header a", POLICY_DENY, POLICY_NOT_ENFORCED, "header" },
	{ "allow a.test by "
	  "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	  POLICY_DENY, POLICY_NOT_ENFORCED, "by" },
	/* the command is not known */
	{ "allow a.test from \"pip\"", POLICY_DENY, POLICY_DEFAULT_DENY, NULL },
	{ "allow a.test by /bin/a", POLICY_DENY, POLICY_DEFAULT_DENY, NULL },
	{ "allow a.test inspect", POLICY_DENY, POLICY_NOT_ENFORCED, "inspect" },
	{ "allow a.test fronted-by b.test", POLICY_DENY, POLICY_NOT_ENFORCED, "fronted-by" },
	{ "allow a.test upload 1k inspect", POLICY_DENY, POLICY_NOT_ENFORCED, "inspect" },
	{ "default allow\nallow a.test inspect", POLICY_DENY, POLICY_NOT_ENFORCED, "inspect" },
	{ "default ask\nanswer allow a.test upload 1k inspect", POLICY_DENY, POLICY_NOT_ENFORCED,
	  "inspect" },
	{ "ask a.test inspect", POLICY_DENY, POLICY_NOT_ENFORCED, "inspect" },
	{ "ask a.test upload 1k inspect method GET\nask a.test", POLICY_DENY, POLICY_NOT_ENFORCED,
	  "inspect" },
	{ "allow a.test inspect\nallow a.test upload 1k", POLICY_ALLOW, POLICY_RULE_ALLOW, NULL },
	/* another rule decides */
	{ "allow a.test no-inspect", POLICY_ALLOW, POLICY_RULE_ALLOW, NULL },
	{ "allow a.test upload 1k\nallow a.test", POLICY_ALLOW, POLICY_RULE_ALLOW, NULL },
	{ "allow a.test upload 1k\nask a.test", POLICY_ASK, POLICY_ASKED, NULL },
	{ "allow a.test upload 1k\ndeny a.test", POLICY_DENY, POLICY_RULE_DENY, NULL },
	{ "allow b.test upload 1k\nallow a.test", POLICY_ALLOW, POLICY_RULE_ALLOW, NULL },
	{ "allow **.test except a.test upload 1k", POLICY_DENY, POLICY_DEFAULT_DENY, NULL },
	/* a condition on what tightens holds */
	{ "allow a.test\ndeny a.test method POST", POLICY_DENY, POLICY_RULE_DENY, NULL },
	{ "allow a.test\nask a.test path /x", POLICY_ASK, POLICY_ASKED, NULL },
	{ "ask a.test\nanswer allow a.test\nanswer deny a.test by /bin/a", POLICY_DENY,
	  POLICY_ANSWER_DENY, NULL },
	{ "allow a.test\ndeny a.test from \"curl\"", POLICY_DENY, POLICY_RULE_DENY, NULL },
	/* nobody is asked */
	{ "approvals never\nask a.test", POLICY_DENY, POLICY_NO_APPROVER, "approvals never" },
	{ "approvals never\ndefault ask", POLICY_DENY, POLICY_NO_APPROVER, "approvals never" },
	{ "approvals never\ndefault ask\nanswer allow a.test", POLICY_ALLOW, POLICY_ANSWER_ALLOW,
	  NULL },
	{ "approvals never\napprovals on-request\nask a.test", POLICY_DENY, POLICY_NO_APPROVER,
	  "approvals never" },
	{ "approvals granular rules sandbox\nask a.test", POLICY_DENY, POLICY_NO_APPROVER,
	  "approvals granular rules sandbox" },
	{ "approvals reject network\ndefault ask", POLICY_DENY, POLICY_NO_APPROVER,
	  "approvals reject network" },
	{ "approvals granular network\ndefault ask", POLICY_ASK, POLICY_ASKED, NULL },
	{ "approvals untrusted\ndefault ask", POLICY_ASK, POLICY_ASKED, NULL },
	{ "approvals on-request\nask a.test", POLICY_ASK, POLICY_ASKED, NULL },
	{ "approvals never\nallow a.test", POLICY_ALLOW, POLICY_RULE_ALLOW, NULL },
};

START_TEST(enforced_or_refused)
{
	struct policy *policy = policies_test_load(enforcement[_i].text);
	struct policy_verdict verdict;

	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_msg(verdict.action == enforcement[_i].want &&
			      verdict.reason == enforcement[_i].reason,
		      "%s\n%s (%s)", enforcement[_i].text, policy_action_name(verdict.action),
		      policy_reason_code(verdict.reason));
	if (enforcement[_i].because)
		ck_assert_msg(strstr(verdict.because, enforcement[_i].because), "%s\n%s",
			      enforcement[_i].text, verdict.because);
	if (verdict.reason == POLICY_NOT_ENFORCED)
		ck_assert_str_ne(policy_notes(policy), "");
	policy_free(policy);
}
END_TEST

/* @start and @now: seconds from noon; NONE: not known. */
#define NONE INT64_MIN
static const struct {
	const char *text;
	int64_t start, now;
	enum policy_reason want;
} expiries[] = {
	{ "allow a.test for 1h", 0, 0, POLICY_RULE_ALLOW },
	{ "allow a.test for 1h", 0, NONE, POLICY_RULE_ALLOW },
	{ "allow a.test for 1h", 0, 3599, POLICY_RULE_ALLOW },
	{ "allow a.test for 1h", 0, 3600, POLICY_EXPIRED },
	{ "allow a.test for 1h", NONE, 0, POLICY_DEFAULT_DENY },
	{ "allow a.test for 1h", NONE, NONE, POLICY_DEFAULT_DENY },
	{ "deny a.test for 1h", 0, 3599, POLICY_RULE_DENY },
	{ "default allow\ndeny a.test for 1h", 0, 3600, POLICY_DEFAULT_ALLOW },
	{ "default allow\ndeny a.test for 1h", NONE, 3600, POLICY_RULE_DENY },
	{ "default allow\nask a.test for 1h", NONE, NONE, POLICY_ASKED },
	{ "default allow\nask a.test for 1h", 0, 7200, POLICY_DEFAULT_ALLOW },
	{ "allow a.test until 2025-12-31T12:00:01Z", 0, 0, POLICY_RULE_ALLOW },
	{ "allow a.test until 2025-12-31T12:00:01Z", NONE, 0, POLICY_RULE_ALLOW },
	{ "allow a.test until 2025-12-31T12:00:01Z", 0, 1, POLICY_EXPIRED },
	{ "allow a.test until 2025-12-31T12:00Z", 0, 0, POLICY_EXPIRED },
	{ "allow a.test until 2025-12-31", 0, 0, POLICY_EXPIRED },
	{ "allow a.test until 2026-01-01", 0, 43199, POLICY_RULE_ALLOW },
	{ "allow a.test until 2026-01-01", 0, 43200, POLICY_EXPIRED },
	{ "allow a.test until 2030-01-01", NONE, NONE, POLICY_DEFAULT_DENY },
	{ "deny a.test until 2025-01-01", NONE, NONE, POLICY_RULE_DENY },
	{ "default allow\ndeny a.test until 2025-01-01", NONE, 0, POLICY_DEFAULT_ALLOW },
	{ "allow a.test until 2030-01-01 for 1m", 0, 60, POLICY_EXPIRED },
	{ "allow a.test until 2025-12-31T12:00:30Z for 1m", 0, 45, POLICY_EXPIRED },
	{ "default ask\nanswer allow a.test for 1h # by a, 2025-12-31T11:30Z", NONE, 1799,
	  POLICY_ANSWER_ALLOW },
	{ "default ask\nanswer allow a.test for 1h # by a, 2025-12-31T11:30Z, x", 0, 1800,
	  POLICY_ASKED },
	{ "default ask\nanswer deny a.test until 2025-12-31T12:00Z", 0, 0, POLICY_ASKED },
	{ "default ask\nanswer deny a.test until 2025-12-31T12:01Z", 0, 0, POLICY_ANSWER_DENY },
	/* what is over does not even refuse for its other clauses */
	{ "allow a.test upload 1k until 2025-12-31", 0, 0, POLICY_EXPIRED },
};

START_TEST(expiry)
{
	struct policy *policy = policies_test_load(expiries[_i].text);
	struct policy_facts facts;
	struct policy_verdict verdict;

	if (expiries[_i].start != NONE)
		policy_set_start(policy, NOON + expiries[_i].start);
	policies_test_facts("https://a.test", &facts);
	facts.now = expiries[_i].now == NONE ? 0 : NOON + expiries[_i].now;
	policy_decide(policy, &facts, &verdict);
	ck_assert_msg(verdict.reason == expiries[_i].want, "%s: %s", expiries[_i].text,
		      policy_reason_code(verdict.reason));
	policy_free(policy);
}
END_TEST

static enum policy_reason dial(const char *text, const char *address)
{
	struct policy *policy = policies_test_load(text);
	struct policy_facts facts;
	struct policy_verdict verdict;
	struct addr addr;

	policy_set_start(policy, NOON);
	policies_test_facts("https://a.test", &facts);
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(addr_parse(address, strlen(address), &addr), 0);
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &verdict);
	policy_free(policy);
	return verdict.reason;
}

/* Addresses are judged later, by code without a clock: a rule that may have ended allows nothing.
 */
START_TEST(expiry_of_addresses)
{
	ck_assert_int_eq(dial("allow a.test\nallow 10.0.0.0/8", "10.0.0.1"), POLICY_RULE_ALLOW);
	ck_assert_int_eq(dial("allow a.test\nallow 10.0.0.0/8 for 1h", "10.0.0.1"),
			 POLICY_PRIVATE_ADDRESS);
	ck_assert_int_eq(dial("allow a.test private for 1h", "10.0.0.1"), POLICY_RULE_ALLOW);
	ck_assert_int_eq(dial("allow a.test\ndeny 8.8.0.0/16 for 1h", "8.8.8.8"), POLICY_RULE_DENY);
	ck_assert_int_eq(dial("allow a.test\ndeny 8.8.0.0/16 until 2025-01-01", "8.8.8.8"),
			 POLICY_RULE_ALLOW);
	ck_assert_int_eq(dial("allow a.test\nallow 10.0.0.0/8 upload 1k", "10.0.0.1"),
			 POLICY_PRIVATE_ADDRESS);
	ck_assert_int_eq(dial("allow **.test for 1h except 8.8.0.0/16", "8.8.8.8"),
			 POLICY_RULE_DENY);
	ck_assert_int_eq(dial("allow **.test for 1h except 8.8.0.0/16", "9.9.9.9"),
			 POLICY_RULE_ALLOW);
}
END_TEST

/* tcp:// would let any bytes through, also those that a bounded ask speaks of. */
START_TEST(promises_stay_narrow)
{
	struct policy *policy =
		policies_test_load("allow tcp://a.test:443\nask http://a.test:443 upload 1k\n");
	struct policy_verdict verdict;

	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(verdict.promise, POLICY_HTTPS);
	policy_free(policy);
}
END_TEST

START_TEST(settings_are_kept)
{
	struct policy *policy =
		policies_test_load("prompt-timeout 5m\nwrite . \"a b\"\nhide ~/.ssh\n"
				   "prompt-timeout 30s\nwrite /tmp\nread ~/src \"/opt/a b\"\n");
	int64_t ms = 0;

	ck_assert(policy_get_prompt_timeout(policy, &ms));
	ck_assert_int_eq(ms, 30000);
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_WRITE, 0), ".");
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_WRITE, 1), "a b");
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_WRITE, 2), "/tmp");
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_WRITE, 3));
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_HIDE, 0), "~/.ssh");
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_HIDE, 1));
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_READ, 0), "~/src");
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_READ, 1), "/opt/a b");
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_READ, 2));
	policy_free(policy);
}
END_TEST

/* Of several the narrowest; a project can only narrow. */
static const struct {
	const char *user, *project;
	int want; /* -1: none */
} cache_lines[] = {
	{ "", "", -1 },
	{ "cache shared\n", "", POLICY_CACHE_SHARED },
	{ "cache private\ncache shared\n", "", POLICY_CACHE_PRIVATE },
	{ "cache shared\n", "cache private\n", POLICY_CACHE_PRIVATE },
	{ "cache shared\n", "cache none\n", POLICY_CACHE_NONE },
	{ "", "cache shared\n", -1 },
	{ "cache none\n", "cache shared\n", POLICY_CACHE_NONE },
};

START_TEST(cache_is_kept)
{
	struct policy *policy = policy_new();
	enum policy_cache cache = POLICY_CACHES;
	auto_free char *user = mem_printf("version 1\n%s", cache_lines[_i].user);
	auto_free char *project = mem_printf("version 1\n%s", cache_lines[_i].project);

	ck_assert_int_eq(policy_load_text_layer(policy, "<user>", user, POLICY_USER), 0);
	ck_assert_int_eq(policy_load_text_layer(policy, "<project>", project, POLICY_PROJECT), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert_int_eq(policy_get_cache(policy, &cache), cache_lines[_i].want >= 0);
	if (cache_lines[_i].want >= 0)
		ck_assert_int_eq((int)cache, cache_lines[_i].want);
	policy_free(policy);
}
END_TEST

/* The administrator's, then that of this run, then the user's; of several the last. */
static const struct {
	const char *managed, *option, *user, *project, *want, *file, *ca; /* NULL: none */
} upstream_lines[] = {
	{ "", "", "", "upstream http://p.test", NULL, NULL },
	{ "", "", "upstream http://u.test\nupstream http://v.test", "", "http://v.test:80", NULL },
	{ "", "", "upstream socks5h://u.test credentials-file ~/x", "upstream none",
	  "socks5h://u.test:1080", "~/x" },
	{ "", "upstream none", "upstream http://u.test", "", "", NULL },
	{ "upstream http://m.test", "upstream none", "upstream http://u.test", "",
	  "http://m.test:80", NULL },
	{ "upstream http://m.test credentials-file \"/etc/a b\"", "", "", "", "http://m.test:80",
	  "/etc/a b" },
	{ "", "", "upstream https://u.test ca-file \"/etc/c d\"", "", "https://u.test:443", NULL,
	  "/etc/c d" },
	{ "", "upstream https://o.test ca-file /c credentials-file ~/l",
	  "upstream https://u.test ca-file /d", "", "https://o.test:443", "~/l", "/c" },
	{ "", "upstream https://o.test", "upstream https://u.test ca-file /d", "",
	  "https://o.test:443", NULL, NULL },
};

START_TEST(upstream_is_kept)
{
	const char *texts[] = { upstream_lines[_i].managed, upstream_lines[_i].option,
				upstream_lines[_i].user, upstream_lines[_i].project };
	const enum policy_layer layers[] = { POLICY_MANAGED, POLICY_COMMAND_LINE, POLICY_USER,
					     POLICY_PROJECT };
	struct policy *policy = policy_new();
	struct policy_upstream upstream = { 0 };
	struct policy_upstream_files files = { 0 };
	const char *want = upstream_lines[_i].want;
	char shown[POLICY_UPSTREAM_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_free char *text = mem_printf("version 1\n%s\n", texts[i]);

		ck_assert_int_eq(policy_load_text_layer(policy, "<test>", text, layers[i]), 0);
	}
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert_int_eq(policy_get_upstream(policy, &upstream, &files), want != NULL);
	ck_assert_int_eq(upstream.kind != POLICY_UPSTREAM_NONE, want && want[0]);
	if (want && want[0])
		ck_assert_str_eq(policy_upstream_text(&upstream, shown), want);
	ck_assert_pstr_eq(files.login, upstream_lines[_i].file);
	ck_assert_pstr_eq(files.authorities, upstream_lines[_i].ca);
	/* The command does not see the first. */
	ck_assert_pstr_eq(policy_get_path(policy, POLICY_PATH_HIDE, 0), upstream_lines[_i].file);
	policy_free(policy);
}
END_TEST

START_TEST(a_line_is_shown_once)
{
	struct policy *policy = policies_test_load(
		"upstream https://u.test ca-file /c credentials-file /l\nhide /a /b\n");
	struct policy_rule_look look;

	ck_assert(policy_setting_look(policy, 0, &look));
	ck_assert_str_eq(look.word, "upstream");
	ck_assert(policy_setting_look(policy, 1, &look));
	ck_assert_str_eq(look.word, "hide");
	ck_assert(!policy_setting_look(policy, 2, &look));
	policy_free(policy);
}
END_TEST

/* Of several the least holds, and without any the default. */
START_TEST(limits_are_kept)
{
	struct policy *policy = policies_test_load(
		"limit processes 100\nlimit processes 2000\nlimit tmp 2m\nlimit memory 3g\n");

	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_PROCESSES), 100);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_TMP), 2U << 20);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_MEMORY), 3ULL << 30);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_QUESTIONS), 64);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_FILES), 0);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_RECORDS), 64);
	policy_free(policy);
}
END_TEST

START_TEST(notes_name_the_clause)
{
	struct policy *policy = policies_test_load(
		"allow a.test method GET inspect\ndeny b.test path /x\nallow c.test for 1h\n"
		"deny 192.0.2.1:80 path /x\ndeny e.test from \"x\"\n"
		"allow f.test:80 method GET\nallow http://g.test method GET\n");

	ck_assert_str_eq(policy_notes(policy),
			 "<test>:1:1: warning: method, inspect: this version does not enforce "
			 "this, so this rule allows nothing\n"
			 "    allow a.test method GET inspect\n    ^\n"
			 "<test>:2:1: warning: path: this needs inspection for https, which this "
			 "version does not support; for https, this rule applies to every request\n"
			 "    deny b.test path /x\n    ^\n"
			 "<test>:4:1: warning: path: for an address, this rule applies to every "
			 "request\n"
			 "    deny 192.0.2.1:80 path /x\n    ^\n");
	policy_free(policy);
}
END_TEST

TCase *clauses_cases(void)
{
	TCase *cases = tcase_create("clauses");

	tcase_add_loop_test(cases, clause, 0, ARRAY_SIZE(accepted));
	tcase_add_loop_test(cases, mistake, 0, ARRAY_SIZE(mistakes));
	tcase_add_loop_test(cases, enforced_or_refused, 0, ARRAY_SIZE(enforcement));
	tcase_add_loop_test(cases, expiry, 0, ARRAY_SIZE(expiries));
	tcase_add_test(cases, expiry_of_addresses);
	tcase_add_test(cases, promises_stay_narrow);
	tcase_add_test(cases, settings_are_kept);
	tcase_add_loop_test(cases, upstream_is_kept, 0, ARRAY_SIZE(upstream_lines));
	tcase_add_loop_test(cases, cache_is_kept, 0, ARRAY_SIZE(cache_lines));
	tcase_add_test(cases, a_line_is_shown_once);
	tcase_add_test(cases, limits_are_kept);
	tcase_add_test(cases, notes_name_the_clause);
	return cases;
}
