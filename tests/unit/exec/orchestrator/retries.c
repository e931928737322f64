/* After a denial: the offered permissions, their effect, and that there is a question every time.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/exec/orchestrator/rig.h"
#include "tests/unit/exec/words.h"

static struct rig rig;

static void start(enum orchestrator_mode mode, bool may_unconfine)
{
	rig_init(&rig, mode);
	rig.config.may_unconfine = may_unconfine;
	rig_rules(&rig, "allow cargo");
	rig_open(&rig);
}

/* Exactly what was refused, and can be opened, is offered. */
static const struct {
	enum orchestrator_mode mode;
	const char *refused, *offered;
	bool is_unconfined_offered;
} offers[] = {
	{ ORCHESTRATOR_ON_FAILURE, "write /etc/x", "write /etc/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "write /etc/x|write /etc/x", "write /etc/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "socket /run/x", "socket /run/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "net a.test", "https://a.test:443", true },
	{ ORCHESTRATOR_ON_FAILURE, "program /opt/x", "program /opt/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "write /etc/x|net a.test|call ptrace",
	  "write /etc/x|https://a.test:443", true },
	{ ORCHESTRATOR_ON_FAILURE, "call ptrace", "", true },
	/* It has that already: something else refused it. */
	{ ORCHESTRATOR_ON_FAILURE, "write /work/x|write /etc/x", "write /etc/x", true },
	/* No answer opens it. */
	{ ORCHESTRATOR_ON_FAILURE, "final net a.test|write /etc/x", "write /etc/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "write relative|write /etc/x", "write /etc/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "net A b|net a.test", "https://a.test:443", true },
	{ ORCHESTRATOR_ON_FAILURE, "write /etc/../x|net a.test", "https://a.test:443", true },
	{ ORCHESTRATOR_UNTRUSTED, "write /etc/x", "write /etc/x", true },
	{ ORCHESTRATOR_ON_REQUEST, "net a.test", "https://a.test:443", false },
	{ ORCHESTRATOR_ON_REQUEST, "net a.test|write /etc/x", "https://a.test:443", false },
};
START_TEST(offers_what_was_refused)
{
	start(offers[_i].mode, true);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, offers[_i].refused);
	ck_assert_uint_eq(rig.question_count, 1);
	const struct rig_question *asked = rig_asked(&rig);

	ck_assert(asked->is_retry && asked->is_one_shot && asked->is_confined);
	ck_assert_str_eq(asked->accesses, offers[_i].offered);
	ck_assert(!(asked->choices & BIT(ORCHESTRATOR_UNCONFINED)) !=
		  offers[_i].is_unconfined_offered);
	ck_assert(!(asked->choices & BIT(ORCHESTRATOR_ONCE)) == (offers[_i].offered[0] == '\0'));
	ck_assert_uint_eq(rig.exec_count, 1);
	rig_done(&rig);
}
END_TEST

/* Nothing to offer: the result stands, with its output. */
static const struct {
	enum orchestrator_mode mode;
	const char *refused;
	bool may_retry;
} closed[] = {
	{ ORCHESTRATOR_NEVER, "write /etc/x", true },
	{ ORCHESTRATOR_NEVER, "net a.test", true },
	{ ORCHESTRATOR_ON_REQUEST, "write /etc/x", true },
	{ ORCHESTRATOR_ON_REQUEST, "final net a.test", true },
	{ ORCHESTRATOR_ON_FAILURE, "final net a.test", true },
	{ ORCHESTRATOR_ON_FAILURE, "write /etc/x|net a.test", false },
	{ ORCHESTRATOR_ON_FAILURE, "call ptrace", true },
	{ ORCHESTRATOR_ON_FAILURE, "write /work/x", true },
};
START_TEST(offers_nothing)
{
	start(closed[_i].mode, false);
	rig.request.may_retry = closed[_i].may_retry;
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, closed[_i].refused);
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DENIED);
	ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[0]);
	ck_assert_uint_gt(rig_ended(&rig)->refusals[0], 0);
	ck_assert(strncmp(rig_ended(&rig)->why, "refused: ", 9) == 0);
	rig_done(&rig);
}
END_TEST

