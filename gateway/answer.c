#include "gateway/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approval.h"
#include "gateway/late.h"
#include "gateway/ledger.h"
#include "gateway/review.h"
#include "gateway/seen.h"
#include "gateway/sessions.h"
#include "gateway/turn.h"
#include "gateway/width.h"
#include "policies/policies_tools.h"

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

/* One answer on its way. */
struct giving {
	struct approval *approval;
	const struct approver_answer *answer;
	const char *by;
	int64_t since_s;
	char text[APPROVER_KEY_MAX];
	struct decision settled;
};

static int answer_check(const struct approver_answer *answer, struct err *why)
{
	bool has_width = width_is_any(&answer->width);

	if (answer->action != POLICY_ALLOW && answer->action != POLICY_DENY)
		return err_set(why, -EINVAL, "an answer is allow or deny");
	if ((unsigned int)answer->scope >= ARRAY_SIZE(scopes))
		return err_set(why, -EINVAL, "no such scope");
	if (answer->is_abort && answer->action != POLICY_DENY)
		return err_set(why, -EINVAL, "abort is a denial");
	if (answer->is_review && (answer->is_abort || answer->scope != GATEWAY_ONCE))
		return err_set(why, -EINVAL, "a reviewer answers for once");
	if (answer->is_nobody && (answer->action != POLICY_DENY || answer->is_abort ||
				  answer->is_review || answer->scope != GATEWAY_ONCE))
		return err_set(why, -EINVAL, "where nobody is asked it is denied once");
	if (has_width && (answer->is_abort || answer->scope == GATEWAY_ONCE))
		return err_set(why, -EINVAL,
			       "an answer for once is about those who wait, and has no width");
	if (answer->action == POLICY_DENY &&
	    (answer->width.upload_max || answer->width.download_max ||
	     answer->width.connections_max))
		return err_set(why, -EINVAL, "a denial allows nothing that could be limited");
	return 0;
}

static enum policy_reason answer_reason(const struct approver_answer *answer)
{
	if (answer->is_abort)
		return POLICY_ABORTED;
	if (answer->is_nobody)
		return POLICY_NO_APPROVER;
	if (answer->is_review)
		return answer->action == POLICY_ALLOW ? POLICY_GRANTED_REVIEW
						      : POLICY_DENIED_REVIEW;
	return answer->action == POLICY_ALLOW ? scopes[answer->scope].allowed
					      : scopes[answer->scope].denied;
}

/* "by ana on tty, 2026-11-20T20:13Z, run 7f3a, asked by: npm ci" */
static char *answer_provenance(const struct giving *giving)
{
	const struct approval *approval = giving->approval;
	const struct party *party;
	const char *command = "";
	char when[WIDTH_DATE_MAX];

	TAILQ_FOREACH (party, &approval->parties, entry) {
		if (party->exec) {
			command = party->exec->command;
			break;
		}
	}
	/* `for` counts from there. */
	(void)width_date(giving->since_s, giving->answer->width.for_s > 0, when);
	return mem_printf("by %s, %s, run %s%s%.*s", giving->by, when, approval->gw->config.run,
			  command[0] ? ", asked by: " : "", PROVENANCE_COMMAND_MAX, command);
}

/* The file first: what cannot be written is not granted. */
static int answer_keep(const struct giving *giving, struct err *why)
{
	const char *path = giving->approval->gw->config.answers_path;

	if (!path)
		return err_set(why, -ENOTSUP, "there is no policy file to keep the answer in");
	auto_free char *provenance = answer_provenance(giving);
	int r = policy_answer_append_text(path, giving->answer->action, giving->text, provenance,
					  why);

	return r < 0 ? err_prefix(why, r, "the answer cannot be kept, so nothing was granted") : 0;
}

static struct grant_order answer_order(const struct giving *giving, uint64_t exec, uint64_t session)
{
	return (struct grant_order){
		.exec = exec,
		.session = session,
		.answer = giving->approval->gw->last_answer,
		.dst = &giving->approval->dst,
		.action = giving->answer->action,
		.reason = giving->settled.reason,
		.scope = giving->answer->scope,
		.width = giving->answer->width,
		.program = giving->approval->program,
		.program_file = giving->answer->width.is_program ? giving->approval->program_file
								 : (struct who_file){ 0 },
		.text = giving->text,
		.by = giving->settled.by,
		.words = giving->settled.words,
		.since_s = giving->since_s,
	};
}

static void answer_put(const struct giving *giving, struct grant_list *list, uint64_t exec,
		       uint64_t session)
{
	struct gateway *gw = giving->approval->gw;
	const struct grant_order order = answer_order(giving, exec, session);
	struct grant *grant = grants_put(&gw->grants, list, &order, NULL);

	assert(grant); /* answer_remember() has made sure of the room, and of the text */
	ledger_remembered(gw, grant);
}

static void answer_remember_execs(const struct giving *giving)
{
	struct party *party;

	/* Those of no exec are released, and that is all: there is nothing that their grant could
	 * end with. */
	TAILQ_FOREACH (party, &giving->approval->parties, entry) {
		if (party->exec)
			answer_put(giving, &party->exec->grants, party->exec->node.number, 0);
	}
}

/* What the text says is what the policy engine reads in it. */
static int answer_check_text(const struct giving *giving, struct err *why)
{
	struct policy *policy =
		width_policy(&giving->approval->dst, giving->approval->program,
			     giving->answer->action, giving->text, giving->since_s, why);

	policy_free(policy);
	return policy ? 0 : -EINVAL;
}

int answer_words(const struct policy_destination *dst, const char *program,
		 const struct approver_answer *answer, int64_t since_s, char out[APPROVER_KEY_MAX],
		 struct err *why)
{
	int r = answer_check(answer, why);

