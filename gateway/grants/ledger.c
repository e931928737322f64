#include "gateway/grants/ledger.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/execs/execs.h"
#include "gateway/audit/journal.h"
#include "gateway/grants/persist.h"
#include "gateway/grants/live_requests.h"
#include "gateway/decide/queue.h"
#include "gateway/grants/width.h"
#include "policies/policies_tools.h"

/* The timer runs at least this often, because the wall clock may be set meanwhile. */
#define LEDGER_LOOK_MS 60000

void ledger_begin(struct waiter *waiter)
{
	struct grant *grant =
		waiter->grant ? grants_by_id(&waiter->gw->grants, waiter->grant) : NULL;

	if (!grant)
		return;
	grant->connections++;
	grant->live++;
}

/* Its last connection has ended, so its byte counts are final. */
static void ledger_close(struct gateway *gw, struct grant *grant)
{
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = grant->over };
	struct sink_record record = {
		.event = SINK_REVOKED,
		.exec = grant->exec,
		.verdict = &verdict,
		.reason = grant->over,
		.cause = grant->text,
		.bytes_up = grant->bytes_up,
		.bytes_down = grant->bytes_down,
		.has_traffic = true,
	};

	memcpy(verdict.by, grant->over_by, sizeof(verdict.by));
	journal_stamp(gw->journal, &record);
	record.duration_ms = (uint64_t)(record.wall_us / 1000 - grant->since_s * 1000);
	(void)queue_write_down(gw, &record);
	grants_drop(&gw->grants, grant);
}

void ledger_end(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	struct grant *grant = waiter->grant ? grants_by_id(&gw->grants, waiter->grant) : NULL;

	if (!grant)
		return;
	grant->live--;
	if (grant->over != POLICY_NONE && grant->live == 0)
		ledger_close(gw, grant);
}

void ledger_count(const struct waiter *waiter, const struct gateway_report *report)
{
	struct grant *grant =
		waiter->grant ? grants_by_id(&waiter->gw->grants, waiter->grant) : NULL;

	if (!grant)
		return;
	grant->bytes_up += report->bytes_up;
	grant->bytes_down += report->bytes_down;
}

/* True: @grant allows it, or the line in the policy's file that says the same. */
static bool ledger_lives_by(const struct waiter *waiter, const struct grant *grant)
{
	struct policy_facts facts = waiter->facts;

	if (waiter->grant != 0 || grant->scope != GATEWAY_ALWAYS || grant->action != POLICY_ALLOW ||
	    waiter->pass->allowed_by != POLICY_ANSWER_ALLOW)
		return waiter->grant == grant->id_node.number;
	facts.now = grant->since_s;
	return grant->wide ? width_covers(grant->wide, &facts)
			   : policy_destination_equal(&facts.dst, &grant->dst);
}

static void ledger_cut_verdict(const struct grant *grant, enum policy_reason reason, const char *by,
			       struct policy_verdict *ret)
{
	*ret = (struct policy_verdict){ .action = POLICY_DENY, .reason = reason };
	(void)snprintf(ret->by, sizeof(ret->by), "%s", by);
	(void)snprintf(ret->because, sizeof(ret->because), "it was allowed by the answer %s",
		       grant->text); /* may be cut */
}

static bool ledger_is_over(struct waiter *waiter, struct policy_verdict *ret, void *arg)
{
	const struct grant *grant = arg;

	if (!ledger_lives_by(waiter, grant))
		return false;
	ledger_cut_verdict(grant, grant->over, grant->over_by, ret);
	return true;
}

/* Cuts the connections that it allows, and drops it when they have ended. */
static size_t ledger_retire(struct gateway *gw, struct grant *grant, enum policy_reason reason,
			    const char *by)
{
	grants_retire(&gw->grants, grant, reason, by);
	size_t count = live_requests_cut(gw, ledger_is_over, grant);

	if (grant->live == 0)
		ledger_close(gw, grant);
	return count;
}

static void ledger_look(void *arg);

