#include "test_approve_stage.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/approve/approve.h"

START_TEST(nothing_waits)
{
	ck_assert_int_eq(stage_approve("list"), 0);
	ck_assert_str_eq(stage.output, "no question waits for an answer\n");
	ck_assert_int_eq(stage_approve("list --json"), 0);
	ck_assert_str_eq(stage.output, "[]\n");
	ck_assert_int_eq(stage_approve("allow 7f3a-1"), 1);
	ck_assert_str_eq(stage.output,
			 "sallyport: no such question: no run has an open question\n");
}
END_TEST

static const char *const usage_errors[] = {
	"",
	"bogus",
	"list x",
	"list --bogus",
	"watch x",
	"allow",
	"allow x",
	"allow 7f3a",
	"allow ../x-1",
	"allow 7f3a-1 7f3a-2",
	"allow 7f3a-1 --scope",
	"allow 7f3a-1 --scope forever",
	"allow 7f3a-1 --domain",
	"deny 7f3a-1 --for 1h --scope once",
	"deny 7f3a-1 --json",
	"abort 7f3a-1 --scope once",
};

START_TEST(usage_is_checked)
{
	ck_assert_int_eq(stage_approve(usage_errors[_i]), 2);
	ck_assert_ptr_nonnull(strstr(stage.output, "--help"));
}
END_TEST

static const char *const helps[] = { "--help",       "-h",
				     "list --help",  "watch --help",
				     "allow --help", "deny -h",
				     "abort --help", "allow 7f3a-1 --help" };

START_TEST(help_is_given)
{
	ck_assert_int_eq(stage_approve(helps[_i]), 0);
	ck_assert_int_eq(strncmp(stage.output, "usage: sallyport approve", 24), 0);
}
END_TEST

START_TEST(list_shows_every_run)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_run_open(&stage.runs[1], "0b1c");
	stage_watch("watch --json");
	stage_child_until(&stage.watcher, "0b1c");
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_ask(&stage.runs[1], "tcp://b.test:22");
	ck_assert_int_eq(stage_approve("list --json"), 0);

	json_t *list = json_loads(stage.output, 0, NULL);
	ck_assert_uint_eq(json_array_size(list), 2);
	json_t *first = json_array_get(list, 0), *second = json_array_get(list, 1);
	if (strcmp(approve_text_member(first, "run"), "7f3a") != 0) {
		first = second;
		second = json_array_get(list, 0);
	}
	ck_assert_str_eq(approve_text_member(first, "id"), "7f3a-1");
	ck_assert_str_eq(approve_text_member(first, "protocol"), "https");
	ck_assert_str_eq(approve_text_member(first, "host"), "example.org");
	ck_assert_int_eq(json_integer_value(json_object_get(first, "port")), 443);
	ck_assert_int_eq(json_integer_value(json_object_get(first, "waiting")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(first, "left_s")), 60);
	ck_assert(json_is_integer(json_object_get(first, "age_s")));
	ck_assert(json_is_string(json_object_get(first, "rule")));
	ck_assert_str_eq(approve_text_member(first, "session"), "test");
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(first, "commands"), 0)),
			 "npm ci");
	ck_assert_str_eq(approve_text_member(second, "id"), "0b1c-1");
	json_decref(list);

	ck_assert_int_eq(stage_approve("list"), 0);
	ck_assert_ptr_nonnull(strstr(
		stage.output, "7f3a-1  https://example.org:443\n"
			      "  NEW       example.org has never been allowed on this machine\n"
			      "  command   npm ci\n"
			      "  waiting   2 connections, "));
	ck_assert_ptr_nonnull(strstr(stage.output, "0b1c-1  tcp://b.test:22\n"));
	ck_assert_int_eq(stage_approve("allow 0b1c-1 --confirm b.test"), 0);
	ck_assert_uint_eq(stage.runs[1].told, 1);
	ck_assert_uint_eq(stage.runs[0].told, 0);
	stage_end_watch(0);
}
END_TEST

START_TEST(a_name_that_looks_like_another)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://xn--80ak6aa92e.test:443");
	stage_child_until(
		&stage.watcher,
		"warning   international name (Cyrillic letters): looks like apple.test, is");
	ck_assert_int_eq(stage_approve("list"), 0);
	ck_assert_ptr_nonnull(strstr(
		stage.output,
		"7f3a-1  https://xn--80ak6aa92e.test:443\n"
		"  warning   international name (Cyrillic letters): looks like apple.test, is "
		"xn--80ak6aa92e.test; xn--80ak6aa92e.test has "
		"never been allowed on this machine\n"));
	stage_end_watch(0);
}
END_TEST

