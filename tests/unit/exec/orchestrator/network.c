/* Network denials of an exec, and questions about it while it runs. */
#include "exec/orchestrator/exec_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/orchestrator/setting.h"
#include "tests/unit/exec/orchestrator/rig.h"

static struct rig rig;

#define POLICY ORCHESTRATOR_NETWORK_BY_POLICY
#define PERSON ORCHESTRATOR_NETWORK_BY_PERSON
#define GONE   ORCHESTRATOR_NETWORK_DISCONNECTED

static void start(enum orchestrator_mode mode)
{
	rig_init(&rig, mode);
	rig_open(&rig);
}

static struct orchestrator_block block_of(enum orchestrator_network_kind kind, const char *words)
{
	return (struct orchestrator_block){
		.kind = kind, .host = "a.test", .protocol = "https", .port = 443, .words = words
	};
}

/* An exec of no orchestrator; exec_record_list_done() frees it. */
static struct exec_records records;
static struct exec_record *record_new(void)
{
	static uint64_t last;
	static struct setting setting = { .config.last_exec = &last };

	exec_record_list_init(&records, &setting);
	return exec_record_new(&records, 1, &(struct orchestrator_request){ 0 });
}

/* Which of several is the outcome: "p1" a person's with these words, "b" policy's, "g" gone. */
static const struct {
	const char *order;
	enum orchestrator_network_kind kind;
	const char *text;
} orders[] = {
	{ "b1", POLICY, "a.test: 1" },
	{ "b1 b2", POLICY, "a.test: 1" }, /* the first */
	{ "g1 b2", GONE, "a.test: 1" },
	{ "b1 g2", POLICY, "a.test: 1" },
	/* blocked_request_policy_does_not_override_user_denial_outcome */
	{ "p1 b2", PERSON, "a.test: 1" },
	{ "p1 g2", PERSON, "a.test: 1" },
	/* specific_approval_outcome_replaces_earlier_blocked_request */
	{ "b1 p2", PERSON, "a.test: 2" },
	{ "g1 p2", PERSON, "a.test: 2" },
	{ "p1 p2", PERSON, "a.test: 2" },
	{ "b1 p2 b3 g4", PERSON, "a.test: 2" },
};
START_TEST(precedence)
{
	struct exec_record *record = record_new();
	size_t count = 0;

	for (const char *at = orders[_i].order; *at; at += strspn(at, " ")) {
		char words[] = { at[1], '\0' };
		struct orchestrator_block block = block_of(at[0] == 'b'   ? POLICY
							   : at[0] == 'g' ? GONE
									  : PERSON,
							   words);

		ck_assert_int_eq(exec_record_block(record, &block), 0);
		at += 2;
		count++;
	}
	struct orchestrator_network_outcome outcome = exec_record_outcome(record);

	ck_assert_int_eq(outcome.kind, orders[_i].kind);
	ck_assert_str_eq(outcome.text, orders[_i].text);
	ck_assert_uint_eq(outcome.blocked, count);
	exec_record_list_done(&records);
}
END_TEST

/* Settled: whatever comes changes nothing, and says so. */
START_TEST(settled_is_settled)
{
	struct exec_record *record = record_new();
	struct orchestrator_block block = block_of(PERSON, NULL);

	exec_record_settle(record);
	exec_record_settle(record);
	ck_assert_int_eq(exec_record_block(record, &block), -ESTALE);
	ck_assert_int_eq(exec_record_outcome(record).kind, ORCHESTRATOR_NETWORK_NOTHING);
	ck_assert_uint_eq(exec_record_outcome(record).blocked, 0);
	exec_record_list_done(&records);
}
END_TEST

START_TEST(nothing_is_no_block)
{
	struct exec_record *record = record_new();
	struct orchestrator_block block = block_of(ORCHESTRATOR_NETWORK_NOTHING, NULL);

	ck_assert_int_eq(exec_record_block(record, &block), -EINVAL);
	block.kind = 99;
	ck_assert_int_eq(exec_record_block(record, &block), -EINVAL);
	exec_record_list_done(&records);
}
END_TEST

