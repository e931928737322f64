/* What the network did to an attempt, and questions about it while it runs. */
#include "exec/orchestrator/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/orchestrator/rig.h"

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
	return (struct orchestrator_block){ .kind = kind,
					    .reason = ORCHESTRATOR_BLOCKED_UNLISTED,
					    .host = "a.test",
					    .protocol = "https",
					    .port = 443,
					    .words = words };
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
	auto_free struct outcome_record *record = mem_new(sizeof(*record));
	size_t count = 0;

	for (const char *at = orders[_i].order; *at; at += strspn(at, " ")) {
		char words[] = { at[1], '\0' };
		struct orchestrator_block block = block_of(at[0] == 'b'   ? POLICY
							   : at[0] == 'g' ? GONE
									  : PERSON,
							   words);

		ck_assert_int_eq(outcome_add(record, &block), 0);
		at += 2;
		count++;
	}
	struct orchestrator_network_outcome outcome = outcome_look(record);

	ck_assert_int_eq(outcome.kind, orders[_i].kind);
	ck_assert_str_eq(outcome.text, orders[_i].text);
	ck_assert_uint_eq(outcome.blocked, count);
	outcome_done(record);
}
END_TEST

/* Settled: whatever comes changes nothing, and says so. */
START_TEST(settled_is_settled)
{
	auto_free struct outcome_record *record = mem_new(sizeof(*record));
	struct orchestrator_block block = block_of(PERSON, NULL);

	outcome_settle(record);
	outcome_settle(record);
	ck_assert_int_eq(outcome_add(record, &block), -ESTALE);
	ck_assert_int_eq(outcome_look(record).kind, ORCHESTRATOR_NETWORK_NOTHING);
	ck_assert_uint_eq(outcome_look(record).blocked, 0);
	outcome_done(record);
}
END_TEST

START_TEST(nothing_is_no_block)
{
	auto_free struct outcome_record *record = mem_new(sizeof(*record));
	struct orchestrator_block block = block_of(ORCHESTRATOR_NETWORK_NOTHING, NULL);

	ck_assert_int_eq(outcome_add(record, &block), -EINVAL);
	block.kind = 99;
	ck_assert_int_eq(outcome_add(record, &block), -EINVAL);
	block.kind = POLICY;
	block.reason = ORCHESTRATOR_NETWORK_REASONS;
	ck_assert_int_eq(outcome_add(record, &block), -EINVAL);
}
END_TEST