static const struct {
	const char *words, *printed, *again;
	enum policy_reason reason;
} answers[] = {
	{ "allow 7f3a-1 --confirm example.org", "allowed once", "ask", POLICY_GRANTED_ONCE },
	{ "allow 7f3a-1 --confirm example.org --scope once", "allowed once", "ask",
	  POLICY_GRANTED_ONCE },
	{ "allow --scope=exec 7f3a-1 --confirm=example.org", "allowed for this command", "",
	  POLICY_GRANTED_EXEC },
	{ "allow 7f3a-1 --confirm example.org --scope session", "allowed for this session", "",
	  POLICY_GRANTED_SESSION },
	{ "allow 7f3a-1 --confirm example.org --scope always", "allowed always", "",
	  POLICY_GRANTED_ALWAYS },
	{ "deny 7f3a-1", "denied once", "ask", POLICY_DENIED_ONCE },
	{ "deny 7f3a-1 --scope exec", "denied for this command", "", POLICY_DENIED_EXEC },
	{ "deny 7f3a-1 --scope session", "denied for this session", "", POLICY_DENIED_SESSION },
	{ "deny 7f3a-1 --scope always", "denied always", "", POLICY_DENIED_ALWAYS },
	{ "abort 7f3a-1", "aborted", "", POLICY_ABORTED },
};

START_TEST(every_answer)
{
	auto_free char *printed =
		mem_printf("7f3a-1  https://example.org:443  %s", answers[_i].printed);

	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://example.org:443");
	ck_assert_int_eq(stage_approve(answers[_i].words), 0);
	ck_assert_msg(strstr(stage.output, printed) == stage.output, "%s", stage.output);
	ck_assert_uint_eq(stage.runs[0].told, 1);
	ck_assert_int_eq(stage.runs[0].verdict.reason, answers[_i].reason);
	ck_assert_ptr_nonnull(strstr(stage.runs[0].verdict.by, " on approve"));

	ck_assert_int_eq(stage_approve(answers[_i].words), 1); /* twice is once too often */
	ck_assert_ptr_nonnull(strstr(stage.output, "answered or withdrawn"));
	ck_assert_uint_eq(stage.runs[0].told, 1);
	stage_child_until(&stage.watcher, " on approve");
	stage_end_watch(0);
}
END_TEST

START_TEST(answer_that_cannot_be_kept)
{
	free(stage.answers_path);
	stage.answers_path = mem_strdup("/proc/version/policy");
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://example.org:443");
	ck_assert_int_eq(stage_approve("allow 7f3a-1 --scope always --confirm example.org"), 3);
	ck_assert_ptr_nonnull(strstr(stage.output, "7f3a-1 was not answered: "));
	ck_assert_uint_eq(stage.runs[0].told, 0);
	ck_assert_int_eq(stage_approve("deny 7f3a-1"), 0); /* it is open still */
	stage_end_watch(0);
}
END_TEST