/* Every kind has words of its own; a blank host is fine; a long or wild text is bounded. */
START_TEST(words_of_kinds)
{
	struct exec_record *record = record_new();
	struct orchestrator_block block = block_of((enum orchestrator_network_kind)_i, NULL);

	block.host = _i % 2 ? "" : NULL;
	exec_record_block(record, &block);
	ck_assert_uint_gt(strlen(record->network.text), 5);
	ck_assert(!strchr(record->network.text, ':'));
	exec_record_list_done(&records);
}
END_TEST
START_TEST(texts_are_bounded)
{
	struct exec_record *record = record_new();
	auto_free char *words = mem_new(40001);
	struct orchestrator_block block = block_of(PERSON, words);

	memset(words, '\033', 40000);
	exec_record_block(record, &block);
	ck_assert_uint_lt(strlen(record->network.text), ORCHESTRATOR_NETWORK_TEXT_MAX);
	ck_assert(!strchr(record->network.text, '\033'));
	ck_assert_str_eq(record->network.text + strlen(record->network.text) - 3, "...");
	exec_record_list_done(&records);
}
END_TEST
START_TEST(blocks_are_bounded)
{
	struct exec_record *record = record_new();
	const struct orchestrator_access other = { ORCHESTRATOR_DESTINATION, "b.test", "https",
						   443 };
	struct orchestrator_block block = block_of(POLICY, NULL);

	for (size_t i = 0; i < ORCHESTRATOR_BLOCKS_MAX; i++)
		exec_record_block(record, &block);
	ck_assert(!exec_record_has_denied(record, &other));
	block.kind = PERSON;
	exec_record_block(record, &block);
	ck_assert_uint_eq(record->network.block_count, ORCHESTRATOR_BLOCKS_MAX);
	ck_assert_uint_eq(record->network.blocked, ORCHESTRATOR_BLOCKS_MAX + 1);
	/* Which host a person denied is not known any more: any. */
	ck_assert(exec_record_has_denied(record, &other));
	exec_record_list_done(&records);
}
END_TEST

/* A successful result is never lost to a denied side request, unless that is asked for. */
static const struct {
	enum orchestrator_on_denial on_denial;
	bool is_stopped;
	enum orchestrator_result_kind kind;
} modes[] = {
	{ ORCHESTRATOR_REPORT, false, ORCHESTRATOR_DONE },
	{ ORCHESTRATOR_FAIL, false, ORCHESTRATOR_DENIED },
	{ ORCHESTRATOR_STOP, true, ORCHESTRATOR_DENIED },
};
START_TEST(on_denial)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig.request.on_denial = modes[_i].on_denial;
	rig_exec(&rig, "cargo build");
	rig_block(&rig, 0, POLICY, "a.test");
	rig_block(&rig, 0, POLICY, "b.test");
	ck_assert(rig.execs[0].is_stopped == modes[_i].is_stopped);
	rig_end(&rig, 0,
		&(struct orchestrator_outcome){ .end = modes[_i].is_stopped ? EXEC_CANCELLED
									    : EXEC_EXITED,
						.output = &rig_output[1] });
	ck_assert_int_eq(rig_ended(&rig)->kind, modes[_i].kind);
	ck_assert_ptr_eq(rig_ended(&rig)->outputs[0], &rig_output[1]);
	ck_assert_int_eq(rig_ended(&rig)->networks[0], POLICY);
	ck_assert_uint_eq(rig_ended(&rig)->blocked[0], 2);
	ck_assert_uint_eq(rig.question_count, 0);
	/* finish_call_returns_denial_and_unregisters_active_call, record_call_outcome_ignores_...
	 */
	ck_assert_int_eq(rig_block(&rig, 0, PERSON, "a.test"), -ENOENT);
	rig_done(&rig);
}
END_TEST
START_TEST(nothing_denied_is_done)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig.request.on_denial = (enum orchestrator_on_denial)_i;
	rig_exec(&rig, "cargo build");
	rig_exit(&rig, 0, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	ck_assert_int_eq(rig_ended(&rig)->networks[0], ORCHESTRATOR_NETWORK_NOTHING);
	rig_done(&rig);
}
END_TEST

