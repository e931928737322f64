/* One request: its result, and that late or repeated events do not change it. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tests/unit/exec/orchestrator/rig.h"
#include "tests/unit/exec/words.h"

static struct rig rig;

static void start(enum orchestrator_mode mode)
{
	rig_init(&rig, mode);
	rig_open(&rig);
}

START_TEST(runs_confined_and_is_done)
{
	start(ORCHESTRATOR_ON_REQUEST);
	uint64_t request = rig_exec(&rig, "cargo build");

	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_uint_eq(rig.exec_count, 1);
	ck_assert(rig.execs[0].is_confined && !rig.execs[0].is_retry);
	ck_assert(words_equal(rig.execs[0].sandbox, rig.sandbox));
	ck_assert_str_eq(rig.execs[0].program, "/usr/bin/cargo");
	ck_assert_int_eq(rig_exit(&rig, 0, 3), 0);
	ck_assert_uint_eq(rig.result_count, 1);
	ck_assert_uint_eq(rig.results[0].request, request);
	ck_assert_int_eq(rig.results[0].kind, ORCHESTRATOR_DONE);
	ck_assert_ptr_eq(rig.results[0].outputs[0], &rig_output[0]);
	rig_done(&rig);
}
END_TEST

/* Each end is another result, and none but evidence is a denial. */
static const struct {
	enum exec_end end;
	int status;
	enum orchestrator_result_kind want;
} ends[] = {
	{ EXEC_EXITED, 0, ORCHESTRATOR_DONE },
	{ EXEC_EXITED, 1, ORCHESTRATOR_DONE },
	{ EXEC_EXITED, 126, ORCHESTRATOR_DONE },
	{ EXEC_EXITED, 159, ORCHESTRATOR_DONE },
	{ EXEC_SIGNALLED, SIGSEGV, ORCHESTRATOR_RESULT_SIGNALLED },
	{ EXEC_SIGNALLED, SIGSYS, ORCHESTRATOR_RESULT_SIGNALLED },
	{ EXEC_TIMED_OUT, 0, ORCHESTRATOR_RESULT_TIMED_OUT },
	{ EXEC_INTERRUPTED, 0, ORCHESTRATOR_RESULT_INTERRUPTED },
	{ EXEC_NOT_STARTED, 125, ORCHESTRATOR_RESULT_NOT_STARTED },
	{ EXEC_KILLED, 0, ORCHESTRATOR_RESULT_FAILED },
	{ EXEC_CANCELLED, 0, ORCHESTRATOR_RESULT_FAILED },
};
START_TEST(ends_as)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0,
		&(struct orchestrator_outcome){
			.end = ends[_i].end, .status = ends[_i].status, .output = &rig_output[1] });
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind, ends[_i].want);
	ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[1]);
	rig_done(&rig);
}
END_TEST

/* "Could not start" is never asked about again, whatever may be asked. */
START_TEST(not_started_is_no_denial)
{
	static const enum orchestrator_mode modes[] = { ORCHESTRATOR_NEVER, ORCHESTRATOR_UNTRUSTED,
							ORCHESTRATOR_ON_REQUEST,
							ORCHESTRATOR_ON_FAILURE };

	rig_init(&rig, modes[_i]);
	rig.config.may_unconfine = true;
	rig_rules(&rig, "allow cargo");
	rig_open(&rig);
	rig.start_error = -EPERM;
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_uint_eq(rig.exec_count, 1);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_RESULT_NOT_STARTED);
	ck_assert_str_eq(rig_ended(&rig)->why, "no user namespaces here");
	ck_assert_int_eq(rig_exit(&rig, 0, 0), -ENOENT);
	ck_assert_uint_eq(rig.result_count, 1);
	rig_done(&rig);
}
END_TEST

