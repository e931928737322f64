#include "gateway/approvals/approval.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/execs/execs.h"
#include "gateway/approvals/late_answers.h"
#include "gateway/decide/limit_record.h"
#include "gateway/execs/lookups.h"
#include "gateway/approvals/risk.h"
#include "gateway/decide/queue.h"
#include "gateway/decide/unattended.h"
#include "gateway/execs/socket_owner.h"
#include "policies/policies_tools.h"

#define ID_RUN_MAX 8 /* the characters of the run's id before the number */

bool approval_has_approver(const struct gateway *gw)
{
	for (size_t i = 0; i < gw->approver_count; i++) {
		if (gw->approvers[i].ops->is_attached(gw->approvers[i].self))
			return true;
	}
	return false;
}

bool approval_is_patient(const struct gateway *gw)
{
	return gw->config.patience_ms < 0 || gw->patience.is_armed;
}

void approval_has_news(struct approval *approval)
{
	if (!approval->has_news)
		TAILQ_INSERT_TAIL(&approval->gw->news, approval, news_entry);
	approval->has_news = true;
	queue_schedule(approval->gw);
}

static void approval_deny(struct approval *approval, enum policy_reason reason)
{
	approval_settle(approval, &(struct decision){ .action = POLICY_DENY, .reason = reason },
			policy_reason_sentence(reason));
}

static void approval_expired(void *arg)
{
	struct approval *approval = arg;

	approval_deny(approval, POLICY_PROMPT_TIMEOUT);
}

void approval_await(struct approval *approval)
{
	struct loop *loop = approval->gw->loop;
	int64_t left_ms = approval->due_ms - loop_now_ms(loop);

	loop_timer_start(loop, &approval->deadline, left_ms > 0 ? left_ms : 0, approval_expired,
			 approval);
}

void approval_touch(struct approval *approval)
{
	struct loop *loop = approval->gw->loop;
	int64_t now_ms = loop_now_ms(loop), due_ms = now_ms + GATEWAY_TOUCH_MS;
	int64_t last_ms = 2 * approval->due_ms - approval->asked_ms; /* it has not moved yet */

	if (approval->is_touched)
		return;
	approval->is_touched = true;
	if (due_ms > last_ms)
		due_ms = last_ms;
	if (due_ms > approval->due_ms) {
		approval->due_ms = due_ms;
		loop_timer_start(loop, &approval->deadline, due_ms - now_ms, approval_expired,
				 approval);
	}
	approval_has_news(approval);
}

/* True: @dst is an address that policy guards, and it is asked about without permission to dial
 * it. */
bool approval_is_private(const struct gateway *gw, const struct policy_destination *dst)
{
	const struct policy_verdict plain = { .action = POLICY_ALLOW };
	struct policy_verdict verdict;

	if (dst->addr.family == 0)
		return false;
	policy_decide_address(gw->config.policy, dst, &plain, &dst->addr, &verdict);
	return verdict.action == POLICY_DENY && verdict.reason == POLICY_PRIVATE_ADDRESS;
}

/* True: its risk has changed. */
static bool approval_weigh(struct approval *approval)
{
	unsigned int risk = risk_of(approval->gw, &approval->dst);
	char warning[RISK_WORDS_MAX];

	if (approval->warning && risk == approval->risk)
		return false;
	risk_words(approval->gw, risk, &approval->dst, warning);
	approval->risk = risk;
	free(approval->warning);
	approval->warning = mem_strdup(warning);
	return true;
}

void approval_weigh_all(struct gateway *gw)
{
	struct approval *approval;

	TAILQ_FOREACH (approval, &gw->questions, entry) {
		if (approval_weigh(approval))
			approval_has_news(approval);
	}
}

static struct approval *approval_new(struct waiter *waiter, const struct policy_verdict *asked)
{
	struct gateway *gw = waiter->gw;
	const struct policy_destination *dst = &waiter->facts.dst;
	struct approval *approval = mem_new(sizeof(*approval));
	int64_t timeout_ms = gw->config.prompt_timeout_ms;
	char chain[SOCKET_OWNER_CHAIN_MAX];