/* Its file is there a moment before its lock, and counts from then on. */
static bool is_held(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

/* The watcher is older than the run, and the first question older than their acquaintance: it is
 * not denied. */
START_TEST(watcher_before_the_run)
{
	stage_child_start(&stage.watcher, "watch --json");
	auto_free char *file =
		mem_printf("%s/watchers/%d", stage.control_dir, (int)stage.watcher.pid);
	while (!is_held(file))
		ck_assert(!stage_child_turn(&stage.watcher));
	stage_run_open(&stage.runs[0], "7f3a");
	stage_ask(&stage.runs[0], "https://example.org:443");
	ck_assert_uint_eq(stage.runs[0].told, 0);
	stage_child_until(&stage.watcher, "{\"event\":\"asked\",\"question\":{\"id\":\"7f3a-1\",");
	stage_child_say(&stage.watcher, "allow 7f3a-1 session example.org\n");
	stage_until_told(&stage.runs[0], 1);
	ck_assert_int_eq(stage.runs[0].verdict.reason, POLICY_GRANTED_SESSION);
	stage_child_until(&stage.watcher,
			  "{\"event\":\"retracted\",\"question\":{\"id\":\"7f3a-1\"},\"how\":\"");
	stage_child_until(
		&stage.watcher,
		"{\"ok\":true,\"text\":\"https://"
		"example.org:443\",\"event\":\"answered\",\"question\":{\"id\":\"7f3a-1\"}");
	stage_run_close(&stage.runs[0]);
	stage_child_until(&stage.watcher, "{\"event\":\"run_ended\",\"run\":\"7f3a\"}");
	stage_end_watch(0);
	ck_assert_int_lt(access(file, F_OK), 0);
}
END_TEST

static const struct {
	const char *typed;
	enum policy_reason reason;
} typed[] = {
	{ "y 7f3a-1 example.org\n", POLICY_GRANTED_ONCE },
	{ "e 7f3a-1 example.org\n", POLICY_GRANTED_EXEC },
	{ "s 7f3a-1 example.org\n", POLICY_GRANTED_SESSION },
	{ "a 7f3a-1 example.org\n", POLICY_GRANTED_ALWAYS },
	{ "n 7f3a-1\n", POLICY_DENIED_ONCE },
	{ "E 7f3a-1\n", POLICY_DENIED_EXEC },
	{ "S 7f3a-1\n", POLICY_DENIED_SESSION },
	{ "D 7f3a-1\n", POLICY_DENIED_ALWAYS },
	{ "q 7f3a-1\n", POLICY_ABORTED },
	{ "  deny\t7f3a-1  exec \r\n", POLICY_DENIED_EXEC },
	{ "\n\nbogus\ny 9999-1\ny 7f3a-9\ny\nn 7f3a-1\n", POLICY_DENIED_ONCE },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"exec\"}\n", POLICY_GRANTED_EXEC },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"exec\","
	  "\"text\":\"https://example.org:443\"}\n",
	  POLICY_GRANTED_EXEC },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"exec\","
	  "\"text\":\"https://example.com:443\"}\nn 7f3a-1\n",
	  POLICY_DENIED_ONCE },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"x\"}\nn 7f3a-1\n",
	  POLICY_DENIED_ONCE },
};

START_TEST(answers_that_are_typed)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_child_until(&stage.watcher, "7f3a-1  https://example.org:443\n");
	stage_child_say(&stage.watcher, typed[_i].typed);
	while (stage.runs[0].told == 0)
		ck_assert(!stage_child_turn(&stage.watcher));
	ck_assert_int_eq(stage.runs[0].verdict.reason, typed[_i].reason);
	stage_end_watch(0);
}
END_TEST

/* The remembered answer is exactly the text of the line. */
static const struct {
	const char *typed, *text;
} wide[] = {
	{ "s 7f3a-1 example.org --domain --for 1h\n", "https://**.example.org:443 for 1h\"" },
	{ "s --all-ports 7f3a-1 example.org\n", "https://example.org:*\"" },
	{ "allow 7f3a-1 exec --upload 64k --confirm example.org --connections=2\n",
	  "https://example.org:443 upload 64k connections 2\"" },
	{ "allow 7f3a-1 --scope session --download 1m example.org\n",
	  "https://example.org:443 download 1m\"" },
	{ "S 7f3a-1 --domain\n", "https://**.example.org:443\"" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"session\",\"host\":\"domain\","
	  "\"ports\":\"all\",\"for\":\"90s\",\"connections\":3}\n",
	  "https://**.example.org:* for 90s connections 3\"" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"session\",\"host\":\"this\","
	  "\"ports\":\"this\",\"program\":\"any\",\"upload\":65536,\"download\":1024,"
	  "\"confirm\":\"example.org\"}\n",
	  "https://example.org:443 upload 64k download 1k\"" },
	{ "{\"op\":\"deny\",\"question\":\"7f3a-1\",\"scope\":\"session\",\"for\":\"1h\"}\n",
	  "https://example.org:443 for 1h\"" },
};

START_TEST(lines_with_a_width)
{
	auto_free char *want = mem_printf("{\"ok\":true,\"text\":\"%s", wide[_i].text);

	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch --json");
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_child_until(&stage.watcher, "\"event\":\"asked\"");
	stage_child_say(&stage.watcher, wide[_i].typed);
	stage_child_until(&stage.watcher, want);
	stage_until_told(&stage.runs[0], 1);
	stage_end_watch(0);
}
END_TEST