/* T6, at the retry; and what the second exec then is. */
static const struct {
	enum orchestrator_choice choice;
	bool runs, is_confined, is_for_session, is_abort;
} answers[] = {
	{ ORCHESTRATOR_ONCE, true, true, false, false },
	{ ORCHESTRATOR_UNCONFINED, true, false, false, false },
	{ ORCHESTRATOR_DENY, false, true, false, false },
	{ ORCHESTRATOR_ABORT, false, true, false, true },
};
START_TEST(retry_answer)
{
	struct err why;

	start(ORCHESTRATOR_ON_FAILURE, true);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "write /etc/x");
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_DENY_ALWAYS), -EINVAL);
	ck_assert_int_eq(rig_answer(&rig, 0, answers[_i].choice), 0);
	ck_assert_uint_eq(rig.exec_count, 1 + answers[_i].runs);
	if (!answers[_i].runs) {
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_PERSON);
		ck_assert(rig_ended(&rig)->is_abort == answers[_i].is_abort);
		ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[0]);
		rig_done(&rig);
		return;
	}
	const struct rig_started *exec = rig_started(&rig);
	struct exec_sandbox *want =
		answers[_i].is_confined
			? exec_sandbox_widen(rig.sandbox, "/etc/x", EXEC_WRITE, &why)
			: exec_sandbox_unconfined(rig.sandbox, &why);

	ck_assert(exec->is_retry && exec->is_confined == answers[_i].is_confined);
	ck_assert_uint_ne(exec->number, rig.execs[0].number);
	ck_assert(words_equal(exec->sandbox, want));
	ck_assert(answers[_i].is_confined == words_equal(rig.questions[0].sandbox, want));
	exec_sandbox_free(want);
	/* No third one. */
	rig_refuse(&rig, 1, "write /etc/y");
	ck_assert_uint_eq(rig.question_count, 1);
	ck_assert_uint_eq(rig_ended(&rig)->exec_count, 2);
	ck_assert_int_eq(rig_ended(&rig)->kind,
			 answers[_i].is_confined ? ORCHESTRATOR_DENIED : ORCHESTRATOR_DONE);
	rig_done(&rig);
}
END_TEST

/* A destination's retry: T6 for the session and always, and the policy's lines. */
static const struct {
	enum orchestrator_choice choice;
	const char *stored;
	bool runs, is_for_session;
	size_t remembered;
	bool is_denied_later; /* the same host again: not asked */
} hosts[] = {
	{ ORCHESTRATOR_ONCE, "", true, false, 0, false },
	{ ORCHESTRATOR_SESSION, "", true, true, 1, false },
	{ ORCHESTRATOR_ALWAYS, "allow https://a.test:443", true, true, 1, false },
	{ ORCHESTRATOR_DENY_ALWAYS, "deny https://a.test:443", false, false, 1, true },
	{ ORCHESTRATOR_DENY, "", false, false, 0, false },
};
static void count(const struct orchestrator_approval *approval, void *arg)
{
	size_t *remembered = arg;

	/* The gateway remembers destinations of a retry. */
	if (approval->access)
		ck_assert_int_ne(approval->access->what, ORCHESTRATOR_DESTINATION);
	else
		ck_assert_str_eq(approval->text, "https://a.test:443");
	(*remembered)++;
}
static size_t count_remembered(void)
{
	size_t remembered = 0;

	orchestrator_approvals(rig.orchestrator, count, &remembered);
	return remembered;
}
START_TEST(retry_for_a_host)
{
	start(ORCHESTRATOR_ON_REQUEST, false);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "net a.test");
	ck_assert_int_eq(rig_asked(&rig)->kind, ORCHESTRATOR_NETWORK);
	ck_assert_str_eq(rig_asked(&rig)->proposal, "allow https://a.test:443");
	rig_answer(&rig, 0, hosts[_i].choice);
	ck_assert_str_eq(rig.stored[0], hosts[_i].stored);
	if (rig.store_count) {
		orchestrator_stored(rig.orchestrator, rig.stores[0], 0);
		loop_step(rig.loop);
	}
	ck_assert_uint_eq(rig.exec_count, 1 + hosts[_i].runs);
	if (hosts[_i].runs) {
		ck_assert_str_eq(rig.execs[1].accesses, "https://a.test:443");
		ck_assert(rig.execs[1].is_confined);
		ck_assert(rig.execs[1].is_for_session == hosts[_i].is_for_session);
		ck_assert(words_equal(rig.execs[1].sandbox, rig.sandbox));
		rig_exit(&rig, 1, 0);
	}
	ck_assert_uint_eq(count_remembered(), hosts[_i].remembered);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, rig.exec_count - 1, "net a.test");
	ck_assert_uint_eq(rig.question_count, 1 + !hosts[_i].is_denied_later);
	ck_assert_uint_eq(rig.result_count, 1 + hosts[_i].is_denied_later);
	if (hosts[_i].is_denied_later)
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DENIED);
	rig_done(&rig);
}
END_TEST