/* Every class of reason has words; a blank host is fine; a long or wild text is bounded. */
START_TEST(words_of_reasons)
{
	auto_free struct outcome_record *record = mem_new(sizeof(*record));
	struct orchestrator_block block = block_of(POLICY, NULL);

	block.reason = (enum orchestrator_network_reason)_i;
	block.host = _i % 2 ? "" : NULL;
	outcome_add(record, &block);
	ck_assert_uint_gt(strlen(record->text), 5);
	ck_assert(!strchr(record->text, ':'));
	outcome_done(record);
}
END_TEST
START_TEST(texts_are_bounded)
{
	auto_free struct outcome_record *record = mem_new(sizeof(*record));
	auto_free char *words = mem_new(40001);
	struct orchestrator_block block = block_of(PERSON, words);

	memset(words, '\033', 40000);
	outcome_add(record, &block);
	ck_assert_uint_lt(strlen(record->text), ORCHESTRATOR_NETWORK_TEXT_MAX);
	ck_assert(!strchr(record->text, '\033'));
	ck_assert_str_eq(record->text + strlen(record->text) - 3, "...");
	outcome_done(record);
}
END_TEST
START_TEST(blocks_are_bounded)
{
	auto_free struct outcome_record *record = mem_new(sizeof(*record));
	const struct orchestrator_access other = { ORCHESTRATOR_DESTINATION, "b.test", "https",
						   443 };
	struct orchestrator_block block = block_of(POLICY, NULL);

	for (size_t i = 0; i < ORCHESTRATOR_BLOCKS_MAX; i++)
		outcome_add(record, &block);
	ck_assert(!outcome_has_denied(record, &other));
	block.kind = PERSON;
	outcome_add(record, &block);
	ck_assert_uint_eq(record->block_count, ORCHESTRATOR_BLOCKS_MAX);
	ck_assert_uint_eq(record->blocked, ORCHESTRATOR_BLOCKS_MAX + 1);
	/* Which host a person denied is not known any more: any. */
	ck_assert(outcome_has_denied(record, &other));
	outcome_done(record);
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
	ck_assert(rig.attempts[0].is_stopped == modes[_i].is_stopped);
	rig_end(&rig, 0,
		&(struct orchestrator_outcome){ .end = modes[_i].is_stopped ? ORCHESTRATOR_STOPPED
									    : ORCHESTRATOR_EXITED,
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
	const struct orchestrator_outcome lives = { .end = ORCHESTRATOR_EXITED,
						    .is_deferred = true };
	struct orchestrator_network_outcome first, second;

	start(ORCHESTRATOR_ON_FAILURE);
	rig.request.on_denial = ORCHESTRATOR_STOP;
	rig_exec(&rig, "cargo build");
	uint64_t number = rig.attempts[0].number;

	ck_assert_int_eq(orchestrator_network_settle(rig.orchestrator, number, &first), -EBUSY);
	rig_end(&rig, 0, &lives);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_DONE);
	/* It goes on, and so does what happens to it. */
	ck_assert_int_eq(rig_block(&rig, 0, PERSON, "a.test"), 0);
	ck_assert(rig.attempts[0].is_stopped);
	ck_assert_int_eq(orchestrator_network_look(rig.orchestrator, number, &first), 0);
	ck_assert_int_eq(first.kind, PERSON);
	ck_assert(first.is_denial);
	rig_network(&rig, "c.test", 443, number);
	ck_assert_int_eq(orchestrator_network_settle(rig.orchestrator, number, &first), 0);
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
	ck_assert_int_eq(orchestrator_network_look(rig.orchestrator, number, &second), -ENOENT);
	rig_done(&rig);
}
END_TEST
/* Whether it is a denial of its owner is said by what that asked for. */
START_TEST(deferred_denial)
{
	const struct orchestrator_outcome lives = { .end = ORCHESTRATOR_EXITED,
						    .is_deferred = true };
	struct orchestrator_network_outcome outcome;

	start(ORCHESTRATOR_ON_FAILURE);
	rig.request.on_denial = modes[_i].on_denial;
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0, &lives);
	orchestrator_network_look(rig.orchestrator, rig.attempts[0].number, &outcome);
	ck_assert(!outcome.is_denial);
	rig_block(&rig, 0, POLICY, "a.test");
	ck_assert(rig.attempts[0].is_stopped == modes[_i].is_stopped);
	orchestrator_network_settle(rig.orchestrator, rig.attempts[0].number, &outcome);
	ck_assert(outcome.is_denial == (modes[_i].kind == ORCHESTRATOR_DENIED));
	rig_done(&rig);
}
END_TEST
START_TEST(deferred_that_did_not_start_is_settled)
{
	const struct orchestrator_outcome none = { .end = ORCHESTRATOR_NOT_STARTED,
						   .is_deferred = true };
	struct orchestrator_network_outcome outcome;

	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	rig_end(&rig, 0, &none);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_RESULT_NOT_STARTED);
	ck_assert_int_eq(
		orchestrator_network_look(rig.orchestrator, rig.attempts[0].number, &outcome),
		-ENOENT);
	rig_done(&rig);
}
END_TEST