static const struct {
	const char *typed, *words;
} worded[] = {
	{ "n 7f3a-1 --words 'use the mirror'\n", "use the mirror" },
	{ "deny 7f3a-1 session --words=\"it's \\\"off\\\"\"\n", "it's \"off\"" },
	{ "q 7f3a-1 --words stop\\ that\n", "stop that" },
	{ "y 7f3a-1 --words 'don'\\''t again' example.org\n", "don't again" },
	{ "{\"op\":\"deny\",\"question\":\"7f3a-1\",\"words\":\"use the mirror\"}\n",
	  "use the mirror" },
};

START_TEST(lines_with_words)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_child_until(&stage.watcher, "7f3a-1  https://example.org:443\n");
	stage_child_say(&stage.watcher, worded[_i].typed);
	stage_until_told(&stage.runs[0], 1);
	ck_assert_msg(strstr(stage.runs[0].verdict.because, worded[_i].words) != NULL, "%s",
		      stage.runs[0].verdict.because);
	stage_end_watch(0);
}
END_TEST

static const struct {
	const char *line, *want;
} wrong_lines[] = {
	{ "y 7f3a-1 --scope session", "--scope is not allowed here" }, /* the letter says it */
	{ "allow 7f3a-1 session --scope exec", "give one scope only" },
	{ "allow 7f3a-1 --scope forever", "--scope must be once" },
	{ "allow 7f3a-1 --domain", "--domain needs an answer that lasts; add --scope exec, --scope "
				   "session or --scope always" },
	{ "deny 7f3a-1 once --all-ports", "--all-ports needs an answer that lasts" },
	{ "allow 7f3a-1 --for 1h --for 2h", "--for was given twice" },
	{ "s 7f3a-1 --domain --domain", "--domain was given twice" },
	{ "s 7f3a-1 --for", "--for needs a value" },
	{ "s 7f3a-1 --for soon", "--for needs a duration" },
	{ "s 7f3a-1 --for 0", "--for needs a duration" },
	{ "s 7f3a-1 --upload 0", "--upload needs a size" },
	{ "s 7f3a-1 --download 1x", "--download needs a size" },
	{ "s 7f3a-1 --connections 65536", "--connections needs a number" },
	{ "s 7f3a-1 --connections -1", "--connections needs a number" },
	{ "s 7f3a-1 --wide", "no such option: --wide" },
	{ "s 7f3a-1 --session x", "--session is not allowed" },
	{ "s 7f3a-1 --json", "no such option: --json" },
	{ "s 7f3a-1 -x", "no such option: -x" },
	{ "s 7f3a-1 -h", "--help is not allowed" },
	{ "s 7f3a-1 --\x1b[2J", "no such option: --\\x1b[2J" },
	{ "s 7f3a-1 example.org --confirm example.org", "the answer has too many words" },
	{ "s 7f3a-1 example.org example.com", "the answer has too many words" },
	{ "n 7f3a-1 example.org", "the answer has too many words" },
	{ "S 7f3a-1 --upload 64k", "no such option: --upload" },
	{ "deny 7f3a-1 --confirm example.org", "no such option: --confirm" },
	{ "abort 7f3a-1 --domain", "no such option: --domain" },
	{ "abort 7f3a-1 session", "abort has no scope" },
	{ "abort 7f3a-1 --scope once", "no such option: --scope" },
	{ "n 7f3a-1 --words 'open", "a quote is not closed" },
	{ "n 7f3a-1 --words \"open\\\"", "a quote is not closed" },
	{ "n 7f3a-1 --words \xff", "--words must be valid UTF-8 text" },
	{ "n --words 7f3a-1", "name a question" },
	{ "--domain s 7f3a-1", "type a letter" },
	{ "s 7f3a-1 --domain yes yes", "the answer has too many words" },
	{ "s 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6",
	  "the answer has too many words" },
	{ "{\"op\":\"allow\"}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"id\":1}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"until\":1}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"host\":\"all\"}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"ports\":80}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"program\":\"that\"}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"for\":\"\"}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"for\":3600}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"upload\":0}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"upload\":-1}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"upload\":1.5}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"upload\":\"64k\"}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":null}", "an answer must be" },
	{ "{\"op\":\"deny\",\"question\":\"7f3a-1\",\"upload\":1}", "an answer must be" },
	{ "{\"op\":\"deny\",\"question\":\"7f3a-1\",\"confirm\":\"a.test\"}", "an answer must be" },
	{ "{\"op\":\"abort\",\"question\":\"7f3a-1\",\"host\":\"domain\"}", "an answer must be" },
	{ "{\"op\":\"abort\",\"question\":\"7f3a-1\",\"scope\":\"once\"}", "an answer must be" },
	{ "{\"op\":\"abort\",\"question\":\"7f3a-1\",\"text\":\"https://a.test:443\"}",
	  "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"text\":\"\"}", "an answer must be" },
	{ "{\"op\":\"allow\",\"question\":\"7f3a-1\",\"text\":443}", "an answer must be" },
	{ "{\"op\":\"allow\",\"op\":\"deny\",\"question\":\"7f3a-1\"}",
	  "the line is not a JSON object" },
};