/* T6, at the first question. */
static const struct {
	enum orchestrator_choice choice;
	int r;
	bool runs;
	enum orchestrator_result_kind kind;
	bool is_abort;
} answers[] = {
	{ ORCHESTRATOR_ONCE, 0, true, 0, false },
	{ ORCHESTRATOR_SESSION, 0, true, 0, false },
	{ ORCHESTRATOR_DENY, 0, false, ORCHESTRATOR_REJECTED_BY_PERSON, false },
	{ ORCHESTRATOR_ABORT, 0, false, ORCHESTRATOR_REJECTED_BY_PERSON, true },
	/* What is not offered is not an answer. */
	{ ORCHESTRATOR_UNCONFINED, -EINVAL, false, 0, false },
	{ ORCHESTRATOR_DENY_ALWAYS, -EINVAL, false, 0, false },
	{ 99, -EINVAL, false, 0, false },
};
START_TEST(first_answer)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 1);
	ck_assert_int_eq(rig_answer(&rig, 0, answers[_i].choice), answers[_i].r);
	ck_assert_uint_eq(rig.exec_count, answers[_i].runs);
	ck_assert_uint_eq(rig.result_count, answers[_i].r == 0 && !answers[_i].runs);
	if (rig.result_count) {
		ck_assert_int_eq(rig.results[0].kind, answers[_i].kind);
		ck_assert(rig.results[0].is_abort == answers[_i].is_abort);
	}
	/* Again: nothing more; or, where it was none, it is open still. */
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), answers[_i].r == 0 ? -ENOENT : 0);
	ck_assert_uint_eq(rig.exec_count, answers[_i].r != 0 || answers[_i].runs);
	rig_done(&rig);
}
END_TEST

START_TEST(always_waits_for_the_policy)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig_exec(&rig, "cargo build");
	ck_assert_str_eq(rig_asked(&rig)->proposal, "command allow cargo build");
	rig_answer(&rig, 0, ORCHESTRATOR_ALWAYS);
	ck_assert_uint_eq(rig.exec_count, 0);
	ck_assert_str_eq(rig.stored[0], "command allow cargo build");
	ck_assert_int_eq(orchestrator_stored(rig.orchestrator, rig.stores[0] + 1, 0), -ENOENT);
	ck_assert_int_eq(orchestrator_stored(rig.orchestrator, rig.stores[0], 0), 0);
	ck_assert_int_eq(orchestrator_stored(rig.orchestrator, rig.stores[0], 0), -ENOENT);
	loop_step(rig.loop);
	ck_assert_uint_eq(rig.exec_count, 1);
	rig_exit(&rig, 0, 0);
	ck_assert_str_eq(rig_ended(&rig)->note, "");
	rig_done(&rig);
}
END_TEST

/* What could not be written counts for once, and that is said. */
START_TEST(always_without_the_policy_is_once)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig_exec(&rig, "cargo build");
	rig.store_error = _i == 0 ? -EROFS : 0;
	rig_answer(&rig, 0, ORCHESTRATOR_ALWAYS);
	if (_i == 1)
		loop_advance(rig.loop, 60000); /* nobody says how it went */
	ck_assert_uint_eq(rig.exec_count, 1);
	rig_exit(&rig, 0, 0);
	ck_assert(strstr(rig_ended(&rig)->note, "once"));
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_done(&rig);
}
END_TEST

START_TEST(question_says_all)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig.request.reason = "because I may";
	rig.request.justification = "needs a build";
	rig.config.question_ms = 0;
	uint64_t request = rig_exec(&rig, "cargo build");
	const struct rig_question *asked = rig_asked(&rig);

	ck_assert_uint_eq(strlen(asked->id), ORCHESTRATOR_ID_MAX - 1);
	ck_assert_uint_eq(asked->client, RIG_CLIENT);
	ck_assert_uint_eq(asked->request_count, 1);
	ck_assert_uint_eq(asked->requests[0], request);
	ck_assert_int_eq(asked->kind, ORCHESTRATOR_EXEC);
	ck_assert(asked->is_confined && !asked->is_retry && !asked->is_one_shot);
	ck_assert(words_equal(asked->sandbox, rig.sandbox));
	ck_assert_str_eq(asked->reason, "because I may");
	ck_assert_str_eq(asked->justification, "needs a build");
	ck_assert_int_eq(asked->deadline_ms, loop_now_ms(rig.loop) + ORCHESTRATOR_QUESTION_MS);
	rig_done(&rig);
}
END_TEST