/* A retry is another registration. */
START_TEST(retry_begins_anew)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	rig_block(&rig, 0, POLICY, "a.test");
	rig_refuse(&rig, 0, "write /etc/x");
	ck_assert_int_eq(rig_block(&rig, 0, PERSON, "a.test"), -ESTALE);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert_int_eq(rig_block(&rig, 0, PERSON, "a.test"), -ESTALE);
	rig_exit(&rig, 1, 0);
	ck_assert_int_eq(rig_ended(&rig)->networks[0], POLICY);
	ck_assert_int_eq(rig_ended(&rig)->networks[1], ORCHESTRATOR_NETWORK_NOTHING);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	rig_done(&rig);
}
END_TEST

/* deferred_finish_reuses_denial_result_after_first_consumer */
START_TEST(deferred)
{
	const struct orchestrator_outcome lives = { .end = EXEC_EXITED, .is_deferred = true };
	struct orchestrator_network_outcome first, second;

	start(ORCHESTRATOR_ON_FAILURE);
	rig.request.on_denial = ORCHESTRATOR_STOP;
	rig_exec(&rig, "cargo build");
	uint64_t number = rig.execs[0].number;

	ck_assert_int_eq(orchestrator_network_settle(rig.orchestrator, number, &first), -EBUSY);
	rig_end(&rig, 0, &lives);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	/* It goes on, and so does what happens to it. */
	ck_assert_int_eq(rig_block(&rig, 0, PERSON, "a.test"), 0);
	ck_assert(rig.execs[0].is_stopped);
	rig_permission(&rig, "/etc/c", number);
	ck_assert_int_eq(orchestrator_network_settle(rig.orchestrator, number, &first), 0);
	ck_assert_int_eq(first.kind, PERSON);
	ck_assert(first.is_denial);
	loop_step(rig.loop);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_CANCELLED);
	ck_assert_int_eq(rig_block(&rig, 0, POLICY, "b.test"), -ESTALE);
	ck_assert_int_eq(orchestrator_network_settle(rig.orchestrator, number, &second), 0);
	ck_assert_int_eq(second.kind, first.kind);
	ck_assert_ptr_eq(second.text, first.text);
	ck_assert_uint_eq(second.blocked, 1);
	orchestrator_network_forget(rig.orchestrator, number);
	orchestrator_network_forget(rig.orchestrator, number);
	ck_assert_int_eq(orchestrator_network_settle(rig.orchestrator, number, &second), -ENOENT);
	rig_done(&rig);
}
END_TEST
/* Whether it is a denial of its owner is said by what that asked for. */
START_TEST(deferred_denial)
{
	const struct orchestrator_outcome lives = { .end = EXEC_EXITED, .is_deferred = true };
	struct orchestrator_network_outcome outcome;

	start(ORCHESTRATOR_ON_FAILURE);
	rig.request.on_denial = modes[_i].on_denial;
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0, &lives);
	rig_block(&rig, 0, POLICY, "a.test");
	ck_assert(rig.execs[0].is_stopped == modes[_i].is_stopped);
	orchestrator_network_settle(rig.orchestrator, rig.execs[0].number, &outcome);
	ck_assert(outcome.is_denial == (modes[_i].kind == ORCHESTRATOR_DENIED));
	rig_done(&rig);
}
END_TEST
START_TEST(deferred_that_did_not_start_is_settled)
{
	const struct orchestrator_outcome none = { .end = EXEC_NOT_STARTED, .is_deferred = true };
	struct orchestrator_network_outcome outcome;

	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0, &none);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_RESULT_NOT_STARTED);
	ck_assert_int_eq(
		orchestrator_network_settle(rig.orchestrator, rig.execs[0].number, &outcome),
		-ENOENT);
	rig_done(&rig);
}
END_TEST

