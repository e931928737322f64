/* One turn takes what is queued, a batch at a time: decide each, write the records of the batch,
 * and only then hand the verdicts out. A waiter that has to wait leaves the queue for its question;
 * one whose question is settled comes back to it. */
#include "gateway/turn.h"
#include "gateway/sessions.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approval.h"
#include "gateway/execs.h"
#include "gateway/gateway_tools.h"
#include "gateway/journal.h"
#include "gateway/leases.h"
#include "gateway/link_server.h"
#include "gateway/live.h"
#include "gateway/lookups.h"
#include "gateway/protocols.h"
#include "gateway/repeats.h"
#include "gateway/unattended.h"
#include "policies/policies_tools.h"

static void turn_run(void *arg);

void turn_schedule(struct gateway *gw)
{
	if (!gw->turn.is_armed)
		loop_defer(gw->loop, &gw->turn, turn_run, gw);
}

void turn_enqueue(struct gateway *gw, struct waiter *waiter)
{
	TAILQ_INSERT_TAIL(&gw->queue, waiter, entry);
	waiter->is_queued = true;
	turn_schedule(gw);
}

static void verdict_refuse(struct policy_verdict *verdict, enum policy_reason reason)
{
	verdict->action = POLICY_DENY;
	verdict->reason = reason;
	verdict->may_private = false;
}

/* A person's word on what policy asks. The promise and the leave for private addresses stay
 * policy's: they are the request's own, and requests of one key may differ in them. */
static void verdict_answer(struct policy_verdict *verdict, enum policy_action action,
			   enum policy_reason reason, const char *by)
{
	if (action != POLICY_ALLOW)
		verdict_refuse(verdict, reason);
	verdict->action = action;
	verdict->reason = reason;
	(void)snprintf(verdict->by, sizeof(verdict->by), "%s", by);
}

/* A kept answer that was taken back, in a policy that was read before: what is left of it is the
 * question. Its limits stay, where the rule that asks has some. */
static void verdict_withdraw(struct policy_verdict *verdict)
{
	verdict->action = POLICY_ASK;
	verdict->reason = POLICY_ASKED;
	verdict->rule[0] = verdict->because[0] = verdict->by[0] = '\0';
	verdict->number = 0;
}

/* A person's words stand behind what the policy says of itself. */
static void verdict_words(struct policy_verdict *verdict, const char *words)
{
	size_t len = strlen(verdict->because);

	if (words[0] != '\0')
		(void)snprintf(verdict->because + len, sizeof(verdict->because) - len, "%s%s",
			       len > 0 ? "; " : "", words); /* cut is fine */
}

static void verdict_grant(struct policy_verdict *verdict, const struct grant *grant)
{
	verdict_answer(verdict, grant->action, grant->reason, grant->by);
	verdict_words(verdict, grant->words);
}

/* Also of those who waited for the answer: its limits are theirs. A rule that asks within limits
 * has them for all its answers together, so the account is the rule's where it has one; the line of
 * a kept answer (@is_kept) is the grant itself once more. */
static void verdict_limits(struct policy_verdict *verdict, const struct grant *grant, bool is_kept)
{
	struct policy_limits limits = grant->limits;

	if (is_kept) {
		policy_limits_narrow(&verdict->limits, &limits);
		return;
	}
	policy_limits_narrow(&limits, &verdict->limits);
	verdict->limits = limits;
}

/* Policy has the last word when a question is settled, too: what it denies by now stays denied, and
 * what it allows by now is still denied by a denial. */
static void decide_answered(const struct decision *decision, const struct grant *grant,
			    struct policy_verdict *verdict)
{
	bool is_asked = verdict->action == POLICY_ASK;

	/* A denial that was recorded while the allow was on its way wins. */
	if (verdict->action != POLICY_DENY && grant && grant->action != POLICY_ALLOW &&
	    decision->action == POLICY_ALLOW) {
		verdict_grant(verdict, grant);
		return;
	}
	if (!is_asked && (verdict->action != POLICY_ALLOW || decision->action == POLICY_ALLOW))
		return;
	verdict_answer(verdict, decision->action, decision->reason, decision->by);
	verdict_words(verdict, decision->words);
}

