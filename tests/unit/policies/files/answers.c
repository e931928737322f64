#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

#define WRITERS        8
#define ANSWERS_OF_ONE 12

static char folder[64];

static void enter_folder(void)
{
	(void)umask(022);
	(void)snprintf(folder, sizeof(folder), "/tmp/test-answers.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	auto_free char *command = mem_printf("rm -rf '%s'", folder);

	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static char *read_file(const char *path)
{
	auto_close int fd = open(path, O_RDONLY);
	char *text = NULL;

	ck_assert_msg(fd >= 0, "%s", path);
	ck_assert_int_eq(fd_read_all(fd, 1 << 20, &text, NULL, NULL), 0);
	return text;
}

static int append(const char *path, enum policy_action action, const char *destination,
		  const char *provenance, struct err *why)
{
	struct policy_destination dst;
	char text[POLICY_DESTINATION_TEXT_MAX];

	ck_assert_int_eq(policy_destination_parse(destination, &dst, NULL), 0);
	return policy_answer_append_text(path, action, policy_destination_text(&dst, text),
					 provenance, why);
}

static void check_file(const char *path, const char *want)
{
	auto_free char *text = read_file(path);

	ck_assert_str_eq(text, want);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	ck_assert_int_eq(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

START_TEST(first_answer)
{
	struct err why = { 0 };

	(void)umask(0);
	ck_assert_msg(
		append("one/two/policy", POLICY_ALLOW, "a.test", "by ana on tty, now", &why) == 0,
		"%s", why.text);
	check_file("one/two/policy",
		   "version 1\nanswer allow https://a.test:443   # by ana on tty, now\n");
	ck_assert_int_eq(mode_of("one"), 0700);
	ck_assert_int_eq(mode_of("one/two"), 0700);
	ck_assert_int_eq(mode_of("one/two/policy"), 0600);

	/* Reading the file gives the answers that were written. */
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	ck_assert_int_eq(policy_load(policy, "one/two/policy"), 0);
	policy_set_default(policy, POLICY_ASK);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_ANSWER_ALLOW);
	ck_assert_str_eq(verdict.by, "ana on tty");
	policies_test_decide(policy, "tcp://a.test:443", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_ASKED);
	policy_free(policy);
}
END_TEST

START_TEST(the_rest_of_the_file_stays)
{
	write_file("policy", "# mine\nversion 1\n\n  deny b.test # why\nallow c.test");
	ck_assert_int_eq(chmod("policy", 0640), 0);
	ck_assert_int_eq(append("policy", POLICY_DENY, "tcp://[2001:db8::1]:22", "by ana", NULL),
			 0);
	check_file("policy", "# mine\nversion 1\n\n  deny b.test # why\nallow c.test\n"
			     "answer deny tcp://[2001:db8::1]:22   # by ana\n");
	ck_assert_int_eq(mode_of("policy"), 0640);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "http://b.test", "by ben", NULL), 0);
	check_file("policy", "# mine\nversion 1\n\n  deny b.test # why\nallow c.test\n"
			     "answer deny tcp://[2001:db8::1]:22   # by ana\n"
			     "answer allow http://b.test:80   # by ben\n");
	ck_assert_int_ne(access(".policy.new", F_OK), 0);
}
END_TEST

START_TEST(not_twice)
{
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", NULL), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ben, later", NULL), 0);
	check_file("policy", "version 1\nanswer allow https://a.test:443   # by ana\n");
	ck_assert_int_eq(append("policy", POLICY_DENY, "a.test", "by ben", NULL), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "tcp://a.test:443", "by ben", NULL), 0);
	check_file("policy", "version 1\nanswer allow https://a.test:443   # by ana\n"
			     "answer deny https://a.test:443   # by ben\nanswer allow "
			     "tcp://a.test:443   # by ben\n");
	/* A line with a clause says something else; other blanks say the same. */
	write_file(
		"policy",
		"answer allow https://a.test:443 private\n\tanswer  allow\thttps://b.test:443#x\n"
		" answer\tallow  https://c.test:443 # x");
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "c.test", "by ana", NULL), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", NULL), 0);
	check_file(
		"policy",
		"answer allow https://a.test:443 private\n\tanswer  allow\thttps://b.test:443#x\n"
		" answer\tallow  https://c.test:443 # x\nanswer allow https://a.test:443   # by "
		"ana\n");
}
END_TEST