static void ledger_schedule(struct gateway *gw)
{
	int64_t now_ms = loop_wall_us(gw->loop) / 1000, first_ms = INT64_MAX;
	const struct grant *grant;

	TAILQ_FOREACH (grant, &gw->grants.all, order) {
		if (grant->until_s != 0 && grant->until_s * 1000 < first_ms)
			first_ms = grant->until_s * 1000;
	}
	loop_timer_stop(&gw->expiry);
	if (first_ms == INT64_MAX)
		return;
	int64_t wait_ms = first_ms - now_ms;

	if (wait_ms < 0)
		wait_ms = 0;
	loop_timer_start(gw->loop, &gw->expiry, wait_ms < LEDGER_LOOK_MS ? wait_ms : LEDGER_LOOK_MS,
			 ledger_look, gw);
}

static void ledger_look(void *arg)
{
	struct gateway *gw = arg;
	int64_t now_s = loop_wall_us(gw->loop) / 1000000;
	struct grant *grant = TAILQ_FIRST(&gw->grants.all);

	while (grant) {
		struct grant *next = TAILQ_NEXT(grant, order);

		if (grant->until_s != 0 && now_s >= grant->until_s)
			(void)ledger_retire(gw, grant, POLICY_EXPIRED, "");
		grant = next;
	}
	ledger_schedule(gw);
}

static bool ledger_was_allowed(struct waiter *waiter, struct policy_verdict *ret, void *arg)
{
	const struct grant *grant = arg;

	if (waiter->grant != grant->id_node.number)
		return false;
	ledger_cut_verdict(grant, grant->reason, grant->by, ret);
	return true;
}

void ledger_remembered(struct gateway *gw, struct grant *grant)
{
	/* It was an allow before. */
	if (grant->action != POLICY_ALLOW && grant->live > 0)
		(void)live_requests_cut(gw, ledger_was_allowed, grant);
	ledger_schedule(gw);
}

/* Reduces the budget in @width to what is left. */
static bool ledger_is_spent(const struct gateway *gw, const struct grant *grant,
			    struct approver_width *width)
{
	struct policy_limits left = grant->limits;
	bool is_spent = accounts_left(&gw->accounts, &left);

	width->upload_max = left.upload;
	width->download_max = left.download;
	width->connections_max = left.connections;
	return is_spent;
}

void ledger_each_grant(struct gateway *gw,
		       void (*each)(const struct approver_grant *grant, void *arg), void *arg)
{
	const struct grant *grant;
	char file[SOCKET_OWNER_FILE_TEXT_MAX];

	TAILQ_FOREACH (grant, &gw->grants.all, order) {
		struct approver_grant shown = {
			.id = grant->id_node.number,
			.answer = grant->answer,
			.action = grant->action,
			.scope = grant->scope,
			.exec = grant->exec,
			.session = grant->session,
			.text = grant->text,
			.by = grant->by,
			.since_s = grant->since_s,
			.until_s = grant->until_s,
			.bytes_up = grant->bytes_up,
			.bytes_down = grant->bytes_down,
			.connections = grant->connections,
			.live = grant->live,
			.dst = &grant->dst,
			.width = grant->width,
			.program = grant->program,
			.file = file,
			.words = grant->words,
			.from = grant->from,
		};

		socket_owner_file_text(&grant->program_file, file);
		shown.is_spent = ledger_is_spent(gw, grant, &shown.width);
		each(&shown, arg);
	}
}

/* Connections do not store their rule: it is looked up again for those that are shown. */
size_t ledger_each_live(struct gateway *gw, size_t max,
			void (*each)(const struct approver_live *live, void *arg), void *arg)
{
	struct waiter *waiter;
	size_t count = 0;

	TAILQ_FOREACH (waiter, &gw->live.open, entry) {
		if (count++ >= max)
			continue;
		execs_ask_who(waiter);
		struct policy_facts facts = waiter->facts;
		struct policy_verdict verdict;

		facts.carries = waiter->pass->promise;
		facts.now = loop_wall_us(gw->loop) / 1000000;
		policy_decide(gw->config.policy, &facts, &verdict);
		waiter->facts.asker = NULL; /* it borrows from this call */
		const struct approver_live shown = {
			.id = waiter->pass->id,
			.grant = waiter->grant,
			.exec = waiter->facts.exec,
			.facts = &waiter->facts,
			.rule = verdict.rule,
			.age_ms = loop_now_ms(gw->loop) - waiter->pass->since_ms,
		};

		each(&shown, arg);
	}
	return count;
}

