/* A turn handles the queue in batches: it decides each request, writes the records of the batch,
 * and only then sends the verdicts. A request with a question leaves the queue; when the question
 * is settled, it returns. */
#include "gateway/execs/egress.h"
#include "gateway/decide/turn.h"
#include "gateway/approvals/sessions.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvals/approval.h"
#include "gateway/decide/decision_record.h"
#include "gateway/execs/exec_end.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/journal.h"
#include "gateway/grants/leases.h"
#include "gateway/grants/ledger.h"
#include "gateway/link/link_server.h"
#include "gateway/link/rings.h"
#include "gateway/grants/live_requests.h"
#include "gateway/execs/lookups.h"
#include "gateway/decide/protocols.h"
#include "gateway/decide/queue.h"
#include "gateway/decide/repeats.h"
#include "gateway/decide/unattended.h"
#include "policies/policies_tools.h"

static void verdict_refuse(struct policy_verdict *verdict, enum policy_reason reason)
{
	verdict->action = POLICY_DENY;
	verdict->reason = reason;
	verdict->may_private = false;
}

/* Applies an approver's answer to a verdict of ask. The promised protocol and the permission for
 * private addresses remain those of policy: they belong to the request, and requests with one key
 * may differ in them. */
static void verdict_answer(struct policy_verdict *verdict, enum policy_action action,
			   enum policy_reason reason, const char *by)
{
	if (action != POLICY_ALLOW)
		verdict_refuse(verdict, reason);
	verdict->action = action;
	verdict->reason = reason;
	(void)snprintf(verdict->by, sizeof(verdict->by), "%s", by);
}

/* A kept answer was revoked after this policy was read: the request is asked about again. Limits
 * remain if the rule that asks has them. */
static void verdict_withdraw(struct policy_verdict *verdict)
{
	verdict->action = POLICY_ASK;
	verdict->reason = POLICY_ASKED;
	verdict->rule[0] = verdict->because[0] = verdict->by[0] = '\0';
	verdict->number = 0;
}

/* Appends a person's words to the reason that policy gives. */
static void verdict_words(struct policy_verdict *verdict, const char *words)
{
	size_t len = strlen(verdict->because);

	if (words[0] != '\0')
		(void)snprintf(verdict->because + len, sizeof(verdict->because) - len, "%s%s",
			       len > 0 ? "; " : "", words); /* may be cut */
}

static void verdict_grant(struct policy_verdict *verdict, const struct grant *grant)
{
	verdict_answer(verdict, grant->action, grant->reason, grant->by);
	verdict_words(verdict, grant->words);
}

/* Applies the limits of the answer, also to the requests that waited for it. A rule that asks
 * within limits shares them among all its answers, so if the rule has an account, that one counts.
 * A line of a kept answer (@is_kept) is the same grant once more. */
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

/* When a question is settled, policy is asked again: what it now denies stays denied, and what it
 * now allows is still denied by an answer that denies. */
static void decide_answered(const struct decision *decision, const struct grant *grant,
			    struct policy_verdict *verdict)
{
	bool is_asked = verdict->action == POLICY_ASK;

	/* A denial that was remembered while the allow was being applied takes precedence. */
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

/* A remembered answer was revoked, or ended, while it was being applied to the requests that
 * waited. The rest of them are not decided by it. */
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

/* Only the person may use the page, so no command may connect to it. The sandbox's own loopback
 * (POLICY_INSIDE) does not lead to it. */
static bool is_own_page(const struct gateway *gw, const struct waiter *waiter,
			const struct policy_verdict *verdict)
{
	const struct policy_destination *dst = &waiter->facts.dst;

	return gw->config.web && dst->port == gw->config.web->port &&
	       verdict->reason != POLICY_INSIDE && policy_destination_is_loopback(dst);
}

/* The remembered answer to what policy asks. A kept answer in a file is an answer too: a denial
 * that is remembered here overrides it, and if it is also remembered here, its budget is counted
 * here. */
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

/* As decide_grant(), but skips an answer whose budget is spent: policy asks again
 * (docs/decisions/0017). If the rule that asks has the budget, a question would not help. Requests
 * that waited for an answer have already got their share from it. */
static const struct grant *decide_unspent(struct gateway *gw, const struct waiter *waiter,
					  struct policy_verdict *verdict)
{
	struct grant *grant = decide_grant(gw, waiter, verdict), *spent = NULL;