/* One of two hosts is stored: this run gets both, only the line is remembered, and a line that was
 * not shown does not count. */
START_TEST(one_host_of_two_for_good)
{
	struct err why = { 0 };
	struct orchestrator_answer answer = { .choice = ORCHESTRATOR_ALWAYS, .proposal = 3 };

	start(ORCHESTRATOR_ON_REQUEST, false);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "net a.test|net b.test");
	ck_assert_str_eq(rig_asked(&rig)->proposal,
			 "allow https://a.test:443|allow https://b.test:443");
	const struct rig_question *asked = rig_asked(&rig);

	ck_assert_int_eq(
		orchestrator_answer(rig.orchestrator, asked->id, asked->client, &answer, &why),
		-EINVAL);
	answer.proposal = 2;
	answer.choice = ORCHESTRATOR_SESSION;
	ck_assert_int_eq(
		orchestrator_answer(rig.orchestrator, asked->id, asked->client, &answer, &why),
		-EINVAL);
	answer.choice = ORCHESTRATOR_ALWAYS;
	ck_assert_int_eq(
		orchestrator_answer(rig.orchestrator, asked->id, asked->client, &answer, &why), 0);
	loop_step(rig.loop);
	ck_assert_str_eq(rig.stored[0], "allow https://b.test:443");
	orchestrator_stored(rig.orchestrator, rig.stores[0], 0);
	loop_step(rig.loop);
	ck_assert_str_eq(rig.execs[1].accesses, "https://a.test:443|https://b.test:443");
	ck_assert(!rig.execs[1].is_for_session);
	rig_exit(&rig, 1, 0);
	ck_assert_uint_eq(count_remembered(), 0);
	rig_done(&rig);
}
END_TEST