/* Test: a clock stands still while any question is open, its own or the gateway's. */
START_TEST(clock_stands_still)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig_exec(&rig, "cargo build");
	uint64_t number = rig.attempts[0].number;

	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, false), -ESTALE);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, true), 0);
	ck_assert(!rig.attempts[0].is_paused); /* not from inside */
	loop_step(rig.loop);
	ck_assert(rig.attempts[0].is_paused);
	rig_network(&rig, "a.test", 443, number);
	rig_network(&rig, "b.test", 443, number);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, false), 0);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	ck_assert(rig.attempts[0].is_paused);
	rig_answer(&rig, 1, ORCHESTRATOR_DENY);
	ck_assert(!rig.attempts[0].is_paused);
	ck_assert_uint_eq(rig.attempts[0].pauses, 1);
	/* The gateway cannot close what is not its own. */
	rig_network(&rig, "c.test", 443, number);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, false), -ESTALE);
	ck_assert(rig.attempts[0].is_paused);
	/* Its end ends them. */
	rig_exit(&rig, 0, 0);
	ck_assert_int_eq(orchestrator_network_question(rig.orchestrator, number, true), -ENOENT);
	ck_assert(rig.questions[2].is_retracted);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_CANCELLED);
	rig_done(&rig);
}
END_TEST

/* Questions about one destination: who shares one. The second request is for this: */
static const struct {
	const char *host;
	uint16_t port;
	const char *environment;
	size_t questions;
} others[] = {
	{ "a.test", 443, "", 1 },  /* pending_approvals_are_deduped_per_host_protocol_and_port */
	{ "a.test", 8443, "", 2 }, /* …_do_not_dedupe_across_ports */
	{ "b.test", 443, "", 2 },
	{ "a.test", 443, "remote", 2 }, /* …_do_not_dedupe_across_environments */
};
START_TEST(pending)
{
	start(ORCHESTRATOR_ON_REQUEST);
	uint64_t first = rig_network(&rig, "a.test", 443, 0);

	rig.request.environment = others[_i].environment;
	uint64_t second = rig_network(&rig, others[_i].host, others[_i].port, 0);

	ck_assert_uint_eq(rig.question_count, others[_i].questions);
	rig_answer(&rig, 0, ORCHESTRATOR_ONCE);
	/* pending_waiters_receive_owner_decision */
	ck_assert_uint_eq(rig.result_count, others[_i].questions == 1 ? 2 : 1);
	ck_assert_uint_eq(rig.results[0].call, first);
	if (rig.result_count == 2)
		ck_assert_uint_eq(rig.results[1].call, second);
	for (size_t i = 0; i < rig.result_count; i++)
		ck_assert_int_eq(rig.results[i].kind, ORCHESTRATOR_DONE);
	rig_done(&rig);
}
END_TEST
/* session_approved_hosts_are_scoped_by_environment, …_preserve_protocol_and_port_scope */
START_TEST(session_hosts)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig_network(&rig, "a.test", 443, 0);
	rig_answer(&rig, 0, ORCHESTRATOR_SESSION);
	rig.request.environment = others[_i].environment;
	rig_network(&rig, others[_i].host, others[_i].port, 0);
	ck_assert_uint_eq(rig.question_count, others[_i].questions);
	rig_done(&rig);
}
END_TEST