	approval->gw = gw;
	approval->serial = ++gw->last_serial;
	approval->dst = *dst;
	approval->times = 1;
	if (recent_take(&gw->graces, dst, loop_now_ms(gw->loop), &approval->number,
			&approval->times))
		approval->times++;
	else
		approval->number = ++gw->last_number;
	(void)snprintf(approval->id, sizeof(approval->id), "%.*s-%" PRIu64, ID_RUN_MAX,
		       gw->config.run, approval->number);
	approval->rule = mem_strdup(asked->rule);
	approval->because = mem_strdup(asked->because);
	approval->is_private = approval_is_private(gw, dst);
	/* The program of the first request; later ones are shown by their commands. */
	approval->program = text_visible_dup(waiter->program ? waiter->program : "");
	approval->program_file = waiter->program_file;
	lookups_chain(waiter, chain);
	approval->chain = mem_strdup(chain);
	(void)approval_weigh(approval);
	approval->asked_ms = loop_now_ms(gw->loop);
	approval->due_ms = approval->asked_ms + timeout_ms;
	TAILQ_INIT(&approval->parties);
	keys_add(&gw->approvals, &approval->node, 0, &approval->dst);
	keys_add(&gw->numbers, &approval->by_number, approval->number, NULL);
	TAILQ_INSERT_TAIL(&gw->questions, approval, entry);
	gw->question_count++;
	loop_timer_start(gw->loop, &approval->deadline, timeout_ms, approval_expired, approval);
	return approval;
}

/* Removes it from every table, so that it is not found again. */
static void approval_unlink(struct approval *approval)
{
	struct gateway *gw = approval->gw;

	for (struct question_walk *walk = gw->walks; walk; walk = walk->outer) {
		if (walk->next == approval)
			walk->next = TAILQ_NEXT(approval, entry);
	}
	keys_remove(&gw->approvals, &approval->node);
	keys_remove(&gw->numbers, &approval->by_number);
	TAILQ_REMOVE(&gw->questions, approval, entry);
	gw->question_count--;
	if (approval->has_news)
		TAILQ_REMOVE(&gw->news, approval, news_entry);
	if (gw->telling == approval)
		gw->telling = NULL;
	loop_timer_stop(&approval->deadline);
}

static void approval_free(struct approval *approval)
{
	assert(TAILQ_EMPTY(&approval->parties));
	free(approval->rule);
	free(approval->because);
	free(approval->plea);
	free(approval->program);
	free(approval->chain);
	free(approval->warning);
	free(approval->how);
	free(approval);
}

static void party_release(struct party *party, struct decision *decision);
static struct decision *decision_new(const struct decision *settled);

/* The other parties of the question continue to wait. */
static void party_expired(void *arg)
{
	struct party *party = arg;
	struct approval *approval = party->approval;

	if (approval->waiting == party->count) {
		approval_expired(approval);
		return;
	}
	struct decision *decision = decision_new(
		&(struct decision){ .action = POLICY_DENY, .reason = POLICY_PROMPT_TIMEOUT });

	party_release(party, decision);
	approval_decision_drop(decision);
	approval_has_news(approval);
}

/* The question stays open until the last deadline of its parties. */
static void party_await(struct party *party, int64_t question_ms)
{
	struct approval *approval = party->approval;
	struct loop *loop = approval->gw->loop;
	int64_t due_ms = loop_now_ms(loop) + question_ms;

	if (question_ms > 0)
		loop_timer_start(loop, &party->deadline, question_ms, party_expired, party);
	else
		due_ms = approval->asked_ms + approval->gw->config.prompt_timeout_ms;
	bool is_alone = TAILQ_FIRST(&approval->parties) == party && !TAILQ_NEXT(party, entry);

	if (due_ms > approval->due_ms || (is_alone && question_ms > 0)) {
		approval->due_ms = due_ms;
		approval_await(approval);
	}
}

static struct party *party_find_or_new(struct approval *approval, struct gateway_exec *exec)
{
	struct gateway *gw = approval->gw;
	uint64_t id = exec ? exec->node.number : 0;
	struct key_node *node = keys_find(&gw->parties, id, &approval->dst);

	if (node)
		return container_of(node, struct party, node);
	struct party *party = mem_new(sizeof(*party));