START_TEST(provenance_stays_a_comment)
{
	char provenance[3000];

	ck_assert_int_eq(
		append("policy", POLICY_DENY, "a.test", "by x\nallow * \r\x1b[2J\xc2\x9b", NULL),
		0);
	check_file("policy", "version 1\nanswer deny https://a.test:443   # by x\\x0aallow * "
			     "\\x0d\\x1b[2J\\xc2\\x9b\n");
	memset(provenance, 'y', sizeof(provenance) - 1);
	provenance[sizeof(provenance) - 1] = '\0';
	ck_assert_int_eq(append("policy", POLICY_DENY, "b.test", provenance, NULL), 0);

	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load(policy, "policy"), 0);
	ck_assert_uint_eq(policy_rule_count(policy), 2);
	policy_free(policy);
}
END_TEST

START_TEST(not_an_answer)
{
	static const char *const texts[] = { "a.test\nallow *", "", "a.test a.test", "#" };

	ck_assert_int_eq(append("policy", POLICY_ASK, "a.test", "by ana", NULL), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ck_assert_int_eq(
			policy_answer_append_text("policy", POLICY_ALLOW, texts[i], "by ana", NULL),
			-EINVAL);
	ck_assert_int_ne(access("policy", F_OK), 0);
}
END_TEST

START_TEST(what_others_may_have_written_is_refused)
{
	struct err why = { 0 };

	write_file("real", "version 1\n");
	ck_assert_int_eq(symlink("real", "policy"), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", &why), -ELOOP);
	ck_assert_str_eq(why.text, "policy: it is a symbolic link");
	check_file("real", "version 1\n");
	ck_assert_int_eq(unlink("policy"), 0);

	write_file("policy", "version 1\n");
	ck_assert_int_eq(chmod("policy", 0666), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", NULL), -EPERM);
	ck_assert_int_eq(chmod("policy", 0600), 0);
	ck_assert_int_eq(chmod(".", 0777), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", NULL), -EPERM);
	ck_assert_int_eq(chmod(".", 0700), 0);
	check_file("policy", "version 1\n");
	ck_assert_int_eq(unlink("policy"), 0);

	ck_assert_int_eq(mkfifo("policy", 0600), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", NULL), -EINVAL);
	ck_assert_int_eq(append("real/x", POLICY_ALLOW, "a.test", "by ana", NULL), -ENOTDIR);
	ck_assert_int_eq(append("./", POLICY_ALLOW, "a.test", "by ana", NULL), -ENAMETOOLONG);
}
END_TEST

/* A leftover that is a link must not be written through. */
START_TEST(a_leftover_is_replaced)
{
	write_file("victim", "precious\n");
	ck_assert_int_eq(symlink("victim", ".policy.new"), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", NULL), 0);
	check_file("victim", "precious\n");
	check_file("policy", "version 1\nanswer allow https://a.test:443   # by ana\n");
}
END_TEST

static void write_answers(int writer)
{
	for (int i = 0; i < ANSWERS_OF_ONE; i++) {
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "w%d-n%d.test", writer, i);
		if (append("policy", POLICY_ALLOW, destination, "by a writer", NULL) != 0)
			_exit(1);
		/* All of them keep this one too: it must be there once. */
		if (append("policy", POLICY_DENY, "same.test", "by a writer", NULL) != 0)
			_exit(1);
	}
	_exit(0);
}

START_TEST(many_writers_lose_nothing)
{
	pid_t children[WRITERS];

	for (int i = 0; i < WRITERS; i++) {
		children[i] = fork();
		if (children[i] == 0)
			write_answers(i);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load(policy, "policy"), 0);
	ck_assert_uint_eq(policy_rule_count(policy), WRITERS * ANSWERS_OF_ONE + 1);
	policy_free(policy);
}
END_TEST

/* Killed at any moment: the file is whole, holds a prefix of what was answered, and the next writer
 * is not in the way. */
START_TEST(a_killed_writer_leaves_it_whole)
{
	size_t rules_before = 0;

	for (int round = 0; round < 20; round++) {
		struct timespec pause = { .tv_nsec = 500000L * (round + 1) };
		pid_t child = fork();

		if (child == 0) {
			for (int i = 0;; i++) {
				char destination[64];

				(void)snprintf(destination, sizeof(destination), "r%d-n%d.test",
					       round, i);
				(void)append("policy", POLICY_ALLOW, destination,
					     "by one who is killed", NULL);
			}
		}
		(void)nanosleep(&pause, NULL);
		ck_assert_int_eq(kill(child, SIGKILL), 0);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);

		char destination[64];

		(void)snprintf(destination, sizeof(destination), "after-%d.test", round);
		ck_assert_int_eq(append("policy", POLICY_ALLOW, destination, "by the next", NULL),
				 0);
		struct policy *policy = policy_new();

		ck_assert_msg(policy_load(policy, "policy") == 0, "%s", policy_errors(policy));
		ck_assert_uint_gt(policy_rule_count(policy), rules_before);
		rules_before = policy_rule_count(policy);
		policy_free(policy);
	}
}
END_TEST

START_TEST(no_room)
{
	struct rlimit small = { .rlim_cur = 40, .rlim_max = RLIM_INFINITY };
	struct rlimit large = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };
	struct err why = { 0 };

	write_file("policy", "version 1\ndeny b.test\n");
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = append("policy", POLICY_ALLOW, "a.test", "by ana", &why);

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
	ck_assert_int_eq(r, -EFBIG);
	ck_assert_ptr_nonnull(strstr(why.text, "policy: cannot write"));
	check_file("policy", "version 1\ndeny b.test\n");
	ck_assert_int_ne(access(".policy.new", F_OK), 0);
}
END_TEST

START_TEST(somebody_holds_the_lock)
{
	auto_close int fd = open(".", O_RDONLY | O_DIRECTORY);
	struct err why = { 0 };

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(append("policy", POLICY_ALLOW, "a.test", "by ana", &why), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(why.text, "another program holds the lock"));
	ck_assert_int_ne(access("policy", F_OK), 0);
}
END_TEST

/* Comments and the order stay; only the last answer is removed, whatever follows it. */
START_TEST(undo)
{
	char dir[] = "/tmp/answers-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	auto_free char *path = mem_printf("%s/policy", dir), *left = NULL, *line = NULL;
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	static const char text[] = "# top\nanswer deny a.test # by x\n  answer\tallow b.test\n"
				   "# answer allow c.test\nallow d.test";

	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
	ck_assert_int_eq(policy_answer_undo(path, &line, NULL), 0);
	ck_assert_str_eq(line, "  answer\tallow b.test");
	free(take(line));
	ck_assert_int_eq(policy_answer_undo(path, &line, NULL), 0);
	ck_assert_str_eq(line, "answer deny a.test # by x");
	free(take(line));
	ck_assert_int_eq(policy_answer_undo(path, &line, NULL), -ENOENT);
	ck_assert_ptr_null(line);
	auto_close int again = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	ck_assert_int_eq(fd_read_all(again, 4096, &left, NULL, NULL), 0);
	ck_assert_str_eq(left, "# top\n# answer allow c.test\nallow d.test");
	ck_assert_int_eq(fstat(again, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0640);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

TCase *answers_cases(void)
{
	TCase *cases = tcase_create("answers");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, enter_folder, remove_folder);
	tcase_add_test(cases, first_answer);
	tcase_add_test(cases, the_rest_of_the_file_stays);
	tcase_add_test(cases, not_twice);
	tcase_add_test(cases, provenance_stays_a_comment);
	tcase_add_test(cases, not_an_answer);
	tcase_add_test(cases, what_others_may_have_written_is_refused);
	tcase_add_test(cases, a_leftover_is_replaced);
	tcase_add_test(cases, many_writers_lose_nothing);
	tcase_add_test(cases, a_killed_writer_leaves_it_whole);
	tcase_add_test(cases, no_room);
	tcase_add_test(cases, somebody_holds_the_lock);
	tcase_add_test(cases, undo);
	return cases;
}