/* allow_once_and_allow_for_session_both_allow_network, and the rest of T6's second column. */
static const struct {
	enum orchestrator_choice choice;
	const char *stored;
	enum orchestrator_result_kind kind;
	enum orchestrator_network_kind outcome;
	int later; /* 1 allowed, -1 denied, 0 asked again */
} inline_answers[] = {
	{ ORCHESTRATOR_ONCE, "", ORCHESTRATOR_DONE, 0, 0 },
	{ ORCHESTRATOR_SESSION, "", ORCHESTRATOR_DONE, 0, 1 },
	{ ORCHESTRATOR_ALWAYS, "allow https://a.test:443", ORCHESTRATOR_DONE, 0, 1 },
	{ ORCHESTRATOR_DENY_ALWAYS, "deny https://a.test:443", ORCHESTRATOR_REJECTED_BY_PERSON,
	  ORCHESTRATOR_NETWORK_BY_PERSON, -1 },
	{ ORCHESTRATOR_DENY, "", ORCHESTRATOR_REJECTED_BY_PERSON, ORCHESTRATOR_NETWORK_BY_PERSON,
	  0 },
	{ ORCHESTRATOR_ABORT, "", ORCHESTRATOR_REJECTED_BY_PERSON, ORCHESTRATOR_NETWORK_BY_PERSON,
	  0 },
};
START_TEST(inline_answer)
{
	start(ORCHESTRATOR_ON_REQUEST);
	uint64_t call = rig_exec(&rig, "cargo build");

	rig_network(&rig, "a.test", 443, rig.attempts[0].number);
	/* active_call_preserves_triggering_command_context: it says of which. */
	ck_assert_uint_eq(rig_asked(&rig)->call_count, 1);
	ck_assert_uint_eq(rig_asked(&rig)->calls[0], call);
	ck_assert_str_eq(rig_asked(&rig)->accesses, "https://a.test:443");
	rig_answer(&rig, 0, inline_answers[_i].choice);
	ck_assert_str_eq(rig.stored[0], inline_answers[_i].stored);
	if (rig.store_count) {
		orchestrator_stored(rig.orchestrator, rig.stores[0], 0);
		loop_step(rig.loop);
	}
	ck_assert_int_eq(rig_ended(&rig)->kind, inline_answers[_i].kind);
	rig_network(&rig, "a.test", 443, rig.attempts[0].number);
	ck_assert_uint_eq(rig.question_count, 1 + (inline_answers[_i].later == 0));
	if (inline_answers[_i].later != 0)
		ck_assert_int_eq(rig_ended(&rig)->kind, inline_answers[_i].later > 0
								? ORCHESTRATOR_DONE
								: ORCHESTRATOR_REJECTED_BY_PERSON);
	rig_exit(&rig, 0, 0);
	loop_step(rig.loop);
	for (size_t i = 0; i < rig.result_count; i++) {
		if (rig.results[i].call == call)
			ck_assert_int_eq(rig.results[i].networks[0], inline_answers[_i].outcome);
	}
	rig_done(&rig);
}
END_TEST

/* A denial that could not be written holds for the session; an allow is for once. */
START_TEST(always_that_is_not_written)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig.store_error = -EROFS;
	rig_network(&rig, "a.test", 443, 0);
	rig_answer(&rig, 0, _i == 0 ? ORCHESTRATOR_ALWAYS : ORCHESTRATOR_DENY_ALWAYS);
	ck_assert_int_eq(rig_ended(&rig)->kind,
			 _i == 0 ? ORCHESTRATOR_DONE : ORCHESTRATOR_REJECTED_BY_PERSON);
	ck_assert(strstr(rig_ended(&rig)->note, "could not be written"));
	rig_network(&rig, "a.test", 443, 0);
	ck_assert_uint_eq(rig.question_count, _i == 0 ? 2 : 1);
	rig_done(&rig);
}
END_TEST

/* Denied for the session while another question of it is open: a later allow is a denial, unless it
 * takes the denial back for good. */
START_TEST(denied_while_asked)
{
	start(ORCHESTRATOR_ON_FAILURE);
	rig_network(&rig, "a.test", 443, 0);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "net a.test");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_answer(&rig, 0, ORCHESTRATOR_DENY_ALWAYS);
	static const enum orchestrator_choice choices[] = { ORCHESTRATOR_ONCE, ORCHESTRATOR_SESSION,
							    ORCHESTRATOR_ALWAYS };

	rig_answer(&rig, 1, choices[_i]);
	if (_i < 2) {
		ck_assert_uint_eq(rig.attempt_count, 1);
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_PERSON);
		ck_assert(strstr(rig_ended(&rig)->why, "meanwhile"));
	} else {
		orchestrator_stored(rig.orchestrator, rig.stores[1], 0);
		loop_step(rig.loop);
		ck_assert_uint_eq(rig.attempt_count, 2);
	}
	rig_done(&rig);
}
END_TEST

