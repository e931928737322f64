#include "gateway/gateway_open.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvals/agent_questions.h"
#include "gateway/approvals/answer.h"
#include "gateway/approvals/approval.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/state.h"
#include "gateway/execs/exec_end.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"
#include "gateway/approvals/inquiries.h"
#include "gateway/audit/journal.h"
#include "gateway/grants/persist.h"
#include "gateway/approvals/late_answers.h"
#include "gateway/grants/ledger.h"
#include "gateway/link/link_server.h"
#include "gateway/link/rings.h"
#include "gateway/grants/live_requests.h"
#include "gateway/link/local.h"
#include "gateway/execs/lookups.h"
#include "gateway/approvals/proposals.h"
#include "gateway/decide/queue.h"
#include "gateway/decide/reload.h"
#include "gateway/decide/repeats.h"
#include "gateway/execs/egress.h"
#include "gateway/decide/review.h"
#include "gateway/approvals/known_destinations.h"
#include "gateway/decide/turn.h"
#include "policies/policies_gate.h"

static void config_copy(struct gateway_config *ours, const struct gateway_config *config)
{
	*ours = *config;
	ours->session = mem_strdup(config->session ? config->session : "");
	ours->run = mem_strdup(config->run ? config->run : "");
	ours->audit_path = mem_strdup_or_null(config->audit_path);
	ours->audit_dir = mem_strdup_or_null(config->audit_dir);
	ours->key_dir = mem_strdup_or_null(config->key_dir);
	ours->answers_path = mem_strdup_or_null(config->answers_path);
	ours->control_dir = mem_strdup_or_null(config->control_dir);
	ours->seen_path = mem_strdup_or_null(config->seen_path);
	if (ours->prompt_timeout_ms <= 0)
		ours->prompt_timeout_ms = GATEWAY_DEFAULT_TIMEOUT; /* every wait has a deadline */
}

static void config_done(struct gateway_config *ours)
{
	const char *texts[] = { ours->session,     ours->run,      ours->audit_path,
				ours->audit_dir,   ours->key_dir,  ours->answers_path,
				ours->control_dir, ours->seen_path };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free((char *)(uintptr_t)texts[i]); /* config_copy() made them */
}

static int open_approvers(struct gateway *gw, const struct approver_ops *const *table,
			  struct err *why)
{
	for (size_t i = 0; table[i]; i++) {
		struct err told = { 0 };
		struct approver *self = table[i]->open(gw, gw->loop, &gw->config, &told);

		if (!self && told.text[0] != '\0')
			return err_set(why, -EIO, "%s", told.text);
		if (!self)
			continue;
		assert(gw->approver_count < GATEWAY_APPROVERS_MAX);
		gw->approvers[gw->approver_count].ops = table[i];
		gw->approvers[gw->approver_count++].self = self;
	}
	return 0;
}

static void on_heard(const struct sink_record *record, void *arg)
{
	struct gateway *gw = arg;

	for (size_t i = 0; i < gw->approver_count; i++) {
		if (gw->approvers[i].ops->heard)
			gw->approvers[i].ops->heard(gw->approvers[i].self, record);
	}
}

static void on_audit_failed(void *arg)
{
	queue_schedule(arg); /* denies waiting requests, and closes what is open */
}

static void on_audit_stored(void *arg)
{
	link_server_stored(arg);
}

static void on_patience_over(void *arg)
{
	struct gateway *gw = arg;

	if (!approval_has_approver(gw))
		approval_deny_all(gw, POLICY_NO_APPROVER);
}

/* The lookup of its program has ended: @waiter continues where it is decided. */
static void on_known(struct waiter *waiter)
{
	if (waiter->pass)
		reload_review(waiter);
	else if (waiter->party)
		review_waiter(waiter);
	else if (!waiter->is_queued)
		queue_add(waiter);
}

static struct gateway *gateway_make(struct loop *loop, const struct gateway_config *config)
{
	struct gateway *gw = mem_new(sizeof(*gw));

