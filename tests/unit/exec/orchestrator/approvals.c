/* Remembered answers, their session and their time; and requests that share a question. */
#include "exec/orchestrator/questions/approvals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/exec/orchestrator/rig.h"

static struct rig rig;

static void start(void)
{
	rig_init(&rig, ORCHESTRATOR_UNTRUSTED);
	rig_open(&rig);
}

static void run_once(enum orchestrator_choice choice)
{
	rig_answer(&rig, rig.question_count - 1, choice);
	rig_exit(&rig, rig.exec_count - 1, 0);
}

/* After "for the session" to the first: is the second asked? */
static const struct {
	const char *first, *second;
	bool is_asked;
} same[] = {
	{ "cargo build", "cargo build", false },
	{ "cargo build", "cargo build -v", true },
	{ "cargo build", "/usr/bin/cargo build", true },
	/* One plain command in a shell is that command. */
	{ "cargo build", "sh -c 'cargo build'", false },
	{ "/bin/bash -c 'cargo build'", "bash -c 'cargo   build'", false },
	/* A login shell's files may say what cargo is. */
	{ "cargo build", "sh -lc 'cargo build'", true },
	{ "bash -lc 'cargo build'", "bash -c 'cargo build'", true },
	{ "cargo build", "sh -c 'cargo build; cargo test'", true },
	{ "sh -c 'cargo build; cargo test'", "sh -c 'cargo build; cargo test'", false },
	{ "sh -c 'cargo build; cargo test'", "sh -c 'cargo build;  cargo test'", true },
	{ "cargo build", "sh -c 'A=b cargo build'", true },
	{ "cargo build", "sh -c 'cargo build > x'", true },
	{ "cargo x", "sh -c 'cargo *'", true },
	{ "sh -c 'cargo *'", "sh -c 'cargo *'", false },
	{ "cargo build", "env cargo build", true },
	{ "cargo build", "/tmp/sh -c 'cargo build'", true },
	{ "cargo ab", "cargo a b", true },
};
START_TEST(same_command)
{
	start();
	rig_exec(&rig, same[_i].first);
	run_once(ORCHESTRATOR_SESSION);
	rig_exec(&rig, same[_i].second);
	ck_assert_uint_eq(rig.question_count, 1 + same[_i].is_asked);
	rig_done(&rig);
}
END_TEST

/* Everything that it runs in is part of what was approved. */
START_TEST(same_circumstances)
{
	static const char *const env[] = { "RUSTC=x", NULL };
	const struct orchestrator_access access = { .what = ORCHESTRATOR_WRITE_PATH,
						    .name = "/etc/x" };
	struct exec_sandbox *other =
		rig_sandbox(EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, NULL);

	start();
	rig_exec(&rig, "cargo build");
	run_once(ORCHESTRATOR_SESSION);
	switch (_i) {
	case 0:
		rig.request.cwd = "/work/x";
		break;
	case 1:
		rig.request.has_tty = true;
		break;
	case 2:
		rig.request.sandbox = other;
		break;
	case 3:
		rig.request.confinement = ORCHESTRATOR_ESCALATED;
		break;
	case 4:
		rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
		rig.request.accesses = &access;
		rig.request.access_count = 1;
		break;
	case 5:
		rig.request.env = env;
		break;
	default: /* Nothing but that: not asked. */
		rig.request.client = RIG_CLIENT + 1;
		rig.request.justification = "another";
		break;
	}
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, _i < 6 ? 2 : 1);
	exec_sandbox_free(other);
	rig_done(&rig);
}
END_TEST

/* An unconfined run that was approved for the session is another key than any sandbox that is
 * open of itself. */
START_TEST(unconfined_is_its_own_key)
{
	struct exec_sandbox *open = rig_sandbox(EXEC_MODE_FULL_ACCESS, EXEC_NETWORK_ENABLED, NULL);

	start();
	rig.request.sandbox = open;
	rig_exec(&rig, "cargo build");
	ck_assert(!rig_asked(&rig)->is_confined);
	run_once(ORCHESTRATOR_SESSION);
	rig.request.sandbox = rig.sandbox;
	rig.request.confinement = ORCHESTRATOR_ESCALATED;
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	run_once(ORCHESTRATOR_SESSION);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	ck_assert(!rig_started(&rig)->is_confined);
	exec_sandbox_free(open);
	rig_done(&rig);
}
END_TEST

/* A file that took the place of the one approved. */
static int resolve_moved(const char *name, struct command_file *ret, void *arg)
{
	int r = world.resolve(name, ret, NULL);

	ret->inode += *(uint64_t *)arg;
	return r;
}
START_TEST(another_file_of_the_name)
{
	uint64_t moved = 0;
	const struct command_world turning = { .resolve = resolve_moved, .arg = &moved };

	start();
	rig.request.world = &turning;
	rig_exec(&rig, _i == 0 ? "cargo build" : "sh -c 'cargo build'");
	run_once(ORCHESTRATOR_SESSION);
	moved = 1;
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_done(&rig);
}
END_TEST