/* only_never_policy_disables_network_approval_flow, …_is_limited_to_restricted_sandbox_modes */
static const struct {
	enum orchestrator_mode mode;
	unsigned int categories;
	enum exec_mode sandbox;
	enum exec_network network;
	bool is_asked;
} flows[] = {
	{ ORCHESTRATOR_NEVER, 0, EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, false },
	{ ORCHESTRATOR_UNTRUSTED, 0, EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, true },
	{ ORCHESTRATOR_ON_REQUEST, 0, EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, true },
	{ ORCHESTRATOR_ON_FAILURE, 0, EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, true },
	{ ORCHESTRATOR_GRANULAR, ORCHESTRATOR_MAY_ASK_NETWORK, EXEC_MODE_READ_ONLY,
	  EXEC_NETWORK_RESTRICTED, true },
	{ ORCHESTRATOR_GRANULAR, ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_NETWORK,
	  EXEC_MODE_READ_ONLY, EXEC_NETWORK_RESTRICTED, false },
	{ ORCHESTRATOR_ON_REQUEST, 0, EXEC_MODE_READ_ONLY, EXEC_NETWORK_ENABLED, false },
	{ ORCHESTRATOR_ON_REQUEST, 0, EXEC_MODE_FULL_ACCESS, EXEC_NETWORK_ENABLED, false },
	{ ORCHESTRATOR_ON_REQUEST, 0, EXEC_MODE_WORKSPACE_WRITE, EXEC_NETWORK_RESTRICTED, true },
	{ ORCHESTRATOR_ON_REQUEST, 0, EXEC_MODE_EXTERNAL, EXEC_NETWORK_RESTRICTED, true },
};
START_TEST(flow)
{
	rig_init(&rig, flows[_i].mode);
	rig.config.categories = flows[_i].categories;
	rig_open(&rig);
	struct exec_sandbox *sandbox = rig_sandbox(flows[_i].sandbox, flows[_i].network, NULL);

	rig.request.sandbox = sandbox;
	rig_network(&rig, "a.test", 443, 0);
	exec_sandbox_free(sandbox);
	ck_assert_uint_eq(rig.question_count, flows[_i].is_asked);
	if (!flows[_i].is_asked)
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_RULE);
	rig_done(&rig);
}
END_TEST

/* Nobody knows of which: asked all the same, naming who it may be; a denial is nobody's.
 * active_call_attribution_returns_all_matching_environment_candidates */
START_TEST(ambiguous)
{
	start(ORCHESTRATOR_ON_REQUEST);
	uint64_t first = rig_exec(&rig, "cargo build");
	uint64_t second = rig_exec(&rig, "cargo test");

	rig.request.environment = "remote";
	rig_exec(&rig, "cargo run");
	rig.request.environment = "";
	rig_network(&rig, "a.test", 443, 0);
	ck_assert_uint_eq(rig_asked(&rig)->call_count, 2);
	ck_assert_uint_eq(rig_asked(&rig)->calls[0], first);
	ck_assert_uint_eq(rig_asked(&rig)->calls[1], second);
	ck_assert(rig.attempts[0].is_paused && rig.attempts[1].is_paused);
	ck_assert(!rig.attempts[2].is_paused);
	rig_answer(&rig, 0, ORCHESTRATOR_DENY);
	rig_exit(&rig, 0, 0);
	ck_assert_int_eq(rig_ended(&rig)->networks[0], ORCHESTRATOR_NETWORK_NOTHING);
	rig_done(&rig);
}
END_TEST
/* The only one there is, where it came from, is it. */
START_TEST(the_only_one)
{
	start(ORCHESTRATOR_ON_REQUEST);
	uint64_t call = rig_exec(&rig, "cargo build");

	rig.request.environment = _i == 0 ? "" : "remote";
	rig_network(&rig, "a.test", 443, 0);
	ck_assert((rig_asked(&rig)->calls[0] == call) == (_i == 0));
	rig_answer(&rig, 0, ORCHESTRATOR_DENY);
	rig_exit(&rig, 0, 0);
	ck_assert_int_eq(rig_ended(&rig)->networks[0],
			 _i == 0 ? ORCHESTRATOR_NETWORK_BY_PERSON : ORCHESTRATOR_NETWORK_NOTHING);
	rig_done(&rig);
}
END_TEST