START_TEST(silence_is_no_answer)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig_exec(&rig, "cargo build");
	loop_advance(rig.loop, ORCHESTRATOR_QUESTION_MS - 1);
	ck_assert_uint_eq(rig.result_count, 0);
	loop_advance(rig.loop, 1);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_NO_ANSWER);
	ck_assert(rig.questions[0].is_retracted);
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), -ENOENT);
	ck_assert_uint_eq(rig.exec_count, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(nobody_to_ask_is_no_answer)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig.ask_error = -ENOTCONN;
	rig_exec(&rig, "cargo build");
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_NO_ANSWER);
	ck_assert_uint_eq(rig.exec_count, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(client_that_goes_denies_what_it_owed)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig_exec(&rig, "cargo build");
	rig.request.client = RIG_CLIENT + 1;
	rig_exec(&rig, "cargo test");
	ck_assert_uint_eq(orchestrator_client_gone(rig.orchestrator, RIG_CLIENT), 1);
	ck_assert_uint_eq(orchestrator_client_gone(rig.orchestrator, RIG_CLIENT), 0);
	loop_step(rig.loop);
	ck_assert_uint_eq(rig.result_count, 1);
	ck_assert_int_eq(rig.results[0].kind, ORCHESTRATOR_REJECTED_NO_ANSWER);
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), -ENOENT);
	ck_assert_int_eq(rig_answer(&rig, 1, ORCHESTRATOR_ONCE), 0);
	ck_assert_uint_eq(rig.exec_count, 1);
	rig_done(&rig);
}
END_TEST

START_TEST(another_client_cannot_answer)
{
	const struct orchestrator_answer answer = { .choice = ORCHESTRATOR_ONCE };
	struct err why = { 0 };

	start(ORCHESTRATOR_UNTRUSTED);
	rig_exec(&rig, "cargo build");
	ck_assert_int_eq(orchestrator_answer(rig.orchestrator, rig.questions[0].id, RIG_CLIENT + 1,
					     &answer, &why),
			 -EPERM);
	ck_assert_int_eq(orchestrator_answer(rig.orchestrator, "", RIG_CLIENT, &answer, &why),
			 -ENOENT);
	/* Nor can what decides before a person. */
	ck_assert_int_eq(rig_decide(&rig, 0, ORCHESTRATOR_DECIDES_ALLOW), -ENOENT);
	loop_step(rig.loop);
	ck_assert_uint_eq(rig.exec_count, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(cancelled_before_it_began)
{
	struct err why = { 0 };
	uint64_t request;

	start(ORCHESTRATOR_ON_REQUEST);
	rig.request.argv = (const char *const[]){ "cargo", NULL };
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &request, &why), 0);
	ck_assert_int_eq(orchestrator_cancel(rig.orchestrator, request), 0);
	loop_step(rig.loop);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_CANCELLED);
	ck_assert_uint_eq(rig.exec_count, 0);
	ck_assert_int_eq(orchestrator_cancel(rig.orchestrator, request), -ENOENT);
	rig_done(&rig);
}
END_TEST

START_TEST(cancelled_while_asked)
{
	start(ORCHESTRATOR_UNTRUSTED);
	uint64_t request = rig_exec(&rig, "cargo build");

	orchestrator_cancel(rig.orchestrator, request);
	/* The answer comes as it is being cancelled. */
	if (_i == 1)
		ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), 0);
	loop_step(rig.loop);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_CANCELLED);
	ck_assert(rig.questions[0].is_retracted || _i == 1);
	ck_assert_uint_eq(rig.exec_count, 0);
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), -ENOENT);
	rig_done(&rig);
}
END_TEST

START_TEST(cancelled_while_it_runs)
{
	start(ORCHESTRATOR_ON_FAILURE);
	uint64_t request = rig_exec(&rig, "cargo build");

	orchestrator_cancel(rig.orchestrator, request);
	orchestrator_cancel(rig.orchestrator, request);
	loop_step(rig.loop);
	ck_assert(rig.execs[0].is_stopped);
	ck_assert_uint_eq(rig.result_count, 0);
	rig_end(&rig, 0,
		&(struct orchestrator_outcome){ .end = EXEC_CANCELLED, .output = &rig_output[0] });
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_CANCELLED);
	ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[0]);
	rig_done(&rig);
}
END_TEST