/* Many keys: each is kept by itself, and all of them are needed. */
static const struct {
	const char *files[4];
	bool is_asked;
} patches[] = {
	{ { "/work/a" }, false },
	{ { "/work/b", "/work/a" }, false },
	{ { "/work/a", "/work/b" }, false },
	{ { "/work/a", "/work/c" }, true },
	{ { "/work/c" }, true },
	{ { "/work/a", "/work/b", "/work/c" }, true },
	{ { NULL }, true }, /* no keys: nothing was remembered of it */
};
static void set_files(const char *const *files)
{
	rig.request.kind = ORCHESTRATOR_PATCH;
	rig.request.place = ORCHESTRATOR_OUTSIDE;
	rig.request.keys = files;
	for (rig.request.key_count = 0; files[rig.request.key_count];)
		rig.request.key_count++;
}
START_TEST(all_keys)
{
	static const char *const first[] = { "/work/a", "/work/b", NULL };

	start();
	set_files(first);
	rig_start(&rig);
	rig_answer(&rig, 0, ORCHESTRATOR_SESSION);
	set_files(patches[_i].files);
	rig_start(&rig);
	ck_assert_uint_eq(rig.question_count, 1 + patches[_i].is_asked);
	if (patches[_i].is_asked && patches[_i].files[0] == NULL)
		ck_assert(!(rig_asked(&rig)->choices & BIT(ORCHESTRATOR_SESSION)));
	rig_done(&rig);
}
END_TEST

/* "Once" is not remembered; nor is a one-shot, which also looks at nothing. */
START_TEST(once_is_once)
{
	start();
	rig_exec(&rig, "cargo build");
	run_once(ORCHESTRATOR_ONCE);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	run_once(ORCHESTRATOR_SESSION);
	rig.request.is_one_shot = true;
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 3);
	ck_assert_int_eq(rig_answer(&rig, 2, ORCHESTRATOR_SESSION), -EINVAL);
	rig_done(&rig);
}
END_TEST

static size_t listed;
static char last_id[ORCHESTRATOR_ID_MAX], last_text[RIG_TEXT];
static void list(const struct orchestrator_approval *approval, void *arg)
{
	(void)arg;
	listed++;
	ck_assert_uint_eq(approval->client, RIG_CLIENT);
	(void)snprintf(last_id, sizeof(last_id), "%s", approval->id);
	(void)snprintf(last_text, sizeof(last_text), "%s", approval->text);
}
static size_t count_listed(void)
{
	listed = 0;
	orchestrator_approvals(rig.orchestrator, list, NULL);
	return listed;
}

START_TEST(list_and_revoke)
{
	start();
	rig_exec(&rig, "cargo 'b c'");
	ck_assert_uint_eq(count_listed(), 0);
	run_once(ORCHESTRATOR_SESSION);
	ck_assert_uint_eq(count_listed(), 1);
	ck_assert_str_eq(last_text, "cargo 'b c'");
	ck_assert_int_eq(orchestrator_revoke(rig.orchestrator, "x"), -ENOENT);
	ck_assert_int_eq(orchestrator_revoke(rig.orchestrator, last_id), 0);
	ck_assert_int_eq(orchestrator_revoke(rig.orchestrator, last_id), -ENOENT);
	ck_assert_uint_eq(count_listed(), 0);
	rig_exec(&rig, "cargo 'b c'");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_done(&rig);
}
END_TEST

START_TEST(expiry)
{
	const struct orchestrator_answer answer = { .choice = ORCHESTRATOR_SESSION,
						    .expires_ms = 1000 };
	const struct orchestrator_answer backwards = { .choice = ORCHESTRATOR_SESSION,
						       .expires_ms = -1 };
	struct err why = { 0 };

	start();
	rig_exec(&rig, "cargo build");
	ck_assert_int_eq(orchestrator_answer(rig.orchestrator, rig.questions[0].id, RIG_CLIENT,
					     &backwards, &why),
			 -EINVAL);
	orchestrator_answer(rig.orchestrator, rig.questions[0].id, RIG_CLIENT, &answer, &why);
	loop_step(rig.loop);
	rig_exit(&rig, 0, 0);
	loop_advance(rig.loop, 999);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 1);
	rig_exit(&rig, 1, 0);
	ck_assert_uint_eq(count_listed(), 1);
	loop_advance(rig.loop, 1);
	ck_assert_uint_eq(count_listed(), 0);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_done(&rig);
}
END_TEST