/* Test: a clock stands still while any question is open, its own or the gateway's. */
START_TEST(clock_stands_still)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	uint64_t number = rig.execs[0].number;

	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, false), -ESTALE);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, true), 0);
	ck_assert(!rig.execs[0].is_paused); /* not from inside */
	loop_step(rig.loop);
	ck_assert(rig.execs[0].is_paused);
	rig_permission(&rig, "/etc/a", number);
	rig_permission(&rig, "/etc/b", number);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, false), 0);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert(rig.execs[0].is_paused);
	rig_answer(&rig, 1, ORCHESTRATOR_DENY);
	ck_assert(!rig.execs[0].is_paused);
	ck_assert_uint_eq(rig.execs[0].pauses, 1);
	/* The gateway cannot close what is not its own. */
	rig_permission(&rig, "/etc/c", number);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, false), -ESTALE);
	ck_assert(rig.execs[0].is_paused);
	/* Its end ends them. */
	rig_exit(&rig, 0, 0);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, true), -ENOENT);
	ck_assert(rig.questions[2].is_retracted);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_CANCELLED);
	rig_done(&rig);
}
END_TEST

/* It says of which command it is, and stops the clock of that one only.
 * active_call_preserves_triggering_command_context */
START_TEST(of_one_exec)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig_exec(&rig, "cargo build");
	uint64_t request = rig_exec(&rig, "cargo test");

	rig_permission(&rig, "/etc/x", rig.execs[1].number);
	ck_assert_uint_eq(rig_asked(&rig)->request_count, 1);
	ck_assert_uint_eq(rig_asked(&rig)->requests[0], request);
	ck_assert(!rig.execs[0].is_paused && rig.execs[1].is_paused);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert(!rig.execs[1].is_paused);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	rig_done(&rig);
}
END_TEST

/* A denial that could not be written holds for the session; an allow is for once. */
START_TEST(always_that_is_not_written)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig.store_error = -EROFS;
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "net a.test");
	rig_answer(&rig, 0, _i == 0 ? ORCHESTRATOR_ALWAYS : ORCHESTRATOR_DENY_ALWAYS);
	if (_i == 0)
		rig_exit(&rig, 1, 0);
	ck_assert_int_eq(rig_ended(&rig)->kind,
			 _i == 0 ? ORCHESTRATOR_DONE : ORCHESTRATOR_REJECTED_BY_PERSON);
	ck_assert(strstr(rig_ended(&rig)->note, "could not be written"));
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, rig.exec_count - 1, "net a.test");
	ck_assert_uint_eq(rig.question_count, _i == 0 ? 2 : 1);
	rig_done(&rig);
}
END_TEST

/* Denied for the session while another question of it is open: a later allow is a denial, unless it
 * takes the denial back for good. */
START_TEST(denied_while_asked)
{
	start(ORCHESTRATOR_ON_FAILURE);
	for (size_t i = 0; i < 2; i++) {
		rig_exec(&rig, "cargo build");
		rig_refuse(&rig, i, "net a.test");
	}
	ck_assert_uint_eq(rig.question_count, 2);
	rig_answer(&rig, 0, ORCHESTRATOR_DENY_ALWAYS);
	static const enum orchestrator_choice choices[] = { ORCHESTRATOR_ONCE, ORCHESTRATOR_SESSION,
							    ORCHESTRATOR_ALWAYS };

	rig_answer(&rig, 1, choices[_i]);
	if (_i < 2) {
		ck_assert_uint_eq(rig.exec_count, 2);
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_PERSON);
		ck_assert(strstr(rig_ended(&rig)->why, "meanwhile"));
	} else {
		orchestrator_stored(rig.orchestrator, rig.stores[1], 0);
		loop_step(rig.loop);
		ck_assert_uint_eq(rig.exec_count, 3);
	}
	rig_done(&rig);
}
END_TEST

/* How a question ends without an answer: its exec goes on, by its clock. */
START_TEST(ends_without_an_answer)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig_exec(&rig, "cargo build");
	uint64_t request = rig_permission(&rig, "/etc/x", rig.execs[0].number);

	ck_assert(rig.execs[0].is_paused);
	if (_i == 0)
		loop_advance(rig.loop, ORCHESTRATOR_QUESTION_MS);
	else if (_i == 1)
		orchestrator_client_gone(rig.orchestrator, RIG_CLIENT);
	else
		orchestrator_cancel(rig.orchestrator, request);
	loop_step(rig.loop);
	ck_assert_int_eq(rig_ended(&rig)->kind,
			 _i < 2 ? ORCHESTRATOR_REJECTED_NO_ANSWER : ORCHESTRATOR_CANCELLED);
	ck_assert(!rig.execs[0].is_paused && !rig.execs[0].is_stopped);
	rig_done(&rig);
}
END_TEST