START_TEST(lines_that_are_refused)
{
	struct approve_answer answer = { .id = "untouched" };
	struct err why = { 0 };

	ck_assert_int_lt(approve_input_parse(wrong_lines[_i].line, &answer, &why), 0);
	ck_assert_msg(strstr(why.text, wrong_lines[_i].want) != NULL, "%s", why.text);
	ck_assert_str_eq(answer.id, "untouched");
}
END_TEST

/* An answer that would be cut is not sent. */
START_TEST(words_that_are_too_long)
{
	struct approve_answer answer = { 0 };
	struct err why = { 0 };
	char words[APPROVE_WORDS_MAX + 1];

	memset(words, 'w', sizeof(words));
	words[sizeof(words) - 1 - (size_t)_i] = '\0';
	auto_free char *line = mem_printf("n 7f3a-1 --words %s", words);
	auto_free char *object =
		mem_printf("{\"op\":\"deny\",\"question\":\"7f3a-1\",\"words\":\"%s\"}", words);
	ck_assert_int_eq(approve_input_parse(line, &answer, &why) < 0, _i == 0);
	ck_assert_int_eq(approve_input_parse(object, &answer, &why) < 0, _i == 0);
	if (_i > 0)
		ck_assert_str_eq(answer.words, words);
}
END_TEST

/* A scope of once has no width: the gate says so, and the question stays open. */
START_TEST(line_that_the_gate_refuses)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_child_until(&stage.watcher, "7f3a-1  https://example.org:443\n");
	stage_child_say(&stage.watcher, "y 7f3a-1 --domain example.org\n");
	stage_child_until(&stage.watcher, "7f3a-1  not answered: ");
	stage_child_say(&stage.watcher, "a 7f3a-1 --domain\n");
	stage_child_until(&stage.watcher, "type example.org as well");
	ck_assert_uint_eq(stage.runs[0].told, 0);
	stage_child_say(&stage.watcher, "n 7f3a-1\n");
	stage_until_told(&stage.runs[0], 1);
	stage_end_watch(0);
}
END_TEST

START_TEST(watcher_that_dies)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://example.org:443");
	ck_assert_int_eq(kill(stage.watcher.pid, SIGKILL), 0);
	stage_until_told(&stage.runs[0], 1);
	ck_assert_int_eq(stage.runs[0].verdict.reason, POLICY_APPROVER_GONE);
	ck_assert_int_eq(stage_child_end(&stage.watcher), 128 + SIGKILL);
	stage_ask(&stage.runs[0], "https://example.org:443");
	stage_until_told(&stage.runs[0], 2);
	ck_assert_int_eq(stage.runs[0].verdict.reason, POLICY_NO_APPROVER);

	stage_watch("watch"); /* tidies up after the dead one */
	auto_free char *entries = mem_printf("test \"$(ls '%s/watchers')\" = %d", stage.control_dir,
					     (int)stage.watcher.pid);
	ck_assert_int_eq(system(entries), 0);
	stage_end_watch(0);
}
END_TEST

/* @listens: the name is a socket of this test, else of a dead run. */
static int plant(const char *name, bool listens)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", stage.control_dir,
		       name);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 4), 0);
	return fd;
}

START_TEST(socket_of_a_dead_run)
{
	auto_free char *path = mem_printf("%s/dead.sock", stage.control_dir);
	auto_free char *hidden = mem_printf("%s/.new.new", stage.control_dir);

	fd_close(plant("dead.sock", false));
	fd_close(plant(".new.new", false));
	ck_assert_int_eq(stage_approve("list --json"), 0);
	ck_assert_str_eq(stage.output, "[]\n");
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_eq(access(hidden, F_OK), 0); /* a run that is about to listen */
}
END_TEST