	while (grant && !waiter->decision && verdict->action == POLICY_ASK &&
	       verdict->limits.account == 0 && grant->action == POLICY_ALLOW &&
	       grant->scope != GATEWAY_ALWAYS &&
	       accounts_are_spent(&gw->accounts, &grant->limits)) {
		spent = grant;
		grant->is_spent = true; /* it is not found again */
		grant = decide_grant(gw, waiter, verdict);
	}
	if (spent && !grant) {
		char words[GATEWAY_WORDS_MAX];

		(void)snprintf(words, sizeof(words), "the limit of this answer is reached: %s",
			       spent->text); /* may be cut */
		verdict_words(verdict, words);
	}
	return grant;
}

/* A run that observes: what would be asked about is allowed, to learn from. Nobody has looked at
 * it, so private addresses stay denied, whatever the rule that asks says. */
static void verdict_observe(const struct gateway *gw, const struct policy_destination *dst,
			    struct policy_verdict *verdict)
{
	verdict->action = POLICY_ALLOW;
	verdict->reason = POLICY_OBSERVED;
	verdict->may_private = false;
	if (dst->addr.family)
		policy_decide_address(gw->config.policy, dst, verdict, &dst->addr, verdict);
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
	/* The answer is about the key that was asked about. */
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
	if (verdict->action == POLICY_ASK && gw->config.observes)
		verdict_observe(gw, &waiter->facts.dst, verdict);
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

/* True: @verdict is final. False: the waiter waits for an answer, or for its program. */
static bool decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *verdict)
{
	if (lookups_ask(waiter))
		return false; /* it is decided later */
	execs_ask_who(waiter);
	bool is_final = decide_known(gw, waiter, verdict);

	waiter->facts.asker = NULL; /* it borrows from this call */
	/* Known programs make a report that helps: looked up once, it is decided again. */
	if (is_final && verdict->action == POLICY_DENY && !waiter->decision &&
	    traffic_wants_program(&gw->trips, &waiter->facts.dst) && lookups_start(waiter))
		return false;
	return is_final;
}

/* Decides until the batch is full or the queue is empty. Returns the number of requests handled. */
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
		struct sink_record record = decision_record(gw, waiter, &slot->verdict);

		char chain[SOCKET_OWNER_CHAIN_MAX];

		if (repeats_take(gw, &waiter->facts, &slot->verdict))
			continue;
		lookups_chain(waiter, chain);
		record.chain = chain;
		record.is_awaited = true;
		(void)journal_write(gw->journal, &record); /* the commit reports errors */
	}
	return looked;
}

/* Counts it everywhere. */
static void turn_note(struct gateway *gw, struct waiter *waiter,
		      const struct policy_verdict *verdict)
{
	const struct gateway_exec *exec = execs_find(gw, waiter->facts.exec);

	if (exec)
		outcomes_verdict(&gw->outcomes, exec->outcome, &waiter->facts.dst, verdict,
				 waiter->program_pid);
	traffic_count_verdict(&gw->trips, &waiter->facts, verdict);
	traffic_count_verdict(waiter->ticket.client->trips, &waiter->facts, verdict);
	unattended_note(gw, waiter, verdict);
	if (verdict->action != POLICY_ALLOW) {
		/* The exec owns it. Not found once, it is not searched for again. */
		const char *program = exec && waiter->program ? waiter->program
				      : waiter->was_looked_up ? ""
							      : NULL;

		traffic_note_denial(&gw->trips, &waiter->facts, program);
		traffic_note_denial(waiter->ticket.client->trips, &waiter->facts, program);
	}
	if (verdict->action == POLICY_ALLOW && gw->egress)
		egress_count(gw->egress, &waiter->facts.dst, waiter->program, verdict->reason,
			     (uint64_t[GATEWAY_WAYS]){ 0 });
	if (verdict->action == POLICY_ALLOW) {
		live_requests_begin(waiter, verdict);
		ledger_begin(waiter);
		lookups_note(waiter);
	} else {
		leases_end(waiter, NULL);
	}
}

