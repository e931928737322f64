#include "gateway/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approval.h"
#include "gateway/turn.h"

#define PROVENANCE_COMMAND_MAX 120

static const struct {
	enum policy_reason allowed, denied;
	const char *words;
} scopes[] = {
	[GATEWAY_ONCE] = { POLICY_GRANTED_ONCE, POLICY_DENIED_ONCE, "once" },
	[GATEWAY_EXEC] = { POLICY_GRANTED_EXEC, POLICY_DENIED_EXEC, "for this command" },
	[GATEWAY_SESSION] = { POLICY_GRANTED_SESSION, POLICY_DENIED_SESSION, "for session" },
	[GATEWAY_ALWAYS] = { POLICY_GRANTED_ALWAYS, POLICY_DENIED_ALWAYS, "always" },
};

static int answer_check(const struct approver_answer *answer, struct err *why)
{
	if (answer->action != POLICY_ALLOW && answer->action != POLICY_DENY)
		return err_set(why, -EINVAL, "an answer is allow or deny");
	if ((unsigned int)answer->scope >= ARRAY_SIZE(scopes))
		return err_set(why, -EINVAL, "no such scope");
	if (answer->is_abort && answer->action != POLICY_DENY)
		return err_set(why, -EINVAL, "abort is a denial");
	return 0;
}

static enum policy_reason answer_reason(const struct approver_answer *answer)
{
	if (answer->is_abort)
		return POLICY_ABORTED;
	return answer->action == POLICY_ALLOW ? scopes[answer->scope].allowed
					      : scopes[answer->scope].denied;
}

/* "by ana on tty, 2026-11-20T20:13Z, run 7f3a, asked by: npm ci" */
static char *answer_provenance(const struct approval *approval, const char *by)
{
	const struct gateway *gw = approval->gw;
	const struct party *party;
	const char *command = "";
	time_t seconds = (time_t)(loop_wall_us(gw->loop) / 1000000);
	struct tm parts = { 0 };
	char when[32];

	TAILQ_FOREACH (party, &approval->parties, entry) {
		if (party->exec) {
			command = party->exec->command;
			break;
		}
	}
	(void)gmtime_r(&seconds, &parts);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%MZ", &parts);
	return mem_printf("by %s, %s, run %s%s%.*s", by, when, gw->config.run,
			  command[0] ? ", asked by: " : "", PROVENANCE_COMMAND_MAX, command);
}

/* The file first: what cannot be written is not granted. */
static int answer_keep(struct approval *approval, const struct approver_answer *answer,
		       const char *by, struct err *why)
{
	const char *path = approval->gw->config.answers_path;

	if (!path)
		return err_set(why, -ENOTSUP, "there is no policy file to keep the answer in");
	auto_free char *provenance = answer_provenance(approval, by);
	int r = policy_answer_append(path, answer->action, &approval->dst, provenance, why);

	return r < 0 ? err_prefix(why, r, "the answer cannot be kept, so nothing was granted") : 0;
}

static void answer_remember_execs(struct approval *approval, const struct approver_answer *answer,
				  const char *by)
{
	struct gateway *gw = approval->gw;
	struct party *party;

	/* Those of no exec are released, and that is all: there is nothing that their grant could
	 * end with. */
	TAILQ_FOREACH (party, &approval->parties, entry) {
		if (!party->exec)
			continue;
		int r = grants_put(&gw->grants, &party->exec->grants, party->exec->node.number,
				   &approval->dst, answer->action, answer_reason(answer), by);

		assert(r == 0); /* answer_remember() has made sure of the room */
		(void)r;
	}
}

static int answer_remember(struct approval *approval, const struct approver_answer *answer,
			   const char *by, struct err *why)
{
	struct gateway *gw = approval->gw;

	if (answer->is_abort || answer->scope == GATEWAY_ONCE)
		return 0;
	if (gw->grants.table.count + approval->party_count + 1 > GRANTS_MAX)
		return err_set(why, -ENOSPC, "too many answers are remembered: answer once");
	if (answer->scope == GATEWAY_EXEC) {
		answer_remember_execs(approval, answer, by);
		return 0;
	}
	int r = answer->scope == GATEWAY_ALWAYS ? answer_keep(approval, answer, by, why) : 0;

	return r < 0 ? r
		     : grants_put(&gw->grants, &gw->grants.session, 0, &approval->dst,
				  answer->action, answer_reason(answer), by);
}

static void answer_abort(struct approval *approval)
{
	struct party *party;

	TAILQ_FOREACH (party, &approval->parties, entry) {
		if (!party->exec)
			continue;
		party->exec->is_aborted = true;
		approval->gw->has_aborted = true;
	}
	turn_schedule(approval->gw);
}

int answer_give(struct gateway *gw, const char *id, const struct approver_answer *answer,
		struct err *why)
{
	struct approval *approval = approval_find(gw, id);
	const char *by = answer->by ? answer->by : "";
	char how[160];
	int r = answer_check(answer, why);

	if (r < 0)
		return r;
	if (!approval)
		return err_set(why, -ENOENT,
			       "the question is finished or unknown; this answer does nothing");
	r = answer_remember(approval, answer, by, why);
	if (r < 0)
		return r;
	if (answer->is_abort) {
		answer_abort(approval);
		(void)snprintf(how, sizeof(how), "aborted by %s", by);
	} else {
		(void)snprintf(how, sizeof(how), "%s %s by %s",
			       answer->action == POLICY_ALLOW ? "allowed" : "denied",
			       scopes[answer->scope].words, by);
	}
	approval_settle(approval, answer->action, answer_reason(answer), by, how);
	return 0;
}