/* It had ended by then: that is what is told, and nothing is asked for it any more. */
START_TEST(cancelled_as_it_ends)
{
	start(ORCHESTRATOR_ON_FAILURE);
	uint64_t request = rig_exec(&rig, "cargo build");

	orchestrator_cancel(rig.orchestrator, request);
	loop_step(rig.loop);
	rig_refuse(&rig, 0, "write /etc/x");
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DENIED);
	ck_assert_uint_eq(rig.question_count, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(exec_ends_once)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	const struct orchestrator_outcome outcome = { .end = EXEC_EXITED };

	ck_assert_int_eq(rig_end(&rig, 0, &outcome), 0);
	ck_assert_int_eq(rig_end(&rig, 0, &outcome), -ENOENT);
	ck_assert_int_eq(orchestrator_exec_ended(rig.orchestrator, 0, &outcome), -ENOENT);
	ck_assert_uint_eq(rig.result_count, 1);
	rig_done(&rig);
}
END_TEST

/* Everything is told at once, from inside the operation that asked. */
static int answer_inside(const struct orchestrator_question *question, void *arg)
{
	const struct orchestrator_answer answer = { .choice = ORCHESTRATOR_ONCE };
	struct rig *of = arg;
	struct err why = { 0 };

	return orchestrator_answer(of->orchestrator, question->id, question->client, &answer, &why);
}
static int end_inside(const struct orchestrator_exec *exec, struct err *why, void *arg)
{
	struct rig *of = arg;

	return orchestrator_exec_ended(of->orchestrator, exec->number,
				       &(struct orchestrator_outcome){ .end = EXEC_EXITED });
}
START_TEST(operations_may_answer_inside)
{
	rig_init(&rig, ORCHESTRATOR_UNTRUSTED);
	struct orchestrator_ops inside = *rig.config.ops;

	inside.ask = answer_inside;
	inside.start = end_inside;
	rig.config.ops = &inside;
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	rig_done(&rig);
}
END_TEST

START_TEST(free_with_all_open)
{
	start(ORCHESTRATOR_UNTRUSTED);
	rig_rules(&rig, "allow git");
	rig_exec(&rig, "cargo build");
	rig_exec(&rig, "cargo build");
	rig_exec(&rig, "git status");
	rig_permission(&rig, "/etc/x", rig.execs[0].number);
	rig_answer(&rig, 0, ORCHESTRATOR_ALWAYS);
	rig_done(&rig);
	ck_assert_uint_eq(rig.result_count, 0);
}
END_TEST