static const struct {
	const char *greeting, *want;
} strangers[] = {
	{ "{\"sallyport\":2,\"run\":\"odd\",\"session\":\"\"}\n", "speaks version 2" },
	{ "{\"sallyport\":\"1\"}\n", "is not a Sallyport gateway" },
	{ "[]\n", "is not a Sallyport gateway" },
	{ "220 mail.example.org ESMTP\n", "not JSON" },
	{ "", "closed the connection" },
	{ "{\"sallyport\":1,\"run\":\"odd\",\"session\":\"\"}\n", "closed the connection" },
	{ "{\"sallyport\":1}\n{\"id\":7,\"ok\":true,\"questions\":[]}\n", "another request" },
	{ "{\"sallyport\":1}\n{\"id\":1,\"ok\":true,\"questions\":7}\n", "malformed list" },
};

START_TEST(server_that_is_none)
{
	static struct child child;
	int listener = plant("odd.sock", true), fd = -1;
	char request[256];

	stage_child_start(&child, "list");
	while (fd < 0) {
		ck_assert(!stage_child_turn(&child));
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	ck_assert_int_eq(send(fd, strangers[_i].greeting, strlen(strangers[_i].greeting), 0),
			 (ssize_t)strlen(strangers[_i].greeting));
	if (strstr(strangers[_i].greeting, "\"id\""))
		ck_assert_int_gt(recv(fd, request, sizeof(request), 0), 0);
	(void)shutdown(fd, SHUT_WR);
	ck_assert_int_eq(stage_child_end(&child), 3);
	ck_assert_msg(strstr(stage.output, strangers[_i].want) != NULL, "%s", stage.output);
	fd_close(fd);
	fd_close(listener);
}
END_TEST

START_TEST(directory_that_is_open_to_others)
{
	ck_assert_int_eq(chmod(stage.control_dir, 0755), 0);
	ck_assert_int_eq(stage_approve("list"), 3);
	ck_assert_int_eq(stage_approve("watch"), 3);
	ck_assert_int_eq(stage_approve("allow 7f3a-1"), 3);
}
END_TEST

START_TEST(socket_of_somebody_else)
{
	auto_free char *path = mem_printf("%s/odd.sock", stage.control_dir);
	int listener = plant("odd.sock", true);

	if (lchown(path, geteuid() + 1, (gid_t)-1) < 0) {
		(void)printf("SKIP socket_of_somebody_else: only root can give a file away\n");
	} else {
		ck_assert_int_eq(stage_approve("list"), 3);
		ck_assert_ptr_nonnull(strstr(stage.output, "not your own socket"));
	}
	fd_close(listener);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("approve");
	TCase *tcase = tcase_create("approve");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, stage_setup, stage_teardown);
	tcase_add_test(tcase, nothing_waits);
	tcase_add_loop_test(tcase, usage_is_checked, 0, (int)ARRAY_SIZE(usage_errors));
	tcase_add_loop_test(tcase, help_is_given, 0, (int)ARRAY_SIZE(helps));
	tcase_add_test(tcase, list_shows_every_run);
	tcase_add_test(tcase, a_name_that_looks_like_another);
	tcase_add_loop_test(tcase, every_answer, 0, (int)ARRAY_SIZE(answers));
	tcase_add_test(tcase, answer_that_cannot_be_kept);
	tcase_add_test(tcase, watcher_before_the_run);
	tcase_add_loop_test(tcase, answers_that_are_typed, 0, (int)ARRAY_SIZE(typed));
	tcase_add_loop_test(tcase, lines_with_a_width, 0, (int)ARRAY_SIZE(wide));
	tcase_add_loop_test(tcase, lines_with_words, 0, (int)ARRAY_SIZE(worded));
	tcase_add_loop_test(tcase, lines_that_are_refused, 0, (int)ARRAY_SIZE(wrong_lines));
	tcase_add_loop_test(tcase, words_that_are_too_long, 0, 2);
	tcase_add_test(tcase, line_that_the_gate_refuses);
	tcase_add_test(tcase, watcher_that_dies);
	tcase_add_test(tcase, socket_of_a_dead_run);
	tcase_add_loop_test(tcase, server_that_is_none, 0, (int)ARRAY_SIZE(strangers));
	tcase_add_test(tcase, directory_that_is_open_to_others);
	tcase_add_test(tcase, socket_of_somebody_else);
	suite_add_tcase(suite, tcase);
	suite_add_tcase(suite, tcase_ledger());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