/* A remembered answer is a grant of exactly what was widened, for every later exec. */
START_TEST(retry_is_remembered)
{
	struct err why = { 0 };

	start(ORCHESTRATOR_ON_FAILURE, true);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "write /etc/x|socket /run/y");
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_SESSION), 0);
	ck_assert_uint_eq(count_remembered(), 2);
	struct exec_sandbox *wider = orchestrator_widen(rig.orchestrator, rig.sandbox);

	ck_assert(words_equal(wider, rig.execs[1].sandbox));
	ck_assert_int_eq(exec_sandbox_access(wider, "/etc/x/a"), EXEC_WRITE);
	ck_assert_int_eq(exec_sandbox_access(wider, "/etc/z"), EXEC_READ);
	exec_sandbox_free(wider);
	/* What a session denies stays denied. */
	const struct exec_entry entry = { "/etc", EXEC_DENY };
	const struct exec_sandbox_config denies = { .mode = EXEC_MODE_WORKSPACE_WRITE,
						    .cwd = "/work",
						    .entries = &entry,
						    .entry_count = 1 };
	struct exec_sandbox *other = exec_sandbox_new(&denies, &why);

	wider = orchestrator_widen(rig.orchestrator, other);
	ck_assert_int_eq(exec_sandbox_access(wider, "/etc/x"), EXEC_DENY);
	exec_sandbox_free(wider);
	exec_sandbox_free(other);
	rig_exit(&rig, 1, 0);
	rig_done(&rig);
}
END_TEST

/* T5: the first answer was for a run in the sandbox; what is wider is asked, each time. */
START_TEST(first_approval_never_covers_the_retry)
{
	static const enum orchestrator_choice first[] = { ORCHESTRATOR_ONCE, ORCHESTRATOR_SESSION };

	rig_init(&rig, ORCHESTRATOR_UNTRUSTED);
	rig.config.may_unconfine = true;
	rig_open(&rig);
	for (size_t i = 0; i < 2; i++) {
		rig_exec(&rig, "cargo build");
		if (i == 0 || _i == 0)
			rig_answer(&rig, rig.question_count - 1, first[_i]);
		size_t before = rig.question_count;

		rig_refuse(&rig, rig.exec_count - 1, "write /etc/x");
		ck_assert_uint_eq(rig.question_count, before + 1);
		rig_answer(&rig, before, ORCHESTRATOR_UNCONFINED);
		rig_exit(&rig, rig.exec_count - 1, 0);
	}
	/* Nothing of the retry was remembered. */
	rig_exec(&rig, "cargo build");
	if (_i == 0)
		rig_answer(&rig, rig.question_count - 1, ORCHESTRATOR_ONCE);
	ck_assert(rig_started(&rig)->is_confined);
	ck_assert(words_equal(rig_started(&rig)->sandbox, rig.sandbox));
	rig_done(&rig);
}
END_TEST

/* What was granted for once, before, is not granted for longer with what is asked about now. */
START_TEST(session_is_for_what_was_asked)
{
	const struct orchestrator_access access = { ORCHESTRATOR_DESTINATION, "b.test", "https",
						    443 };

	start(ORCHESTRATOR_ON_REQUEST, false);
	rig.request.confinement = ORCHESTRATOR_WITH_ACCESS;
	rig.request.accesses = &access;
	rig.request.access_count = 1;
	rig_exec(&rig, "cargo build");
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert(!rig.execs[0].is_for_session);
	rig_refuse(&rig, 0, "net a.test");
	ck_assert_str_eq(rig_asked(&rig)->accesses, "https://a.test:443");
	rig_answer(&rig, 1, ORCHESTRATOR_SESSION);
	ck_assert_str_eq(rig.execs[1].accesses, "https://b.test:443|https://a.test:443");
	ck_assert(rig.execs[1].is_for_session);
	ck_assert_uint_eq(rig.execs[1].new_from, 1);
	rig_done(&rig);
}
END_TEST

/* T5: a retry is always asked about, regardless of earlier answers, their source and their
 * number. Strict sessions: deciders.c. */
