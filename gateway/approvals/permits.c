#include "gateway/approvals/permits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "gateway/approvals/approval.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_warning.h"
#include "gateway/audit/journal.h"
#include "gateway/grants/ledger.h"
#include "gateway/decide/review.h"
#include "gateway/approvals/risk.h"
#include "gateway/approvals/known_destinations.h"
#include "gateway/decide/queue.h"
#include "gateway/grants/width.h"
#include "policies/policies_gate.h"
#include "policies/policies_tools.h"

int permits_destination(const char *text, struct policy_destination *ret, struct err *why)
{
	return policy_destination_parse(text, ret, why) < 0 ? -EINVAL : 0;
}

static int permit_check_policy(const struct gateway *gw, uint64_t exec,
			       const struct policy_asker *asker,
			       const struct gateway_exec_grant *grant,
			       const struct policy_destination *dst, struct err *why)
{
	const struct policy_facts facts = { .dst = *dst,
					    .carries = dst->protocol,
					    .exec = exec,
					    .asker = asker,
					    .now = loop_wall_us(gw->loop) / 1000000 };
	struct policy_verdict verdict;

	policy_decide(gw->config.policy, &facts, &verdict);
	if (verdict.action == POLICY_DENY)
		return err_set(why, -EACCES, "%s cannot be granted: %s %s", grant->destination,
			       policy_reason_sentence(verdict.reason), verdict.rule);
	if (approval_is_private(gw, dst) && !grant->may_private)
		return err_set(why, -EACCES,
			       "%s is a private address; it must be allowed explicitly",
			       grant->destination);
	return 0;
}

static enum policy_reason permit_reason(const struct gateway_exec_grant *grant)
{
	return grant->is_for_session ? POLICY_GRANTED_SESSION : POLICY_GRANTED_EXEC;
}

static void permit_record(struct gateway *gw, uint64_t exec, const struct gateway_exec_grant *grant,
			  const char *text)
{
	struct policy_verdict verdict = { .action = POLICY_ALLOW, .reason = permit_reason(grant) };
	struct sink_record record = { .event = SINK_GRANTED,
				      .exec = exec,
				      .verdict = &verdict,
				      .reason = permit_reason(grant),
				      .cause = text };

	(void)snprintf(verdict.by, sizeof(verdict.by), "%s", grant->by ? grant->by : "");
	if (grant->words)
		(void)text_visible(verdict.because, sizeof(verdict.because), grant->words,
				   strlen(grant->words));
	journal_stamp(gw->journal, &record);
	(void)queue_write_down(gw, &record);
}

/* The grant ends with the command, or with the session, as requested. */
static struct grant *permit_remember(struct gateway *gw, struct gateway_exec *exec,
				     const struct gateway_exec_grant *grant,
				     const struct grant_order *of_exec, struct err *why)
{
	struct grant_order order = *of_exec;

	if (!grant->is_for_session)
		return grants_put(&gw->grants, &exec->grants, of_exec, why);
	order.exec = 0;
	order.session = exec->session;
	order.scope = GATEWAY_SESSION;
	order.reason = permit_reason(grant);
	return grants_put(&gw->grants, &gw->grants.session, &order, why);
}

static int permit_put(struct gateway *gw, struct gateway_exec *exec,
		      const struct gateway_exec_grant *grant, const struct policy_destination *dst,
		      const char *text, struct err *why)
{
	char words[GATEWAY_WORDS_MAX] = "";

	if (grant->words)
		(void)text_visible(words, sizeof(words), grant->words, strlen(grant->words));
	const struct grant_order order = {
		.exec = exec->node.number,
		.answer = gw->last_answer + 1,
		.dst = dst,
		.action = POLICY_ALLOW,
		.reason = POLICY_GRANTED_EXEC,
		.scope = GATEWAY_EXEC,
		.width = grant->width,
		.program = "",
		.text = text,
		.by = grant->by ? grant->by : "",
		.words = words,
		.since_s = loop_wall_us(gw->loop) / 1000000,
	};

	if (!grants_has_room(&gw->grants, 1, width_is_wide(&grant->width)))
		return err_set(why, -ENOSPC, "too many answers are remembered");
	struct grant *put = permit_remember(gw, exec, grant, &order, why);

	if (!put)
		return -EINVAL;
	gw->last_answer++;
	ledger_remembered(gw, put);
	return 0;
}

int gateway_grant_exec(struct gateway *gw, uint64_t id, const struct gateway_exec_grant *grant,
		       char ret_text[APPROVER_KEY_MAX], struct err *why)
{
	struct gateway_exec *exec = execs_find(gw, id);
	struct policy_destination dst;
	char text[APPROVER_KEY_MAX];

	if (!exec)
		return err_set(why, -ENOENT, "that command has not started, or it has ended");
	int r = permits_destination(grant->destination, &dst, why);

	if (r == 0 && grant->width.is_program)
		r = err_set(why, -EINVAL, "a grant to a command applies to all of its programs");
	if (r == 0)
		r = width_text(&dst, "", &grant->width, text, why);
	if (r == 0)
		r = permit_check_policy(gw, id, exec->asker, grant, &dst, why);
	if (r == 0)
		r = permit_put(gw, exec, grant, &dst, text, why);
	if (r < 0)
		return r;
	permit_record(gw, id, grant, text);
	review_grants(gw); /* a request may already wait for it */
	if (ret_text)
		memcpy(ret_text, text, sizeof(text));
	return 0;
}

int gateway_may_grant(struct gateway *gw, const char *destination, const char *const *argv,
		      struct err *why)
{
	static const char *const nobody[] = { "?", NULL }; /* no rule's `from` matches it */
	const struct gateway_exec_grant grant = { .destination = destination };
	struct policy_destination dst;
	int r = permits_destination(grant.destination, &dst, why);

	if (r < 0)
		return r;
	struct policy_asker *asker = policy_asker_new(argv ? argv : nobody);

	r = permit_check_policy(gw, 0, asker, &grant, &dst, why);
	policy_asker_free(asker);
	return r;
}

int gateway_warn(struct gateway *gw, const char *destination, struct gateway_warning *ret,
		 struct err *why)
{
	struct policy_destination dst;
	int r = permits_destination(destination, &dst, why);

	*ret = (struct gateway_warning){ 0 };
	if (r < 0)
		return r;
	unsigned int risk = risk_of(gw, &dst);

	risk_words(gw, risk, &dst, ret->words);
	if (risk)
		risk_typed(&dst, ret->typed);
	return 0;
}

void gateway_warned(struct gateway *gw, const char *destination)
{
	struct policy_destination dst;

	if (permits_destination(destination, &dst, NULL) < 0)
		return;
	known_destinations_add(gw->seen, &dst);
	approval_weigh_all(gw);
}