	gw->loop = loop;
	gw->take_turn = turn_take;
	gw->let_go = turn_let_go;
	config_copy(&gw->config, config);
	rings_policy(gw);
	keys_init(&gw->execs);
	keys_init(&gw->parties);
	keys_init(&gw->approvals);
	keys_init(&gw->numbers);
	grants_init(&gw->grants);
	floods_init(&gw->floods);
	gw->lates = late_answers_new();
	recent_init(&gw->graces);
	recent_init(&gw->futile);
	gw->seen = known_destinations_new(loop, gw->config.seen_path);
	accounts_init(&gw->accounts);
	gw->grants.accounts = &gw->accounts;
	traffic_init(&gw->trips);
	gw->egress = gw->config.counts_egress ? egress_new() : NULL;
	outcomes_init(&gw->outcomes, loop, gw->config.embedded);
	LIST_INIT(&gw->proposals.open);
	LIST_INIT(&gw->inquiries.open);
	TAILQ_INIT(&gw->agent_questions);
	TAILQ_INIT(&gw->questions);
	TAILQ_INIT(&gw->news);
	TAILQ_INIT(&gw->queue);
	live_requests_init(gw, link_server_drop);
	LIST_INIT(&gw->repeats.list);
	lookups_init(gw, on_known);
	TAILQ_INIT(&gw->keeping.changes);
	TAILQ_INIT(&gw->keeping.waiting);
	gw->walks = &gw->reviewing.walk;
	LIST_INIT(&gw->clients);
	LIST_INIT(&gw->workers);
	if (gw->config.patience_ms > 0)
		loop_timer_start(loop, &gw->patience, gw->config.patience_ms, on_patience_over, gw);
	return gw;
}

struct gateway *gateway_open_with(struct loop *loop, const struct gateway_config *config,
				  const struct approver_ops *const *table, struct err *why)
{
	struct gateway *gw = gateway_make(loop, config);
	const struct journal_hearer hearer = { on_heard, on_audit_failed, on_audit_stored, gw };

	gw->journal = journal_new(loop, &gw->config, why);
	if (gw->journal && open_approvers(gw, table, why) == 0) {
		journal_set_hearer(gw->journal, &hearer);
		/* Written from the loop, while the command starts, and before any verdict. */
		journal_note_start(gw->journal, config);
		queue_schedule(gw);
		return gw;
	}
	gateway_free(gw);
	return NULL;
}

struct gateway *gateway_new(struct loop *loop, const struct gateway_config *config, struct err *why)
{
	return gateway_open_with(loop, config, approver_table, why);
}

void gateway_ends_with(struct gateway *gw, int exit_status)
{
	journal_set_status(gw->journal, exit_status);
}

void gateway_free(struct gateway *gw)
{
	if (!gw)
		return;
	proposals_done(gw);
	inquiries_done(gw);
	agent_questions_done(gw);
	approval_deny_all(gw, POLICY_GATE_CLOSING);
	rings_hold(gw);
	local_cut_all(gw);
	link_server_free_all(gw);
	for (size_t i = 0; i < gw->approver_count; i++)
		gw->approvers[i].ops->close(gw->approvers[i].self);
	gw->approver_count = 0; /* records may still be written */
	loop_timer_stop(&gw->turn);
	loop_timer_stop(&gw->patience);
	loop_timer_stop(&gw->live.timer);
	loop_timer_stop(&gw->expiry);
	loop_timer_stop(&gw->reviewing.task);
	lookups_done(gw);
	persist_done(gw);
	loop_timer_stop(&gw->finish.timer);
	outcomes_done(&gw->outcomes);
	exec_end_all(gw);
	repeats_done(gw);
	journal_free(gw->journal);
	assert(TAILQ_EMPTY(&gw->queue) && TAILQ_EMPTY(&gw->questions));
	keys_done(&gw->approvals);
	keys_done(&gw->numbers);
	keys_done(&gw->parties);
	grants_done(&gw->grants);
	accounts_done(&gw->accounts);
	traffic_done(&gw->trips);
	egress_free(gw->egress);
	known_destinations_free(gw->seen);
	recent_done(&gw->graces);
	recent_done(&gw->futile);
	late_answers_done(gw->lates);
	floods_done(&gw->floods);
	config_done(&gw->config);
	free(gw->ended);
	free(gw);
}

void gateway_exec_begin(struct gateway *gw, uint64_t exec, const char *command)
{
	execs_begin(gw, exec, command);
	queue_schedule(gw);
}

