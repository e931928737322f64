#include "gateway/approvals/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvals/approval.h"
#include "gateway/grants/persist.h"
#include "gateway/approvals/late_answers.h"
#include "gateway/grants/ledger.h"
#include "gateway/decide/review.h"
#include "gateway/approvals/known_destinations.h"
#include "gateway/approvals/sessions.h"
#include "gateway/decide/queue.h"
#include "gateway/grants/width.h"
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

/* One answer that is being applied. */
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
		return err_set(why, -EINVAL, "an answer must be allow or deny");
	if ((unsigned int)answer->scope >= ARRAY_SIZE(scopes))
		return err_set(why, -EINVAL, "unknown scope; use once, exec, session or always");
	if (answer->is_abort && answer->action != POLICY_DENY)
		return err_set(why, -EINVAL, "an answer that aborts must deny");
	if (answer->is_review && (answer->is_abort || answer->scope != GATEWAY_ONCE))
		return err_set(why, -EINVAL, "a reviewer's answer must have the scope once");
	if (answer->is_nobody && (answer->action != POLICY_DENY || answer->is_abort ||
				  answer->is_review || answer->scope != GATEWAY_ONCE))
		return err_set(why, -EINVAL,
			       "a request without a question can only be denied once");
	if (has_width && (answer->is_abort || answer->scope == GATEWAY_ONCE))
		return err_set(why, -EINVAL,
			       "an answer for once applies to the waiting requests only, and "
			       "cannot be wider or limited; answer for the command, for the "
			       "session or always");
	if (answer->action == POLICY_DENY &&
	    (answer->width.upload_max || answer->width.download_max ||
	     answer->width.connections_max))
		return err_set(why, -EINVAL, "a denial cannot have a limit");
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
	/* the duration of `for` starts there */
	(void)width_date(giving->since_s, giving->answer->width.for_s > 0, when);
	return mem_printf("by %s, %s, run %s%s%.*s", giving->by, when, approval->gw->config.run,
			  command[0] ? ", asked by: " : "", PROVENANCE_COMMAND_MAX, command);
}

/* Writes the file first: an answer that cannot be written grants nothing. */
static int answer_keep(const struct giving *giving, struct err *why)
{
	const char *path = giving->approval->gw->config.answers_path;

	if (!path)
		return err_set(why, -ENOTSUP,
			       "there is no policy file in which to store the answer");
	auto_free char *provenance = answer_provenance(giving);
	struct gateway *gw = giving->approval->gw;
	int r = gw->config.keeps_aside
			? persist_append(gw, giving->approval->id, giving->answer->action,
					 giving->text, provenance, why)
			: policy_answer_append_text(path, giving->answer->action, giving->text,
						    provenance, why);

	if (r == -EINPROGRESS || r == -EBUSY)
		return r;
	return r < 0 ? err_prefix(why, r, "the answer cannot be stored, so nothing was granted")
		     : 0;
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
								 : (struct socket_owner_file){ 0 },
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

	assert(grant); /* answer_remember() has checked the room and the text */
	ledger_remembered(gw, grant);
}

static void answer_remember_execs(const struct giving *giving)
{
	struct party *party;

	/* Waiters without an exec are released, but nothing is remembered for them: a grant of
	 * scope exec would have no end. */
	TAILQ_FOREACH (party, &giving->approval->parties, entry) {
		if (party->exec)
			answer_put(giving, &party->exec->grants, party->exec->node.number, 0);
	}
}

/* Checks that the policy engine reads the text as the answer means it. */
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
		return err_set(why, -ENOSPC,
			       "too many answers are remembered; answer with the scope once");
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
	queue_schedule(approval->gw);
}

/* "allowed for session by ana on tty", and the key, if it differs from the question's. */
static void answer_how(const struct giving *giving, char *out, size_t size)
{
	const struct approver_answer *answer = giving->answer;
	bool has_width = width_is_any(&answer->width);

	if (answer->is_abort)
		(void)snprintf(out, size, "aborted by %s", giving->by);
	else if (answer->is_nobody)
		(void)snprintf(out, size, "denied without a question");
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
			       "the question has ended or is unknown; this answer has no effect");
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

	/* The question ended while its answer was being written: the written answer stays valid. */
	if (r == -ENOENT && answer->scope == GATEWAY_ALWAYS && persist_take(gw, id, answer->action))
		return 0;
	if (r == -ENOENT)
		late_answers_answer_came(gw, id, answer);
	if (r == 0 && answer->scope != GATEWAY_ALWAYS && !answer->is_abort && persist_has(gw, id))
		r = err_set(why, -EBUSY,
			    "another answer to this question is being written; look at it again");
	if (r == 0 && answer->shown && strcmp(answer->shown, giving.text) != 0)
		r = err_set(
			why, -ESTALE,
			"the answer to be stored differs from what was shown; look at it again");
	if (r == 0)
		r = answer_remember(&giving, why);
	if (r < 0)
		return r;
	if (answer->is_abort)
		answer_abort(giving.approval);
	/* Warnings are for what no person has allowed before. */
	if (answer->action == POLICY_ALLOW && !answer->is_review) {
		known_destinations_add(gw->seen, &giving.approval->dst);
		approval_weigh_all(gw);
	}
	/* It does not answer what other programs asked: review_grants() finds the waiters that it
	 * covers. */
	if (answer->width.is_program) {
		review_grants(gw);
		return 0;
	}
	answer_how(&giving, how, sizeof(how));
	approval_settle(giving.approval, &giving.settled, how);
	if (width_is_wide(&answer->width))
		review_grants(gw);
	return 0;
}