/* An answer that was remembered and is so no more: it was taken back, or ran out, while it was on
 * its way to those who waited. It is no answer to the rest of them. */
static bool decision_is_void(const struct waiter *waiter, const struct grant *grant,
			     const struct policy_verdict *verdict)
{
	const struct decision *decision = waiter->decision;

	if (!decision || decision->action != POLICY_ALLOW || verdict->action != POLICY_ASK || grant)
		return false;
	return decision->reason == POLICY_GRANTED_SESSION ||
	       decision->reason == POLICY_GRANTED_ALWAYS ||
	       (decision->reason == POLICY_GRANTED_EXEC && waiter->facts.exec != 0);
}

/* The page is the person's. The command's own loopback is another one. */
static bool is_own_page(const struct gateway *gw, const struct waiter *waiter,
			const struct policy_verdict *verdict)
{
	const struct policy_destination *dst = &waiter->facts.dst;

	return gw->config.web && dst->port == gw->config.web->port &&
	       verdict->reason != POLICY_INSIDE && policy_destination_is_loopback(dst);
}

/* What is remembered of what policy asks. An answer that is kept in a file is one as well: a denial
 * that is remembered here beats it, and where it is remembered here, it is counted here. */
static struct grant *decide_grant(struct gateway *gw, const struct waiter *waiter,
				  const struct policy_verdict *verdict)
{
	struct grant *grant;

	if (verdict->action != POLICY_ASK && verdict->reason != POLICY_ANSWER_ALLOW)
		return NULL;
	grant = grants_find(&gw->grants, waiter->facts.exec, sessions_of_waiter(waiter),
			    &waiter->facts, &waiter->program_file);
	if (grant && verdict->action != POLICY_ASK && grant->action == POLICY_ALLOW &&
	    grant->scope != GATEWAY_ALWAYS)
		return NULL;
	return grant;
}

/* The same, but for an answer whose budget is spent: that is asked about again
 * (docs/decisions/0170). Where the rule that asks has the budget there is nothing to ask. Of an
 * answer that is on its way, those who waited have what it gave. */
static const struct grant *decide_unspent(struct gateway *gw, const struct waiter *waiter,
					  struct policy_verdict *verdict)
{
	struct grant *grant = decide_grant(gw, waiter, verdict), *spent = NULL;

	while (grant && !waiter->decision && verdict->action == POLICY_ASK &&
	       verdict->limits.account == 0 && grant->action == POLICY_ALLOW &&
	       grant->scope != GATEWAY_ALWAYS &&
	       accounts_are_spent(&gw->accounts, &grant->limits)) {
		spent = grant;
		grant->is_spent = true; /* it is found no more */
		grant = decide_grant(gw, waiter, verdict);
	}
	if (spent && !grant) {
		char words[GATEWAY_WORDS_MAX];

		(void)snprintf(words, sizeof(words), "what was allowed is spent: %s",
			       spent->text); /* cut is fine */
		verdict_words(verdict, words);
	}
	return grant;
}