	party->approval = approval;
	party->exec = exec;
	TAILQ_INIT(&party->waiters);
	keys_add(&gw->parties, &party->node, id, &approval->dst);
	TAILQ_INSERT_TAIL(&approval->parties, party, entry);
	party_await(party, exec ? exec->question_ms : 0);
	if (exec) {
		LIST_INSERT_HEAD(&exec->parties, party, exec_entry);
		exec->party_count++;
		approval->party_count++;
		outcomes_wait(&gw->outcomes, exec->outcome, 1);
	}
	return party;
}

/* Its waiters have been moved already. */
static void party_free(struct party *party)
{
	struct approval *approval = party->approval;

	assert(TAILQ_EMPTY(&party->waiters));
	loop_timer_stop(&party->deadline);
	keys_remove(&approval->gw->parties, &party->node);
	TAILQ_REMOVE(&approval->parties, party, entry);
	if (party->exec) {
		LIST_REMOVE(party, exec_entry);
		party->exec->party_count--;
		approval->party_count--;
		outcomes_wait(&approval->gw->outcomes, party->exec->outcome, -1);
	}
	free(party);
}

/* NULL: it may be asked, or (*@ret_is_looking) its program is being looked up. The lookup comes
 * last, because it is the most expensive check. */
static const char *approval_is_flood(struct waiter *waiter, bool *ret_is_looking)
{
	struct gateway *gw = waiter->gw;
	struct gateway_exec *exec = execs_find(gw, waiter->facts.exec);
	struct flood_source source = { .exec = exec ? &exec->flood : NULL,
				       .dst = &waiter->facts.dst };
	int64_t now_ms = loop_now_ms(gw->loop);
	const char *words = limit_record_questions(gw, exec);

	if (!words)
		words = floods_check(&gw->floods, &source, now_ms);

	*ret_is_looking = !words && lookups_start(waiter);
	if (words || *ret_is_looking)
		return words;
	source.program = &waiter->program_file;
	return floods_take(&gw->floods, &source, now_ms);
}

enum policy_reason approval_join(struct gateway *gw, struct waiter *waiter,
				 const struct policy_verdict *asked, const char **ret_words)
{
	struct key_node *node = keys_find(&gw->approvals, 0, &waiter->facts.dst);
	struct approval *approval = node ? container_of(node, struct approval, node) : NULL;

	if (gw->waiting >= GATEWAY_WAITING_MAX ||
	    (approval ? approval->waiting >= GATEWAY_WAITERS_MAX
		      : gw->question_count >= GATEWAY_QUESTIONS_MAX))
		return POLICY_OVERLOADED;
	const struct gateway_exec *exec = execs_find(gw, waiter->facts.exec);
	bool is_impatient = exec && exec->is_impatient;

	/* A bundle also names the program of the request, so it is looked up first. */
	if ((is_impatient || (!approval && !approval_is_patient(gw))) && !approval_has_approver(gw))
		return unattended_wants(waiter) && lookups_start(waiter) ? POLICY_NONE
									 : POLICY_NO_APPROVER;
	enum policy_reason futile =
		approval || asked->may_private
			? POLICY_NONE
			: recent_futile(&gw->futile, &waiter->facts.dst, loop_now_ms(gw->loop));

	if (futile != POLICY_NONE) {
		*ret_words =
			"this name has just resolved to a denied address; no question is asked";
		return futile;
	}
	bool is_looking = false;
	const char *flood = approval ? NULL : approval_is_flood(waiter, &is_looking);

	if (flood) {
		*ret_words = flood;
		return POLICY_OVERLOADED;
	}
	if (is_looking)
		return POLICY_NONE;
	if (!approval)
		approval = approval_new(waiter, asked);
	waiter->party = party_find_or_new(approval, execs_find(gw, waiter->facts.exec));
	TAILQ_INSERT_TAIL(&waiter->party->waiters, waiter, entry);
	waiter->party->count++;
	if (!approval->plea && waiter->facts.plea)
		approval->plea = text_visible_dup(waiter->facts.plea);
	approval->waiting++;
	gw->waiting++;
	approval_has_news(approval);
	return POLICY_NONE;
}