static const struct {
	enum orchestrator_mode mode;
	const char *rules;
	bool is_one_shot;
	const char *first; /* answers of runs of the same: 1 once, S session; - not asked */
	const char *refused;
	bool is_asked;
} seconds[] = {
	{ ORCHESTRATOR_UNTRUSTED, "", 0, "1", "write /etc/x", true },
	{ ORCHESTRATOR_UNTRUSTED, "", 0, "1", "net a.test", true },
	{ ORCHESTRATOR_UNTRUSTED, "", 0, "S", "write /etc/x", true },
	{ ORCHESTRATOR_UNTRUSTED, "", 0, "S--", "write /etc/x", true },
	{ ORCHESTRATOR_UNTRUSTED, "", 0, "S--", "net a.test", true },
	{ ORCHESTRATOR_UNTRUSTED, "", 1, "1", "write /etc/x", true },
	{ ORCHESTRATOR_UNTRUSTED, "allow cargo", 0, "-", "write /etc/x", true },
	{ ORCHESTRATOR_UNTRUSTED, "allow cargo", 0, "-", "net a.test", true },
	{ ORCHESTRATOR_ON_FAILURE, "", 0, "-", "write /etc/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "ask cargo", 0, "1", "write /etc/x", true },
	{ ORCHESTRATOR_ON_FAILURE, "ask cargo", 0, "S-", "net a.test", true },
	{ ORCHESTRATOR_ON_FAILURE, "", 1, "1", "write /etc/x", true },
	{ ORCHESTRATOR_GRANULAR, "ask cargo", 0, "1", "write /etc/x", true },
	{ ORCHESTRATOR_GRANULAR, "", 0, "-", "net a.test", true },
	{ ORCHESTRATOR_ON_REQUEST, "ask cargo", 0, "1", "net a.test", true },
	{ ORCHESTRATOR_ON_REQUEST, "ask cargo", 0, "S-", "net a.test", true },
	{ ORCHESTRATOR_ON_REQUEST, "", 1, "1", "net a.test", true },
	/* There is none. */
	{ ORCHESTRATOR_NEVER, "allow cargo", 0, "-", "write /etc/x", false },
	{ ORCHESTRATOR_NEVER, "", 0, "-", "net a.test", false },
};
START_TEST(second_question)
{
	rig_init(&rig, seconds[_i].mode);
	rig.config.categories = ORCHESTRATOR_MAY_ASK_ALL;
	rig_rules(&rig, seconds[_i].rules);
	rig_open(&rig);
	rig.request.is_one_shot = seconds[_i].is_one_shot;
	for (const char *first = seconds[_i].first; *first; first++) {
		size_t before = rig.question_count;

		rig_exec(&rig, "cargo build");
		ck_assert_uint_eq(rig.question_count, before + (*first != '-'));
		if (*first != '-')
			rig_answer(&rig, before,
				   *first == 'S' ? ORCHESTRATOR_SESSION : ORCHESTRATOR_ONCE);
		if (first[1])
			rig_exit(&rig, rig.exec_count - 1, 0);
	}
	size_t questions = rig.question_count, execs = rig.exec_count;

	rig_refuse(&rig, execs - 1, seconds[_i].refused);
	ck_assert_uint_eq(rig.question_count, questions + seconds[_i].is_asked);
	ck_assert_uint_eq(rig.exec_count, execs);
	if (seconds[_i].is_asked)
		ck_assert(rig_asked(&rig)->is_retry && rig_asked(&rig)->is_one_shot);
	rig_done(&rig);
}
END_TEST

/* one_shot_never_bypasses_retry_approval, one_shot_retry_uses_distinct_waiter_and_ignores_stale_
 * initial_responses */
START_TEST(one_shot_retry_has_its_own_id)
{
	rig_init(&rig, ORCHESTRATOR_ON_FAILURE);
	rig_open(&rig);
	rig.request.is_one_shot = true;
	rig_exec(&rig, "cargo build");
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	rig_refuse(&rig, 0, "write /etc/x");
	ck_assert_uint_eq(rig.question_count, 2);
	ck_assert_str_ne(rig.questions[0].id, rig.questions[1].id);
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), -ENOENT);
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ABORT), -ENOENT);
	ck_assert_uint_eq(rig.exec_count, 1);
	ck_assert_uint_eq(rig.result_count, 0);
	ck_assert_int_eq(rig_answer(&rig, 1, ORCHESTRATOR_ONCE), 0);
	ck_assert_uint_eq(rig.exec_count, 2);
	rig_done(&rig);
}
END_TEST