	if (r == 0)
		r = width_text(dst, program, &answer->width, out, why);
	if (r < 0)
		return r;
	struct policy *policy = width_policy(dst, program, answer->action, out, since_s, why);

	policy_free(policy);
	return policy ? 0 : -EINVAL;
}

static int answer_remember(const struct giving *giving, struct err *why)
{
	struct gateway *gw = giving->approval->gw;
	const struct approver_answer *answer = giving->answer;
	uint64_t sessions[SESSIONS_MAX];
	size_t count = 1;
	int r;

	if (answer->is_abort || answer->scope == GATEWAY_ONCE)
		return 0;
	if (answer->scope == GATEWAY_EXEC)
		count = giving->approval->party_count + 1;
	if (answer->scope == GATEWAY_SESSION)
		count = sessions_of_approval(giving->approval, sessions);
	if (!grants_has_room(&gw->grants, count, width_is_wide(&answer->width)))
		return err_set(why, -ENOSPC, "too many answers are remembered: answer once");
	r = answer_check_text(giving, why);
	if (r < 0)
		return r;
	r = answer->scope == GATEWAY_ALWAYS ? answer_keep(giving, why) : 0;
	if (r < 0)
		return r;
	gw->last_answer++;
	if (answer->scope == GATEWAY_EXEC)
		answer_remember_execs(giving);
	if (answer->scope == GATEWAY_ALWAYS)
		answer_put(giving, &gw->grants.session, 0, 0);
	for (size_t i = 0; answer->scope == GATEWAY_SESSION && i < count; i++)
		answer_put(giving, &gw->grants.session, 0, sessions[i]);
	return 0;
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

/* "allowed for session by ana on tty", and what, when that is not just the question's own. */
static void answer_how(const struct giving *giving, char *out, size_t size)
{
	const struct approver_answer *answer = giving->answer;
	bool has_width = width_is_any(&answer->width);

	if (answer->is_abort)
		(void)snprintf(out, size, "aborted by %s", giving->by);
	else if (answer->is_nobody)
		(void)snprintf(out, size, "denied: nobody was asked");
	else
		(void)snprintf(out, size, "%s %s by %s%s%s",
			       answer->action == POLICY_ALLOW ? "allowed" : "denied",
			       scopes[answer->scope].words, giving->by, has_width ? ": " : "",
			       has_width ? giving->text : "");
}

static int answer_prepare(struct gateway *gw, const char *id, const struct approver_answer *answer,
			  struct giving *ret, struct err *why)
{
	int r = answer_check(answer, why);

	if (r < 0)
		return r;
	*ret = (struct giving){
		.approval = approval_find(gw, id),
		.answer = answer,
		.by = answer->by ? answer->by : "",
		.since_s = loop_wall_us(gw->loop) / 1000000,
		.settled = { .action = answer->action, .reason = answer_reason(answer) },
	};
	if (!ret->approval)
		return err_set(why, -ENOENT,
			       "the question is finished or unknown; this answer does nothing");
	(void)snprintf(ret->settled.by, sizeof(ret->settled.by), "%s", ret->by);
	if (answer->words)
		(void)text_visible(ret->settled.words, sizeof(ret->settled.words), answer->words,
				   strlen(answer->words));
	return width_text(&ret->approval->dst, ret->approval->program, &answer->width, ret->text,
			  why);
}

int answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
		char out[APPROVER_KEY_MAX], struct err *why)
{
	struct giving giving;
	int r = answer_prepare(gw, id, answer, &giving, why);

	if (r == 0)
		r = answer_check_text(&giving, why);
	if (r == 0)
		memcpy(out, giving.text, APPROVER_KEY_MAX);
	return r;
}

int answer_give(struct gateway *gw, const char *id, const struct approver_answer *answer,
		struct err *why)
{
	struct giving giving;
	char how[APPROVER_KEY_MAX + 160];
	int r = answer_prepare(gw, id, answer, &giving, why);

	if (r == -ENOENT)
		late_answer_came(gw, id, answer);
	if (r == 0 && answer->shown && strcmp(answer->shown, giving.text) != 0)
		r = err_set(why, -ESTALE, "what would be stored is not what was shown; look again");
	if (r == 0)
		r = answer_remember(&giving, why);
	if (r < 0)
		return r;
	if (answer->is_abort)
		answer_abort(giving.approval);
	/* Warnings are about what no person has allowed before. */
	if (answer->action == POLICY_ALLOW && !answer->is_review)
		seen_add(gw->seen, &giving.approval->dst);
	/* What others ask for is not answered with it: whoever it covers is found by it. */
	if (answer->width.is_program) {
		review_grants(gw);
		return 0;
	}
	answer_how(&giving, how, sizeof(how));
	approval_settle_with(giving.approval, &giving.settled, how);
	if (width_is_wide(&answer->width))
		review_grants(gw);
	return 0;
}

int answer_give_many(struct gateway *gw, const char *const *ids, size_t count,
		     const struct approver_answer *answer, int *ret_results, struct err *why)
{
	int settled = 0;

	for (size_t i = 0; i < count; i++)
		ret_results[i] = approval_find(gw, ids[i]) ? 0 : -ENOENT;
	for (size_t i = 0; i < count; i++) {
		/* One that a wide answer before it has ended is settled as well; one that was over
		 * before is answered too late. */
		if (ret_results[i] == -ENOENT || approval_find(gw, ids[i]))
			ret_results[i] = answer_give(gw, ids[i], answer, why);
		settled += ret_results[i] == 0;
	}
	return settled;
}