static bool decide_known(struct gateway *gw, struct waiter *waiter, struct policy_verdict *verdict)
{
	const struct decision *decision = waiter->decision;
	bool is_denied = decision && decision->action != POLICY_ALLOW;

	*verdict = (struct policy_verdict){ .action = POLICY_DENY };
	if (!is_denied && waiter->facts.exec != 0 && !execs_find(gw, waiter->facts.exec)) {
		verdict_refuse(verdict, POLICY_EXEC_ENDED);
		return true;
	}
	waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
	/* What was answered is the key that was asked about. */
	if (waiter->decision)
		policy_decide(gw->config.policy, &waiter->facts, verdict);
	else
		protocols_decide(gw, waiter, verdict);
	if (verdict->reason == POLICY_ANSWER_ALLOW &&
	    grants_are_withdrawn(&gw->grants, &waiter->facts))
		verdict_withdraw(verdict);
	if (is_own_page(gw, waiter, verdict))
		verdict_refuse(verdict, POLICY_OWN_LISTENER);
	const struct grant *grant = decide_unspent(gw, waiter, verdict);
	bool is_kept = verdict->reason == POLICY_ANSWER_ALLOW;

	if (decision_is_void(waiter, grant, verdict)) {
		approval_decision_drop(take(waiter->decision));
		decision = NULL;
	}
	if (decision)
		decide_answered(decision, grant, verdict);
	else if (grant)
		verdict_grant(verdict, grant);
	waiter->grant = grant && verdict->action == POLICY_ALLOW ? grant->id_node.number : 0;
	if (waiter->grant != 0)
		verdict_limits(verdict, grant, is_kept);
	if (verdict->action != POLICY_ASK)
		return true;
	const char *words = "";
	enum policy_reason refused = journal_has_failed(gw->journal)
					     ? POLICY_AUDIT_FAILED
					     : approval_join(gw, waiter, verdict, &words);

	if (refused == POLICY_NONE)
		return false;
	verdict_refuse(verdict, refused);
	verdict_words(verdict, words);
	return true;
}

/* True: @verdict is final. False: the waiter waits on a question, or for its program. */
static bool decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *verdict)
{
	if (execs_look_up(waiter))
		return false; /* it comes back */
	execs_ask_who(waiter);
	bool is_final = decide_known(gw, waiter, verdict);

	waiter->facts.asker = NULL; /* it borrows from here */
	return is_final;
}

static struct sink_record turn_record(const struct gateway *gw, const struct waiter *waiter,
				      const struct policy_verdict *verdict)
{
	struct sink_record record = {
		.event = SINK_DECISION,
		.exec = waiter->facts.exec,
		.facts = &waiter->facts,
		.verdict = verdict,
		.reason = verdict->reason,
	};

	journal_stamp(gw->journal, &record);
	/* Its text is of the exec. */
	record.program = execs_find(gw, waiter->facts.exec) ? waiter->program : NULL;
	record.duration_ms = (uint64_t)(record.mono_ms - waiter->since_ms);
	return record;
}

int turn_write_down(struct gateway *gw, const struct sink_record *record)
{
	(void)journal_write(gw->journal, record); /* a failure is kept, and seen at the commit */
	int r = journal_commit(gw->journal);

	if (r < 0)
		turn_schedule(gw); /* denies them */
	return r;
}

void turn_record_denial(struct gateway *gw, const struct waiter *waiter, enum policy_reason reason)
{
	struct policy_verdict verdict = { .action = POLICY_DENY };

	verdict_refuse(&verdict, reason);
	const struct sink_record record = turn_record(gw, waiter, &verdict);

	/* Nobody is told this verdict; a failure is kept, and later ones are denied. */
	if (!repeats_take(gw, &waiter->facts, &verdict))
		(void)journal_write_later(gw->journal, &record);
	turn_schedule(gw);
	trips_count_verdict(&gw->trips, &waiter->facts.dst, &verdict);
	trips_count_verdict(waiter->ticket.client->trips, &waiter->facts.dst, &verdict);
}