/* Denials need evidence, and that it failed; an output says nothing. */
START_TEST(success_is_kept)
{
	const struct orchestrator_refusal refusal = { .access = { ORCHESTRATOR_DESTINATION,
								  "a.test", "https", 443 } };
	const struct orchestrator_outcome outcome = { .end = EXEC_EXITED,
						      .refusals = &refusal,
						      .refusal_count = 1,
						      .output = &rig_output[1] };

	start(ORCHESTRATOR_ON_FAILURE, true);
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0, &outcome);
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	ck_assert_uint_eq(rig_ended(&rig)->refusals[0], 1);
	ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[1]);
	rig_done(&rig);
}
END_TEST

static const struct {
	enum exec_end end;
	int status;
	enum orchestrator_class what;
	enum orchestrator_result_kind want;
} evident[] = {
	{ EXEC_SIGNALLED, SIGSYS, ORCHESTRATOR_SYSTEM_CALL, ORCHESTRATOR_DENIED },
	{ EXEC_SIGNALLED, SIGSYS, ORCHESTRATOR_WRITE_PATH, ORCHESTRATOR_RESULT_SIGNALLED },
	{ EXEC_SIGNALLED, SIGKILL, ORCHESTRATOR_SYSTEM_CALL, ORCHESTRATOR_RESULT_SIGNALLED },
	{ EXEC_TIMED_OUT, 0, ORCHESTRATOR_WRITE_PATH, ORCHESTRATOR_RESULT_TIMED_OUT },
	{ EXEC_INTERRUPTED, 0, ORCHESTRATOR_WRITE_PATH, ORCHESTRATOR_RESULT_INTERRUPTED },
	{ EXEC_NOT_STARTED, 0, ORCHESTRATOR_WRITE_PATH, ORCHESTRATOR_RESULT_NOT_STARTED },
	{ EXEC_EXITED, 2, ORCHESTRATOR_WRITE_PATH, ORCHESTRATOR_DENIED },
	{ EXEC_EXITED, 127, ORCHESTRATOR_PROGRAM, ORCHESTRATOR_DENIED },
};
START_TEST(evidence)
{
	const struct orchestrator_refusal refusal = { .access = { .what = evident[_i].what,
								  .name = "/etc/x" } };

	start(ORCHESTRATOR_NEVER, true);
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0,
		&(struct orchestrator_outcome){ .end = evident[_i].end,
						.status = evident[_i].status,
						.refusals = &refusal,
						.refusal_count = 1 });
	ck_assert_int_eq(rig_ended(&rig)->kind, evident[_i].want);
	rig_done(&rig);
}
END_TEST

/* Where files are denied: a retry stays inside, and what is denied is never opened. */
START_TEST(denied_files_keep_the_sandbox)
{
	rig_init(&rig, ORCHESTRATOR_ON_FAILURE);
	rig.config.may_unconfine = true;
	rig_open(&rig);
	struct exec_sandbox *sandbox =
		rig_sandbox(EXEC_MODE_WORKSPACE_WRITE, EXEC_NETWORK_RESTRICTED, "/work/key");

	rig.request.sandbox = sandbox;
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "read /work/key|read /work/key/a|write /etc/x|call ptrace");
	ck_assert_str_eq(rig_asked(&rig)->accesses, "write /etc/x");
	ck_assert(!(rig_asked(&rig)->choices & BIT(ORCHESTRATOR_UNCONFINED)));
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_UNCONFINED), -EINVAL);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert(rig_started(&rig)->is_confined);
	ck_assert_int_eq(exec_sandbox_access(rig_started(&rig)->sandbox, "/work/key/a"), EXEC_DENY);
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* A denial that came into the policy while it was asked. */
START_TEST(rules_that_change_meanwhile)
{
	rig_init(&rig, ORCHESTRATOR_UNTRUSTED);
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	if (_i == 1) {
		rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
		rig_refuse(&rig, 0, "write /etc/x");
	}
	rig_rules(&rig, "deny cargo build");
	rig_answer(&rig, rig.question_count - 1, ORCHESTRATOR_ONCE);
	ck_assert_uint_eq(rig.exec_count, (size_t)_i);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_RULE);
	rig_done(&rig);
}
END_TEST