/* Changes the file first: a line that cannot be removed would be valid again in the next run. */
static int ledger_forget_line(struct gateway *gw, const struct grant *grant, struct err *why)
{
	if (grant->scope != GATEWAY_ALWAYS || !gw->config.answers_path)
		return 0;
	int r = gw->config.keeps_aside
			? persist_remove(gw, grant->id_node.number, grant->action, grant->text, why)
			: policy_answer_remove(gw->config.answers_path, grant->action, grant->text,
					       why);

	if (r == -EINPROGRESS)
		return r;
	/* The line was removed already. */
	return r == -ENOENT ? 0 : err_prefix(why, r, "the answer cannot be revoked");
}

int ledger_revoke(struct gateway *gw, uint64_t id, const char *by, struct approver_revoked *ret,
		  struct err *why)
{
	struct grant *grant = grants_by_id(&gw->grants, id);
	int r;

	if (!grant || grant->over != POLICY_NONE)
		return err_set(why, -ENOENT, "there is no such answer, or it has been revoked");
	r = ledger_forget_line(gw, grant, why);
	if (r < 0)
		return r;
	*ret = (struct approver_revoked){ .bytes_up = grant->bytes_up,
					  .bytes_down = grant->bytes_down };
	ret->cut = (uint32_t)ledger_retire(gw, grant, POLICY_REVOKED, by);
	return 0;
}

void ledger_end_session(struct gateway *gw, uint64_t session)
{
	struct grant *grant = LIST_FIRST(&gw->grants.session);

	while (grant) {
		struct grant *next = LIST_NEXT(grant, entry);

		if (grant->session == session)
			(void)ledger_retire(gw, grant, POLICY_EXEC_ENDED, "");
		grant = next;
	}
}

static uint64_t ledger_last_answer(const struct gateway *gw)
{
	const struct grant *grant;
	uint64_t last = 0;

	TAILQ_FOREACH (grant, &gw->grants.all, order)
		last = grant->answer > last ? grant->answer : last;
	return last;
}

int ledger_undo(struct gateway *gw, uint64_t shown, const char *by, char ret_text[APPROVER_KEY_MAX],
		struct approver_revoked *ret, struct err *why)
{
	uint64_t answer = ledger_last_answer(gw);
	struct grant *grant = TAILQ_FIRST(&gw->grants.all);
	struct approver_revoked all = { 0 };
	char text[APPROVER_KEY_MAX];

	if (answer == 0)
		return err_set(why, -ENOENT, "no answer is remembered");
	if (shown != 0 && shown != answer)
		return err_set(why, -ESTALE,
			       "another answer is now the last one; look at it again");
	while (grant) {
		struct grant *next = TAILQ_NEXT(grant, order);

		if (grant->answer == answer) {
			struct approver_revoked one;

			(void)snprintf(text, sizeof(text), "%s %s",
				       policy_action_name(grant->action), grant->text);
			int r = ledger_revoke(gw, grant->id_node.number, by, &one, why);

			if (r < 0)
				return r;
			all.cut += one.cut;
			all.bytes_up += one.bytes_up;
			all.bytes_down += one.bytes_down;
		}
		grant = next;
	}
	memcpy(ret_text, text, APPROVER_KEY_MAX);
	*ret = all;
	return 0;
}

void ledger_forget_session(struct gateway *gw)
{
	struct grant *grant;

	while ((grant = LIST_FIRST(&gw->grants.session)))
		(void)ledger_retire(gw, grant, POLICY_REVOKED, "");
}

static bool ledger_is_the_one(struct waiter *waiter, struct policy_verdict *ret, void *arg)
{
	const struct approver_live *one = arg;

	if (waiter->pass->id != one->id)
		return false;
	*ret = (struct policy_verdict){ .action = POLICY_DENY, .reason = POLICY_REVOKED };
	(void)snprintf(ret->by, sizeof(ret->by), "%s", one->rule);
	return true;
}

int ledger_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why)
{
	struct approver_live one = { .id = live, .rule = by };

	if (live_requests_cut(gw, ledger_is_the_one, &one) == 0)
		return err_set(why, -ENOENT, "there is no such connection, or it is closed");
	return 0;
}