static void party_leave(struct waiter *waiter)
{
	struct party *party = waiter->party;
	struct approval *approval = party->approval;

	TAILQ_REMOVE(&party->waiters, waiter, entry);
	waiter->party = NULL;
	approval->waiting--;
	approval->gw->waiting--;
	if (--party->count == 0)
		party_free(party);
}

void approval_let_go(struct waiter *waiter)
{
	party_leave(waiter);
	queue_add(waiter);
}

void approval_leave(struct waiter *waiter)
{
	struct approval *approval = waiter->party->approval;

	party_leave(waiter);
	if (approval->waiting == 0)
		approval_deny(approval, POLICY_CLIENT_LEFT);
	else
		approval_has_news(approval);
}

struct approval *approval_find(const struct gateway *gw, const char *id)
{
	const char *dash = strrchr(id, '-');
	uint64_t number;

	if (!dash || text_to_u64(dash + 1, strlen(dash + 1), UINT64_MAX, &number) < 0)
		return NULL;
	struct key_node *node = keys_find(&gw->numbers, number, NULL);
	struct approval *approval = node ? container_of(node, struct approval, by_number) : NULL;

	return approval && strcmp(approval->id, id) == 0 ? approval : NULL;
}

void approval_walk(struct gateway *gw, void (*each)(struct approval *approval, void *arg),
		   void *arg)
{
	struct question_walk walk = { TAILQ_FIRST(&gw->questions), gw->walks };
	struct approval *approval;

	gw->walks = &walk;
	while ((approval = walk.next)) {
		walk.next = TAILQ_NEXT(approval, entry);
		each(approval, arg);
	}
	gw->walks = walk.outer;
}

static struct decision *decision_new(const struct decision *settled)
{
	struct decision *decision = mem_new(sizeof(*decision));

	*decision = *settled;
	decision->refs = 1;
	return decision;
}

void approval_decision_drop(struct decision *decision)
{
	if (decision && --decision->refs == 0)
		free(decision);
}

/* Queues every waiter in @party and frees the party. */
static void party_release(struct party *party, struct decision *decision)
{
	struct gateway *gw = party->approval->gw;
	struct waiter *waiter;

	TAILQ_FOREACH (waiter, &party->waiters, entry) {
		waiter->party = NULL;
		waiter->is_queued = true;
		waiter->decision = decision;
		decision->refs++;
	}
	TAILQ_CONCAT(&gw->queue, &party->waiters, entry);
	gw->waiting -= party->count;
	party->approval->waiting -= party->count;
	party_free(party);
	queue_schedule(gw);
}

/* No approver answered, and the requester may ask again. */
static bool approval_is_unanswered(enum policy_reason reason)
{
	return reason == POLICY_PROMPT_TIMEOUT || reason == POLICY_APPROVER_GONE ||
	       reason == POLICY_CLIENT_LEFT;
}

void approval_settle(struct approval *approval, const struct decision *settled, const char *how)
{
	struct gateway *gw = approval->gw;
	struct decision *decision = decision_new(settled);

	approval_unlink(approval);
	if (approval_is_unanswered(settled->reason))
		recent_leave(&gw->graces, &approval->dst, approval->number, approval->times,
			     loop_now_ms(gw->loop));
	while (!TAILQ_EMPTY(&approval->parties))
		party_release(TAILQ_FIRST(&approval->parties), decision);
	approval_decision_drop(decision);
	late_answers_question_ended(approval, settled->reason, how);
	const struct approver_end end = {
		.id = approval->id,
		.action = settled->action,
		.reason = settled->reason,
		.by = settled->by,
		.how = how,
		.about = &approval->dst,
		.age_ms = loop_now_ms(gw->loop) - approval->asked_ms,
	};

	for (size_t i = 0; approval->was_asked && i < gw->approver_count; i++)
		gw->approvers[i].ops->retract(gw->approvers[i].self, &end);
	approval_free(approval);
}

void approval_deny_all(struct gateway *gw, enum policy_reason reason)
{
	struct approval *approval;

	while ((approval = TAILQ_FIRST(&gw->questions)))
		approval_deny(approval, reason);
}