/* How a question ends without an answer, to the attempt that it is of. */
START_TEST(ends_without_an_answer)
{
	start(ORCHESTRATOR_ON_REQUEST);
	rig.request.on_denial = ORCHESTRATOR_STOP;
	rig_exec(&rig, "cargo build");
	uint64_t call = rig_network(&rig, "a.test", 443, rig.attempts[0].number);

	if (_i == 0)
		loop_advance(rig.loop, ORCHESTRATOR_QUESTION_MS);
	else if (_i == 1)
		orchestrator_client_gone(rig.orchestrator, RIG_CLIENT);
	else
		orchestrator_cancel(rig.orchestrator, call);
	loop_step(rig.loop);
	ck_assert_int_eq(rig_ended(&rig)->kind,
			 _i < 2 ? ORCHESTRATOR_REJECTED_NO_ANSWER : ORCHESTRATOR_CANCELLED);
	struct orchestrator_network_outcome outcome;

	orchestrator_network_look(rig.orchestrator, rig.attempts[0].number, &outcome);
	ck_assert_int_eq(outcome.kind, ORCHESTRATOR_NETWORK_DISCONNECTED);
	ck_assert(rig.attempts[0].is_stopped);
	rig_done(&rig);
}
END_TEST

/* Of an attempt that is over, or elsewhere: not even asked. */
START_TEST(of_nothing_that_runs)
{
	const struct orchestrator_access access = { ORCHESTRATOR_DESTINATION, "a.test", "https",
						    443 };
	struct err why = { 0 };
	uint64_t call;

	start(ORCHESTRATOR_ON_REQUEST);
	rig_exec(&rig, "cargo build");
	if (_i == 0)
		rig_exit(&rig, 0, 0);
	else
		rig.request.environment = "remote";
	rig.request.kind = ORCHESTRATOR_NETWORK;
	rig.request.accesses = &access;
	rig.request.access_count = 1;
	rig.request.attempt = rig.attempts[0].number;
	ck_assert_int_eq(orchestrator_start(rig.orchestrator, &rig.request, &call, &why), -EINVAL);
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
	tcase_add_loop_test(cases, words_of_reasons, 0, ORCHESTRATOR_NETWORK_REASONS);
	tcase_add_test(cases, texts_are_bounded);
	tcase_add_test(cases, blocks_are_bounded);
	tcase_add_loop_test(cases, on_denial, 0, ARRAY_SIZE(modes));
	tcase_add_loop_test(cases, nothing_denied_is_done, 0, 3);
	tcase_add_test(cases, retry_begins_anew);
	tcase_add_test(cases, deferred);
	tcase_add_loop_test(cases, deferred_denial, 0, ARRAY_SIZE(modes));
	tcase_add_test(cases, deferred_that_did_not_start_is_settled);
	tcase_add_test(cases, clock_stands_still);
	tcase_add_loop_test(cases, pending, 0, ARRAY_SIZE(others));
	tcase_add_loop_test(cases, session_hosts, 0, ARRAY_SIZE(others));
	tcase_add_loop_test(cases, inline_answer, 0, ARRAY_SIZE(inline_answers));
	tcase_add_loop_test(cases, always_that_is_not_written, 0, 2);
	tcase_add_loop_test(cases, denied_while_asked, 0, 3);
	tcase_add_loop_test(cases, flow, 0, ARRAY_SIZE(flows));
	tcase_add_test(cases, ambiguous);
	tcase_add_loop_test(cases, the_only_one, 0, 2);
	tcase_add_loop_test(cases, ends_without_an_answer, 0, 3);
	tcase_add_loop_test(cases, of_nothing_that_runs, 0, 2);
	tcase_add_loop_test(cases, context, 0, ARRAY_SIZE(contexts));
	return cases;
}