/* Too many: one more is not remembered; what ended makes room. */
START_TEST(no_more_than_fit)
{
	struct approvals approvals;
	struct approvals_new add = { .client = 1 };
	struct key key = { .text = (char[]){ "x" } };

	approvals_init(&approvals);
	for (size_t i = 0; i <= ORCHESTRATOR_APPROVALS_MAX; i++) {
		(void)snprintf(key.digest, sizeof(key.digest), "%zu", i);
		add.key = &key;
		add.ends_ms = i == 0 ? 10 : 0;
		ck_assert(approvals_add(&approvals, &add, 5) == (i < ORCHESTRATOR_APPROVALS_MAX));
	}
	ck_assert_int_eq(approvals_look(&approvals, &key, 5), APPROVALS_NOTHING);
	ck_assert(approvals_add(&approvals, &add, 10));
	ck_assert_int_eq(approvals_look(&approvals, &key, 10), APPROVALS_ALLOWED);
	/* The last word of a key is the only one. */
	add.is_denial = true;
	ck_assert(approvals_add(&approvals, &add, 10));
	ck_assert_int_eq(approvals_look(&approvals, &key, 10), APPROVALS_DENIED);
	ck_assert_uint_eq(approvals.count, ORCHESTRATOR_APPROVALS_MAX);
	approvals_done(&approvals);
}
END_TEST

START_TEST(same_question_is_one)
{
	start();
	uint64_t first = rig_exec(&rig, "cargo build");
	uint64_t second = rig_exec(&rig, "sh -c 'cargo build'");

	ck_assert_uint_eq(rig.question_count, 1);
	ck_assert_uint_eq(rig.questions[0].changes, 1);
	ck_assert_uint_eq(rig.questions[0].request_count, 2);
	ck_assert_uint_eq(rig.questions[0].requests[0], first);
	ck_assert_uint_eq(rig.questions[0].requests[1], second);
	if (_i == 0) {
		rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
		ck_assert_uint_eq(rig.exec_count, 2);
	} else if (_i == 1) {
		rig_answer(&rig, 0, ORCHESTRATOR_DENY);
		ck_assert_uint_eq(rig.result_count, 2);
	} else {
		/* One leaves, the other waits on. */
		orchestrator_cancel(rig.orchestrator, first);
		loop_step(rig.loop);
		ck_assert_uint_eq(rig.questions[0].request_count, 1);
		ck_assert(!rig.questions[0].is_retracted);
		rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
		ck_assert_uint_eq(rig.exec_count, 1);
		ck_assert_uint_eq(rig.execs[0].request, second);
	}
	rig_done(&rig);
}
END_TEST

/* Another client's, another sandbox's, a one-shot: each its own. */
START_TEST(other_questions_are_others)
{
	struct exec_sandbox *other =
		rig_sandbox(EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, NULL);

	start();
	rig_exec(&rig, "cargo build");
	if (_i == 0) {
		rig.request.client = RIG_CLIENT + 1;
	} else if (_i == 1) {
		rig.request.sandbox = other;
	} else {
		rig.request.is_one_shot = true;
	}
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_answer(&rig, 0, ORCHESTRATOR_SESSION);
	ck_assert_uint_eq(rig.exec_count, 1);
	exec_sandbox_free(other);
	rig_done(&rig);
}
END_TEST

/* Two that run at once, and are refused the same: each is asked. */
START_TEST(retries_share_nothing)
{
	rig_init(&rig, ORCHESTRATOR_ON_FAILURE);
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "net a.test");
	rig_refuse(&rig, 1, "net a.test");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert_uint_eq(rig.exec_count, 3);
	ck_assert_uint_eq(rig.execs[2].request, rig.execs[0].request);
	rig_done(&rig);
}
END_TEST

/* Hundreds at once. */
START_TEST(ids_are_never_the_same)
{
	char line[32];

	start();
	for (size_t i = 0; i + 1 < RIG_MAX; i++) {
		(void)snprintf(line, sizeof(line), "cargo %zu", i);
		rig_exec(&rig, line);
	}
	for (size_t i = 0; i < rig.question_count; i++) {
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(rig.questions[i].id, rig.questions[j].id);
	}
	ck_assert_uint_eq(rig.question_count, RIG_MAX - 1);
	rig_done(&rig);
}
END_TEST

TCase *approvals_cases(void)
{
	TCase *cases = tcase_create("approvals");

	tcase_add_loop_test(cases, same_command, 0, ARRAY_SIZE(same));
	tcase_add_loop_test(cases, same_circumstances, 0, 7);
	tcase_add_test(cases, unconfined_is_its_own_key);
	tcase_add_loop_test(cases, another_file_of_the_name, 0, 2);
	tcase_add_loop_test(cases, all_keys, 0, ARRAY_SIZE(patches));
	tcase_add_test(cases, once_is_once);
	tcase_add_test(cases, list_and_revoke);
	tcase_add_test(cases, expiry);
	tcase_add_test(cases, no_more_than_fit);
	tcase_add_loop_test(cases, same_question_is_one, 0, 3);
	tcase_add_loop_test(cases, other_questions_are_others, 0, 3);
	tcase_add_test(cases, retries_share_nothing);
	tcase_add_test(cases, ids_are_never_the_same);
	return cases;
}