void approval_exec_ended(struct gateway *gw, struct gateway_exec *exec)
{
	struct decision *decision = decision_new(
		&(struct decision){ .action = POLICY_DENY, .reason = POLICY_EXEC_ENDED });
	struct party *party;

	while ((party = LIST_FIRST(&exec->parties))) {
		struct approval *approval = party->approval;

		party_release(party, decision);
		if (approval->waiting == 0)
			approval_deny(approval, POLICY_EXEC_ENDED);
		else
			approval_has_news(approval);
	}
	approval_decision_drop(decision);
}

static void approval_deny_parties(struct approval *approval, void *arg)
{
	struct decision *decision = arg;
	struct party *party = TAILQ_FIRST(&approval->parties);
	bool has_left = false;

	while (party) {
		struct party *next = TAILQ_NEXT(party, entry);

		if (party->exec && party->exec->is_impatient) {
			party_release(party, decision);
			has_left = true;
		}
		party = next;
	}
	if (approval->waiting == 0)
		approval_settle(approval, decision, policy_reason_sentence(decision->reason));
	else if (has_left)
		approval_has_news(approval);
}

void approval_deny_impatient(struct gateway *gw, enum policy_reason reason)
{
	struct decision *decision =
		decision_new(&(struct decision){ .action = POLICY_DENY, .reason = reason });

	approval_walk(gw, approval_deny_parties, decision);
	approval_decision_drop(decision);
}

/* A lone run has one command, so that exec and session are the same. */
static bool approval_is_shared(const struct gateway *gw)
{
	const struct gateway_config *config = &gw->config;

	return config->embedded || !config->session || !config->run ||
	       strcmp(config->session, config->run) != 0;
}

void approval_describe(const struct approval *approval, struct approver_question *ret)
{
	int64_t now_ms = loop_now_ms(approval->gw->loop);
	const struct party *party;
	size_t count = 0;

	*ret = (struct approver_question){
		.serial = approval->serial,
		.dst = approval->dst,
		.waiting = approval->waiting,
		.command_count = approval->party_count,
		.rule = approval->rule,
		.because = approval->because,
		.age_ms = now_ms - approval->asked_ms,
		.left_ms = approval->due_ms > now_ms ? approval->due_ms - now_ms : 0,
		.is_private = approval->is_private,
		.is_shared = approval_is_shared(approval->gw),
		.is_touched = approval->is_touched,
		.plea = approval->plea ? approval->plea : "",
		.program = approval->program,
		.chain = approval->chain,
		.risk = approval->risk,
		.times = approval->times,
		.warning = approval->warning,
	};
	risk_typed(&approval->dst, ret->typed);
	memcpy(ret->id, approval->id, sizeof(ret->id));
	TAILQ_FOREACH (party, &approval->parties, entry) {
		if (party->exec && count < APPROVER_COMMANDS_MAX) {
			ret->execs[count] = party->exec->node.number;
			ret->commands[count++] = party->exec->command;
		}
		if (count == APPROVER_COMMANDS_MAX)
			break;
	}
}

/* An approver may answer at once, which frees @approval: gw->telling is NULL then. */
static void approval_tell(struct approval *approval)
{
	struct gateway *gw = approval->gw;
	bool is_new = !approval->was_asked;
	struct approver_question question;

	approval_describe(approval, &question);
	approval->was_asked = true;
	gw->telling = approval;
	for (size_t i = 0; i < gw->approver_count && gw->telling == approval; i++) {
		struct approver_seat seat = gw->approvers[i];

		if (is_new)
			seat.ops->ask(seat.self, &question);
		else
			seat.ops->changed(seat.self, &question);
	}
	gw->telling = NULL;
}

void approval_tell_news(struct gateway *gw)
{
	struct approval *approval;

	/* At most one round: news that approvers cause waits for the next turn. */
	unsigned int budget = gw->question_count;

	while (budget-- > 0 && (approval = TAILQ_FIRST(&gw->news))) {
		TAILQ_REMOVE(&gw->news, approval, news_entry);
		approval->has_news = false;
		approval_tell(approval);
	}
	if (!TAILQ_EMPTY(&gw->news))
		queue_schedule(gw);
}