/* A patch is judged by where it goes; by nothing else, and not at all where that is not known. */
static const struct {
	enum exec_mode sandbox;
	enum orchestrator_place place;
	enum orchestrator_mode mode;
	unsigned int categories;
	size_t questions, allowed;
	bool is_confined;
} patches[] = {
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_INSIDE, ORCHESTRATOR_NEVER, 0, 0, 1, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_INSIDE, ORCHESTRATOR_ON_FAILURE, 0, 0, 1, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_INSIDE, ORCHESTRATOR_ON_REQUEST, 0, 0, 1, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_INSIDE, ORCHESTRATOR_UNTRUSTED, 0, 1, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_INSIDE, ORCHESTRATOR_GRANULAR,
	  ORCHESTRATOR_MAY_ASK_RULES, 0, 1, true },
	{ EXEC_MODE_FULL_ACCESS, ORCHESTRATOR_INSIDE, ORCHESTRATOR_ON_REQUEST, 0, 0, 1, false },
	{ EXEC_MODE_FULL_ACCESS, ORCHESTRATOR_INSIDE, ORCHESTRATOR_UNTRUSTED, 0, 1, 0, false },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_ON_FAILURE, 0, 1, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_ON_REQUEST, 0, 1, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_UNTRUSTED, 0, 1, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_NEVER, 0, 0, 0, true },
	{ EXEC_MODE_EXTERNAL, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_NEVER, 0, 0, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_GRANULAR,
	  ORCHESTRATOR_MAY_ASK_RULES, 0, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_OUTSIDE, ORCHESTRATOR_GRANULAR,
	  ORCHESTRATOR_MAY_ASK_SANDBOX, 1, 0, true },
	{ EXEC_MODE_FULL_ACCESS, ORCHESTRATOR_NO_PLACE, ORCHESTRATOR_NEVER, 0, 0, 0, true },
	{ EXEC_MODE_FULL_ACCESS, ORCHESTRATOR_NO_PLACE, ORCHESTRATOR_ON_FAILURE, 0, 0, 0, true },
	{ EXEC_MODE_FULL_ACCESS, ORCHESTRATOR_NO_PLACE, ORCHESTRATOR_ON_REQUEST, 0, 0, 0, true },
	{ EXEC_MODE_FULL_ACCESS, ORCHESTRATOR_NO_PLACE, ORCHESTRATOR_UNTRUSTED, 0, 0, 0, true },
	{ EXEC_MODE_READ_ONLY, ORCHESTRATOR_NO_PLACE, ORCHESTRATOR_GRANULAR,
	  ORCHESTRATOR_MAY_ASK_ALL, 0, 0, true },
};
START_TEST(patch)
{
	rig_init(&rig, patches[_i].mode);
	rig.config.categories = patches[_i].categories;
	rig_open(&rig);
	struct exec_sandbox *sandbox =
		rig_sandbox(patches[_i].sandbox, EXEC_NETWORK_RESTRICTED, NULL);
	const char *const files[] = { "/work/a", "/work/b" };

	rig.request.kind = ORCHESTRATOR_PATCH;
	rig.request.place = patches[_i].place;
	rig.request.sandbox = sandbox;
	rig.request.keys = files;
	rig.request.key_count = 2;
	rig_start(&rig);
	exec_sandbox_free(sandbox);
	ck_assert_uint_eq(rig.question_count, patches[_i].questions);
	ck_assert_uint_eq(rig.exec_count, 0); /* the client applies it */
	if (!rig.question_count)
		ck_assert_int_eq(rig_ended(&rig)->kind, patches[_i].allowed
								? ORCHESTRATOR_DONE
								: ORCHESTRATOR_REJECTED_BY_RULE);
	if (patches[_i].allowed)
		ck_assert(rig_decided(&rig)->is_confined == patches[_i].is_confined);
	rig_done(&rig);
}
END_TEST

/* Who wants it asked each time: it is, where anybody may be asked. */
static const struct {
	enum orchestrator_kind kind;
	enum orchestrator_mode mode;
	size_t questions;
} one_shots[] = {
	{ ORCHESTRATOR_PATCH, ORCHESTRATOR_ON_FAILURE, 1 },
	{ ORCHESTRATOR_PATCH, ORCHESTRATOR_NEVER, 0 },
	{ ORCHESTRATOR_EXEC, ORCHESTRATOR_ON_REQUEST, 1 },
	{ ORCHESTRATOR_EXEC, ORCHESTRATOR_NEVER, 0 },
};
START_TEST(one_shot)
{
	start(one_shots[_i].mode);
	rig.request.kind = one_shots[_i].kind;
	rig.request.place = ORCHESTRATOR_INSIDE;
	rig.request.argv = (const char *const[]){ "cargo", NULL };
	rig.request.is_one_shot = true;
	rig_start(&rig);
	ck_assert_uint_eq(rig.question_count, one_shots[_i].questions);
	ck_assert_uint_eq(rig.exec_count, 0);
	if (rig.question_count)
		ck_assert(rig.questions[0].is_one_shot);
	else
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_RULE);
	rig_done(&rig);
}
END_TEST