/* Of an exec that is over: not even asked. */
START_TEST(of_nothing_that_runs)
{
	const struct orchestrator_access access = { .what = ORCHESTRATOR_WRITE_PATH,
						    .name = "/etc/x" };
	struct err why = { 0 };
	uint64_t request;

	start(ORCHESTRATOR_ON_REQUEST);
	rig_exec(&rig, "cargo build");
	rig_exit(&rig, 0, 0);
	rig.request.kind = ORCHESTRATOR_PERMISSIONS;
	rig.request.accesses = &access;
	rig.request.access_count = 1;
	rig.request.exec = rig.execs[0].number;
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &request, &why),
			 -EINVAL);
	ck_assert_str_ne(why.text, "");
	rig_done(&rig);
}
END_TEST

/* network_approval_context_requires_ask_from_decider and so on: after which blocks a destination is
 * asked again by the retry. */
static const struct {
	const char *refused;
	enum orchestrator_network_kind block; /* of a.test */
	const char *offered;
} contexts[] = {
	{ "net a.test", 0, "https://a.test:443" },
	{ "net a.test", ORCHESTRATOR_NETWORK_BY_POLICY, "https://a.test:443" },
	{ "net a.test", ORCHESTRATOR_NETWORK_DISCONNECTED, "https://a.test:443" },
	{ "net a.test", ORCHESTRATOR_NETWORK_BY_PERSON, NULL }, /* a person has answered */
	{ "net a.test|net b.test", ORCHESTRATOR_NETWORK_BY_PERSON, "https://b.test:443" },
	{ "final net a.test", 0, NULL },
	{ "net ", 0, NULL },
};
START_TEST(context)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig_exec(&rig, "cargo build");
	if (contexts[_i].block)
		rig_block(&rig, 0, contexts[_i].block, "a.test");
	rig_refuse(&rig, 0, contexts[_i].refused);
	ck_assert_uint_eq(rig.question_count, contexts[_i].offered != NULL);
	if (contexts[_i].offered)
		ck_assert_str_eq(rig_asked(&rig)->accesses, contexts[_i].offered);
	else
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DENIED);
	rig_done(&rig);
}
END_TEST

TCase *network_cases(void)
{
	TCase *cases = tcase_create("network");

	tcase_add_loop_test(cases, precedence, 0, ARRAY_SIZE(orders));
	tcase_add_test(cases, settled_is_settled);
	tcase_add_test(cases, nothing_is_no_block);
	tcase_add_loop_test(cases, words_of_kinds, POLICY, PERSON + 1);
	tcase_add_test(cases, texts_are_bounded);
	tcase_add_test(cases, blocks_are_bounded);
	tcase_add_loop_test(cases, on_denial, 0, ARRAY_SIZE(modes));
	tcase_add_loop_test(cases, nothing_denied_is_done, 0, 3);
	tcase_add_test(cases, retry_begins_anew);
	tcase_add_test(cases, deferred);
	tcase_add_loop_test(cases, deferred_denial, 0, ARRAY_SIZE(modes));
	tcase_add_test(cases, deferred_that_did_not_start_is_settled);
	tcase_add_test(cases, clock_stands_still);
	tcase_add_loop_test(cases, always_that_is_not_written, 0, 2);
	tcase_add_loop_test(cases, denied_while_asked, 0, 3);
	tcase_add_test(cases, of_one_exec);
	tcase_add_loop_test(cases, ends_without_an_answer, 0, 3);
	tcase_add_test(cases, of_nothing_that_runs);
	tcase_add_loop_test(cases, context, 0, ARRAY_SIZE(contexts));
	return cases;
}