void gateway_exec_begin_unconfined(struct gateway *gw, uint64_t exec, const char *command)
{
	execs_begin(gw, exec, command);
	journal_mark_unconfined(gw->journal);
	queue_schedule(gw);
}

const struct gateway_trip *gateway_trips(const struct gateway *gw, size_t *ret_count)
{
	*ret_count = gw->trips.count;
	return gw->trips.list;
}

const struct gateway_trip *gateway_trips_others(const struct gateway *gw)
{
	return &gw->trips.others;
}

const struct gateway_egress *gateway_egress_at(const struct gateway *gw, size_t i)
{
	return egress_at(gw->egress, i);
}

bool gateway_egress_is_whole(const struct gateway *gw)
{
	return egress_is_whole(gw->egress);
}

void gateway_when_kept(struct gateway *gw, struct gateway_kept *kept, void (*fn)(void *arg),
		       void *arg)
{
	persist_await(gw, kept, fn, arg);
}

void gateway_forget_kept(struct gateway *gw, struct gateway_kept *kept)
{
	persist_forget(gw, kept);
}

int gateway_answer(struct gateway *gw, const char *id, const struct approver_answer *answer,
		   struct err *why)
{
	return answer_give(gw, id, answer, why);
}

int gateway_answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
			char out[APPROVER_KEY_MAX], struct err *why)
{
	return answer_text(gw, id, answer, out, why);
}

int gateway_touch(struct gateway *gw, const char *id)
{
	struct approval *approval = approval_find(gw, id);

	if (!approval)
		return -ENOENT;
	approval_touch(approval);
	return 0;
}

struct question_teller {
	void (*each)(const struct approver_question *question, void *arg);
	void *arg;
};

static void tell_question(struct approval *approval, void *arg)
{
	const struct question_teller *teller = arg;
	struct approver_question question;

	approval_describe(approval, &question);
	teller->each(&question, teller->arg);
}

void gateway_each_question(struct gateway *gw,
			   void (*each)(const struct approver_question *question, void *arg),
			   void *arg)
{
	struct question_teller teller = { each, arg };

	approval_walk(gw, tell_question, &teller);
}

size_t gateway_questions_after(struct gateway *gw, uint64_t serial,
			       bool (*each)(const struct approver_question *question, void *arg),
			       void *arg)
{
	struct approval *approval;
	size_t left = 0;
	bool goes_on = true;

	TAILQ_FOREACH (approval, &gw->questions, entry) {
		struct approver_question question;

		if (approval->serial <= serial)
			continue;
		if (goes_on) {
			approval_describe(approval, &question);
			goes_on = each(&question, arg);
		} else {
			left++;
		}
	}
	return left;
}

struct approver *gateway_find_approver(const struct gateway *gw, const struct approver_ops *ops)
{
	for (size_t i = 0; i < gw->approver_count; i++) {
		if (gw->approvers[i].ops == ops)
			return gw->approvers[i].self;
	}
	return NULL;
}

int gateway_find_question(struct gateway *gw, const char *id, struct approver_question *ret)
{
	const struct approval *approval = approval_find(gw, id);

	if (!approval)
		return -ENOENT;
	approval_describe(approval, ret);
	return 0;
}

void gateway_each_grant(struct gateway *gw,
			void (*each)(const struct approver_grant *grant, void *arg), void *arg)
{
	ledger_each_grant(gw, each, arg);
}

size_t gateway_each_live(struct gateway *gw, size_t max,
			 void (*each)(const struct approver_live *live, void *arg), void *arg)
{
	return ledger_each_live(gw, max, each, arg);
}

int gateway_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		   struct err *why)
{
	return ledger_revoke(gw, grant, by, ret, why);
}

int gateway_undo(struct gateway *gw, uint64_t shown, const char *by,
		 char ret_text[APPROVER_KEY_MAX], struct approver_revoked *ret, struct err *why)
{
	return ledger_undo(gw, shown, by, ret_text, ret, why);
}

int gateway_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why)
{
	return ledger_cut(gw, live, by, why);
}

void gateway_reviewed(struct approver_review *review, enum gateway_review_outcome outcome,
		      const char *by, const char *reason)
{
	inquiries_heard(review, outcome, by, reason);
}

void gateway_approvers_changed(struct gateway *gw)
{
	gw->must_count_approvers = true;
	queue_schedule(gw);
}