/* What only asks. */
static const struct {
	enum orchestrator_kind kind;
	enum orchestrator_mode mode;
	unsigned int categories;
	bool is_asked;
} questions[] = {
	{ ORCHESTRATOR_PERMISSIONS, ORCHESTRATOR_ON_REQUEST, 0, true },
	{ ORCHESTRATOR_PERMISSIONS, ORCHESTRATOR_NEVER, 0, false },
	{ ORCHESTRATOR_PERMISSIONS, ORCHESTRATOR_GRANULAR, ORCHESTRATOR_MAY_ASK_PERMISSIONS, true },
	{ ORCHESTRATOR_PERMISSIONS, ORCHESTRATOR_GRANULAR,
	  ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_PERMISSIONS, false },
	{ ORCHESTRATOR_ELICITATION, ORCHESTRATOR_ON_FAILURE, 0, true },
	{ ORCHESTRATOR_ELICITATION, ORCHESTRATOR_NEVER, 0, false },
	{ ORCHESTRATOR_ELICITATION, ORCHESTRATOR_GRANULAR, ORCHESTRATOR_MAY_ASK_ELICITATION, true },
	{ ORCHESTRATOR_ELICITATION, ORCHESTRATOR_GRANULAR,
	  ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_ELICITATION, false },
};
START_TEST(only_a_question)
{
	const struct orchestrator_access access = { .what = ORCHESTRATOR_WRITE_PATH, .name = "/x" };

	rig_init(&rig, questions[_i].mode);
	rig.config.categories = questions[_i].categories;
	rig_open(&rig);
	rig.request.kind = questions[_i].kind;
	if (questions[_i].kind == ORCHESTRATOR_PERMISSIONS) {
		rig.request.accesses = &access;
		rig.request.access_count = 1;
	}
	rig_start(&rig);
	ck_assert_uint_eq(rig.question_count, questions[_i].is_asked);
	if (questions[_i].is_asked)
		rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert_int_eq(rig_ended(&rig)->kind, questions[_i].is_asked
							? ORCHESTRATOR_DONE
							: ORCHESTRATOR_REJECTED_BY_RULE);
	ck_assert_uint_eq(rig.exec_count, 0);
	rig_done(&rig);
}
END_TEST

/* Permissions that an entry denies are nobody's to grant. */
START_TEST(denied_paths_are_not_granted)
{
	const struct orchestrator_access access = { .what = ORCHESTRATOR_READ_PATH,
						    .name = "/work/key" };

	start(ORCHESTRATOR_ON_REQUEST);
	struct exec_sandbox *sandbox =
		rig_sandbox(EXEC_MODE_WORKSPACE_WRITE, EXEC_NETWORK_RESTRICTED, "/work/key");

	rig.request.sandbox = sandbox;
	rig.request.accesses = &access;
	rig.request.access_count = 1;
	rig.request.kind = _i == 0 ? ORCHESTRATOR_PERMISSIONS : ORCHESTRATOR_EXEC;
	rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
	rig.request.argv = (const char *const[]){ "cargo", NULL };
	rig_start(&rig);
	exec_sandbox_free(sandbox);
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_RULE);
	ck_assert(strstr(rig_ended(&rig)->why, "/work/key"));
	rig_done(&rig);
}
END_TEST

TCase *machine_cases(void)
{
	TCase *cases = tcase_create("machine");

	tcase_add_test(cases, runs_confined_and_is_done);
	tcase_add_loop_test(cases, ends_as, 0, ARRAY_SIZE(ends));
	tcase_add_loop_test(cases, not_started_is_no_denial, 0, 4);
	tcase_add_loop_test(cases, first_answer, 0, ARRAY_SIZE(answers));
	tcase_add_test(cases, always_waits_for_the_policy);
	tcase_add_loop_test(cases, always_without_the_policy_is_once, 0, 2);
	tcase_add_test(cases, question_says_all);
	tcase_add_test(cases, silence_is_no_answer);
	tcase_add_test(cases, nobody_to_ask_is_no_answer);
	tcase_add_test(cases, client_that_goes_denies_what_it_owed);
	tcase_add_test(cases, another_client_cannot_answer);
	tcase_add_test(cases, cancelled_before_it_began);
	tcase_add_loop_test(cases, cancelled_while_asked, 0, 2);
	tcase_add_test(cases, cancelled_while_it_runs);
	tcase_add_test(cases, cancelled_as_it_ends);
	tcase_add_test(cases, exec_ends_once);
	tcase_add_test(cases, operations_may_answer_inside);
	tcase_add_test(cases, free_with_all_open);
	tcase_add_loop_test(cases, patch, 0, ARRAY_SIZE(patches));
	tcase_add_loop_test(cases, one_shot, 0, ARRAY_SIZE(one_shots));
	tcase_add_loop_test(cases, only_a_question, 0, ARRAY_SIZE(questions));
	tcase_add_loop_test(cases, denied_paths_are_not_granted, 0, 2);
	return cases;
}
