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

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/approve.h"

START_TEST(nothing_waits)
{
	ck_assert_int_eq(stage_approve("list"), 0);
	ck_assert_str_eq(stage.output, "no sallyport run is waiting for an answer\n");
	ck_assert_int_eq(stage_approve("list --json"), 0);
	ck_assert_str_eq(stage.output, "[]\n");
	ck_assert_int_eq(stage_approve("allow 7f3a-1"), 1);
	ck_assert_str_eq(stage.output,
			 "sallyport: no such question: no sallyport run is waiting\n");
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
	"deny 7f3a-1 --json",
	"abort 7f3a-1 --scope once",
};

START_TEST(usage_is_checked)
{
	ck_assert_int_eq(stage_approve(usage_errors[_i]), 3);
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
	ck_assert_ptr_nonnull(strstr(stage.output,
				     "7f3a-1  https://example.org:443\n"
				     "  careful   never allowed before on this machine\n"
				     "  asked by  npm ci\n"
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
	stage_child_until(&stage.watcher, "careful   Cyrillic letters: looks like apple.test, is");
	ck_assert_int_eq(stage_approve("list"), 0);
	ck_assert_ptr_nonnull(strstr(
		stage.output, "7f3a-1  https://xn--80ak6aa92e.test:443\n"
			      "  careful   Cyrillic letters: looks like apple.test, is "
			      "xn--80ak6aa92e.test; never allowed before on this machine\n"));
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
	ck_assert_ptr_nonnull(strstr(stage.output, "finished already"));
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

/* @listens: a socket of ours behind the name, else a dead run's. */
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
	{ "{\"sallyport\":\"1\"}\n", "is no gate" },
	{ "[]\n", "is no gate" },
	{ "220 mail.example.org ESMTP\n", "no JSON" },
	{ "", "hung up" },
	{ "{\"sallyport\":1,\"run\":\"odd\",\"session\":\"\"}\n", "hung up" },
	{ "{\"sallyport\":1}\n{\"id\":7,\"ok\":true,\"questions\":[]}\n", "something else" },
	{ "{\"sallyport\":1}\n{\"id\":1,\"ok\":true,\"questions\":7}\n", "sent no list" },
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
		ck_assert_ptr_nonnull(strstr(stage.output, "not a socket of yours"));
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