/* Decides until the batch is full or the queue empty. Returns how many it looked at. */
static unsigned int turn_fill_batch(struct gateway *gw)
{
	unsigned int looked = 0;
	struct waiter *waiter;

	gw->batch_count = 0;
	while (gw->batch_count < GATEWAY_BATCH && (waiter = TAILQ_FIRST(&gw->queue))) {
		struct slot *slot = &gw->batch[gw->batch_count];

		TAILQ_REMOVE(&gw->queue, waiter, entry);
		waiter->is_queued = false;
		looked++;
		if (!decide(gw, waiter, &slot->verdict))
			continue;
		lookups_remove(waiter);
		approval_decision_drop(take(waiter->decision));
		if (slot->verdict.action == POLICY_ALLOW)
			leases_begin(waiter, &slot->verdict);
		slot->waiter = waiter;
		waiter->slot = slot;
		gw->batch_count++;
		struct sink_record record = turn_record(gw, waiter, &slot->verdict);

		char chain[WHO_CHAIN_MAX];

		if (repeats_take(gw, &waiter->facts, &slot->verdict))
			continue;
		lookups_chain(waiter, chain);
		record.chain = chain;
		record.is_awaited = true;
		(void)journal_write(gw->journal,
				    &record); /* the commit says whether all went well */
	}
	return looked;
}

static void turn_hand_out(struct gateway *gw, struct slot *slot)
{
	struct waiter *waiter = take(slot->waiter);
	struct policy_verdict *verdict = &slot->verdict;
	const struct gateway_exec *exec = execs_find(gw, waiter->facts.exec);

	waiter->slot = NULL;
	/* Whoever was told before may have ended it. */
	if (verdict->action == POLICY_ALLOW && waiter->facts.exec != 0 && !exec)
		verdict_refuse(verdict, POLICY_EXEC_ENDED);
	if (exec)
		outcomes_verdict(&gw->outcomes, exec->outcome, &waiter->facts.dst, verdict);
	trips_count_verdict(&gw->trips, &waiter->facts.dst, verdict);
	trips_count_verdict(waiter->ticket.client->trips, &waiter->facts.dst, verdict);
	unattended_note(gw, waiter, verdict);
	if (verdict->action == POLICY_ALLOW)
		live_begin(waiter, verdict);
	else
		leases_end(waiter, NULL);
	client_settle(&waiter->ticket, verdict);
}

static unsigned int turn_batch(struct gateway *gw)
{
	unsigned int looked = turn_fill_batch(gw);
	bool was_written = journal_flush(gw->journal) == 0;

	for (size_t i = 0; i < gw->batch_count; i++) {
		struct slot *slot = &gw->batch[i];

		if (!slot->waiter)
			continue; /* withdrawn by one that was told before */
		if (!was_written)
			verdict_refuse(&slot->verdict, POLICY_AUDIT_FAILED);
		turn_hand_out(gw, slot);
	}
	gw->batch_count = 0;
	return looked;
}

static bool is_unrecorded(struct waiter *waiter, struct policy_verdict *ret, void *arg)
{
	ret->reason = POLICY_AUDIT_FAILED;
	return true;
}

/* What moves bytes that nobody can write down ends now, all of it, however much it is. */
static void turn_close_unrecorded(struct gateway *gw)
{
	approval_deny_all(gw, POLICY_AUDIT_FAILED);
	(void)live_cut(gw, is_unrecorded, NULL);
	while (!TAILQ_EMPTY(&gw->live.cutting))
		live_turn(gw);
}

static void turn_run(void *arg)
{
	struct gateway *gw = arg;

	for (unsigned int looked = 1, all = 0; looked > 0 && all < GATEWAY_TURN_MAX; all += looked)
		looked = turn_batch(gw);
	if (journal_has_failed(gw->journal))
		turn_close_unrecorded(gw);
	live_turn(gw);
	leases_turn(gw);
	if (!TAILQ_EMPTY(&gw->queue) || !TAILQ_EMPTY(&gw->live.cutting))
		turn_schedule(gw);
	link_server_turn(gw);
	if (gw->must_count_approvers) {
		gw->must_count_approvers = false;
		if (!approval_has_approver(gw) && gw->config.is_patient)
			approval_deny_impatient(gw, POLICY_APPROVER_GONE);
		else if (!approval_has_approver(gw))
			approval_deny_all(gw, POLICY_APPROVER_GONE);
	}
	approval_tell_news(gw);
	execs_forget_ended(gw);
	if (gw->has_aborted)
		execs_tell_aborted(gw);
}