START_TEST(retry_without_an_answer)
{
	start(ORCHESTRATOR_ON_FAILURE, true);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "write /etc/x");
	loop_advance(rig.loop, ORCHESTRATOR_QUESTION_MS);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_NO_ANSWER);
	ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[0]);
	ck_assert_uint_eq(rig.exec_count, 1);
	rig_done(&rig);
}
END_TEST

/* More was refused than one question can hold. */
START_TEST(offers_no_more_than_fits)
{
	char refused[RIG_TEXT * 2] = "";
	size_t len = 0;

	for (int i = 0; i < 2 * ORCHESTRATOR_ACCESSES_MAX; i++)
		len += (size_t)snprintf(refused + len, sizeof(refused) - len, "%swrite /etc/%02d",
					i > 0 ? "|" : "", i);
	start(ORCHESTRATOR_ON_FAILURE, true);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, refused);
	ck_assert(strstr(rig_asked(&rig)->accesses, "/etc/15"));
	ck_assert(!strstr(rig_asked(&rig)->accesses, "/etc/16"));
	rig_done(&rig);
}
END_TEST

/* Evidence that says too little is evidence, and opens nothing. */
START_TEST(evidence_of_nothing)
{
	static const struct orchestrator_refusal vague[] = {
		{ .access = { .what = ORCHESTRATOR_DESTINATION, .protocol = "https", .port = 1 } },
		{ .access = { .what = ORCHESTRATOR_WRITE_PATH } },
		{ .access = { .what = (enum orchestrator_class)99, .name = "/etc/x" } },
	};

	start(ORCHESTRATOR_ON_FAILURE, false);
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0,
		&(struct orchestrator_outcome){ .end = EXEC_EXITED,
						.status = 1,
						.refusals = &vague[_i],
						.refusal_count = 1 });
	ck_assert_uint_eq(rig.question_count, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DENIED);
	rig_done(&rig);
}
END_TEST

TCase *retries_cases(void)
{
	TCase *cases = tcase_create("retries");

	tcase_add_loop_test(cases, offers_what_was_refused, 0, ARRAY_SIZE(offers));
	tcase_add_loop_test(cases, offers_nothing, 0, ARRAY_SIZE(closed));
	tcase_add_loop_test(cases, retry_answer, 0, ARRAY_SIZE(answers));
	tcase_add_test(cases, one_host_of_two_for_good);
	tcase_add_loop_test(cases, retry_for_a_host, 0, ARRAY_SIZE(hosts));
	tcase_add_test(cases, retry_is_remembered);
	tcase_add_loop_test(cases, first_approval_never_covers_the_retry, 0, 2);
	tcase_add_test(cases, session_is_for_what_was_asked);
	tcase_add_loop_test(cases, second_question, 0, ARRAY_SIZE(seconds));
	tcase_add_test(cases, one_shot_retry_has_its_own_id);
	tcase_add_test(cases, success_is_kept);
	tcase_add_loop_test(cases, evidence, 0, ARRAY_SIZE(evident));
	tcase_add_test(cases, denied_files_keep_the_sandbox);
	tcase_add_loop_test(cases, rules_that_change_meanwhile, 0, 2);
	tcase_add_test(cases, retry_without_an_answer);
	tcase_add_test(cases, offers_no_more_than_fits);
	tcase_add_loop_test(cases, evidence_of_nothing, 0, 3);
	return cases;
}