static void turn_hand_out(struct gateway *gw, struct slot *slot)
{
	struct waiter *waiter = take(slot->waiter);
	struct policy_verdict *verdict = &slot->verdict;

	waiter->slot = NULL;
	/* An earlier verdict of this batch may have ended the exec. */
	if (verdict->action == POLICY_ALLOW && waiter->facts.exec != 0 &&
	    !execs_find(gw, waiter->facts.exec))
		verdict_refuse(verdict, POLICY_EXEC_ENDED);
	turn_note(gw, waiter, verdict);
	client_settle(&waiter->ticket, verdict);
}

/* What the policy says about it here: a denial only if its exec has just ended, or if the worker is
 * not what we started. */
static void let_go_decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *verdict)
{
	execs_ask_who(waiter);
	waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
	protocols_decide(gw, waiter, verdict);
	waiter->facts.asker = NULL; /* it borrows from this call */
	if (waiter->facts.exec != 0 && !execs_find(gw, waiter->facts.exec))
		verdict_refuse(verdict, POLICY_EXEC_ENDED);
	else if (is_own_page(gw, waiter, verdict))
		verdict_refuse(verdict, POLICY_OWN_LISTENER);
	else if (verdict->action == POLICY_ASK)
		verdict_refuse(verdict, POLICY_DENIED_SINCE);
}

void turn_let_go(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	struct policy_verdict verdict, cut;

	let_go_decide(gw, waiter, &verdict);
	cut = verdict;
	if (cut.action == POLICY_DENY)
		verdict = (struct policy_verdict){ .action = POLICY_ALLOW,
						   .reason = POLICY_RULE_ALLOW,
						   .promise = waiter->facts.carries };
	const struct sink_record record = decision_record(gw, waiter, &verdict);

	(void)journal_write_later(gw->journal, &record); /* it stays, also after an error */
	turn_note(gw, waiter, &verdict);
	if (cut.action == POLICY_DENY)
		live_requests_cut_one(waiter, &cut);
	queue_schedule(gw);
}

static unsigned int turn_batch(struct gateway *gw)
{
	unsigned int looked = turn_fill_batch(gw);
	bool was_written = journal_flush(gw->journal) == 0;

	for (size_t i = 0; i < gw->batch_count; i++) {
		struct slot *slot = &gw->batch[i];

		if (!slot->waiter)
			continue; /* withdrawn because of an earlier verdict */
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

/* Ends all connections at once, however many, because their bytes can no longer be recorded. */
static void turn_close_unrecorded(struct gateway *gw)
{
	rings_hold(gw);
	approval_deny_all(gw, POLICY_AUDIT_FAILED);
	link_server_deny_held(gw);
	(void)live_requests_cut(gw, is_unrecorded, NULL);
	while (!TAILQ_EMPTY(&gw->live.cutting))
		live_requests_turn(gw);
}

void turn_take(void *arg)
{
	struct gateway *gw = arg;

	for (unsigned int looked = 1, all = 0; looked > 0 && all < GATEWAY_TURN_MAX; all += looked)
		looked = turn_batch(gw);
	if (journal_has_failed(gw->journal))
		turn_close_unrecorded(gw);
	live_requests_turn(gw);
	leases_turn(gw);
	if (!TAILQ_EMPTY(&gw->queue) || !TAILQ_EMPTY(&gw->live.cutting))
		queue_schedule(gw);
	link_server_turn(gw);
	if (gw->must_count_approvers) {
		gw->must_count_approvers = false;
		if (!approval_has_approver(gw) && approval_is_patient(gw))
			approval_deny_impatient(gw, POLICY_APPROVER_GONE);
		else if (!approval_has_approver(gw))
			approval_deny_all(gw, POLICY_APPROVER_GONE);
	}
	approval_tell_news(gw);
	exec_end_forget(gw);
	if (gw->has_aborted)
		exec_end_tell_aborted(gw);
}
