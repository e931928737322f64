#include "agent/reply.h"

#include <errno.h>
#include <string.h>

#include "agent/asking.h"
#include "agent/core.h"
#include "agent/fields.h"
#include "agent/submission.h"
#include "agent/tell.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_warning.h"
#include "gateway/gateway_decided.h"

struct given {
	const char *approval, *words, *typed;
	const json_t *scope;
	int kind, decision;
	int64_t expires_ms, proposal;
	bool is_nobody;
};
static const char *const kinds[] = {
	[AGENT_EXEC] = "exec",
	[AGENT_PATCH] = "patch",
	[AGENT_NETWORK] = "network",
	[AGENT_PERMISSIONS] = "permissions",
	[AGENT_ELICITATION] = "elicitation",
	NULL,
};
static const struct fields_entry given_fields[] = {
	{ "approval", FIELDS_TEXT, offsetof(struct given, approval), AGENT_NAME_MAX, true, NULL },
	{ "kind", FIELDS_CHOICE, offsetof(struct given, kind), 0, true, kinds },
	{ "decision", FIELDS_CHOICE, offsetof(struct given, decision), 0, true,
	  asking_choice_words },
	{ "words", FIELDS_TEXT, offsetof(struct given, words), AGENT_TEXT_MAX, false, NULL },
	{ "typed", FIELDS_TEXT, offsetof(struct given, typed), AGENT_TEXT_MAX, false, NULL },
	{ "expires_ms", FIELDS_NUMBER, offsetof(struct given, expires_ms), AGENT_DURATION_MAX,
	  false, NULL },
	{ "proposal", FIELDS_NUMBER, offsetof(struct given, proposal), AGENT_LIST_MAX, false,
	  NULL },
	{ "scope", FIELDS_OBJECT, offsetof(struct given, scope), 0, false, NULL },
	{ "unasked", FIELDS_FLAG, offsetof(struct given, is_nobody), 0, false, NULL },
	{ 0 },
};

/* How wide an answer about a destination is. */
struct scope {
	int for_whom, host, ports, program;
	int64_t duration_ms, upload, download, connections;
};
static const char *const fors[] = {
	[GATEWAY_ONCE] = "once",
	[GATEWAY_EXEC] = "exec",
	[GATEWAY_SESSION] = "session",
	[GATEWAY_ALWAYS] = "always",
	NULL,
};
static const char *const hosts[] = { "this", "domain", NULL };
static const char *const ports[] = { "this", "all", NULL };
static const char *const programs[] = { "any", "this", NULL };
static const struct fields_entry scope_fields[] = {
	{ "for", FIELDS_CHOICE, offsetof(struct scope, for_whom), 0, false, fors },
	{ "host", FIELDS_CHOICE, offsetof(struct scope, host), 0, false, hosts },
	{ "ports", FIELDS_CHOICE, offsetof(struct scope, ports), 0, false, ports },
	{ "program", FIELDS_CHOICE, offsetof(struct scope, program), 0, false, programs },
	{ "duration_ms", FIELDS_NUMBER, offsetof(struct scope, duration_ms), AGENT_DURATION_MAX,
	  false, NULL },
	{ "upload", FIELDS_NUMBER, offsetof(struct scope, upload), INT64_MAX, false, NULL },
	{ "download", FIELDS_NUMBER, offsetof(struct scope, download), INT64_MAX, false, NULL },
	{ "connections", FIELDS_NUMBER, offsetof(struct scope, connections), UINT32_MAX, false,
	  NULL },
	{ 0 },
};

static void tell_resolved(struct agent *agent, const struct submission *submission,
			  const struct given *given, const char *how)
{
	json_t *event = tell_new(TELL_APPROVAL_RESOLVED, submission->id);

	tell_add(event, "approval", tell_text(given->approval));
	tell_add(event, "decision", json_string(asking_choice_words[given->decision]));
	if (how && how[0])
		tell_add(event, "how", tell_text(how));
	tell_send(agent, event);
}

/* The scope that a decision has where none is given. */
static enum gateway_scope usual_scope(enum orchestrator_choice choice)
{
	switch (choice) {
	case ORCHESTRATOR_SESSION:
		return GATEWAY_SESSION;
	case ORCHESTRATOR_ALWAYS:
	case ORCHESTRATOR_DENY_ALWAYS:
		return GATEWAY_ALWAYS;
	case ORCHESTRATOR_DENY:
	case ORCHESTRATOR_ABORT:
	case ORCHESTRATOR_ONCE:
	case ORCHESTRATOR_UNCONFINED:
	default:
		return GATEWAY_ONCE;
	}
}

/* A plain decision may say a scope of its own; one that has a scope in its name may not say
 * another. */
static int read_answer(const struct given *given, struct approver_answer *answer, struct err *why)
{
	enum orchestrator_choice choice = (enum orchestrator_choice)given->decision;
	enum gateway_scope usual = usual_scope(choice);
	struct scope scope = { .for_whom = (int)usual };

	if (choice == ORCHESTRATOR_UNCONFINED)
		return err_set(why, -EINVAL, "that cannot be said of a destination");
	if (given->scope && fields_read(given->scope, scope_fields, true, &scope, why) < 0)
		return -EINVAL;
	if (usual != GATEWAY_ONCE && scope.for_whom != (int)usual)
		return err_set(why, -EINVAL, "the decision and its scope contradict one another");
	if (given->expires_ms > 0 && scope.duration_ms > 0)
		return err_set(why, -EINVAL, "either \"expires_ms\" or a duration of the scope");
	if (given->expires_ms > 0)
		scope.duration_ms = given->expires_ms;
	*answer = (struct approver_answer){
		.action = choice == ORCHESTRATOR_ONCE || choice == ORCHESTRATOR_SESSION ||
					  choice == ORCHESTRATOR_ALWAYS
				  ? POLICY_ALLOW
				  : POLICY_DENY,
		.scope = (enum gateway_scope)scope.for_whom,
		.is_abort = choice == ORCHESTRATOR_ABORT,
		.is_nobody = given->is_nobody,
		.by = AGENT_BY,
		.words = given->words,
		.width = {
			.is_domain = scope.host == 1,
			.is_every_port = scope.ports == 1,
			.is_program = scope.program == 1,
			.for_s = (scope.duration_ms + 999) / 1000,
			.upload_max = (uint64_t)scope.upload,
			.download_max = (uint64_t)scope.download,
			.connections_max = (uint32_t)scope.connections,
		},
	};
	return 0;
}

static int answer_gateway(struct agent *agent, const struct submission *submission,
			  const struct given *given, struct err *why)
{
	struct approver_answer answer;
	char text[APPROVER_KEY_MAX] = "";
	int r = given->proposal < 0 ? read_answer(given, &answer, why)
				    : err_set(why, -EINVAL, "nothing was proposed");

	if (r == 0)
		r = gateway_embedded_answer(agent->gateway, given->approval, &answer, given->typed,
					    text, why);
	if (r < 0)
		return r;
	/* Before its end is told, which then finds nothing. */
	asking_forget(agent, asking_find(agent, given->approval));
	tell_resolved(agent, submission, given, text);
	return 0;
}

static bool is_approval(enum orchestrator_choice choice)
{
	return choice == ORCHESTRATOR_ONCE || choice == ORCHESTRATOR_SESSION ||
	       choice == ORCHESTRATOR_ALWAYS || choice == ORCHESTRATOR_UNCONFINED;
}

/* Before it counts: what cannot be written down is not allowed. */
static int record_answer(struct agent *agent, const struct given *given, const struct asked *asked,
			 struct err *why)
{
	static const enum policy_reason reasons[] = {
		[ORCHESTRATOR_DENY] = POLICY_DENIED_ONCE,
		[ORCHESTRATOR_ABORT] = POLICY_ABORTED,
		[ORCHESTRATOR_ONCE] = POLICY_GRANTED_ONCE,
		[ORCHESTRATOR_SESSION] = POLICY_GRANTED_SESSION,
		[ORCHESTRATOR_ALWAYS] = POLICY_GRANTED_ALWAYS,
		[ORCHESTRATOR_DENY_ALWAYS] = POLICY_DENIED_ALWAYS,
		[ORCHESTRATOR_UNCONFINED] = POLICY_GRANTED_ONCE,
	};
	enum orchestrator_choice choice = (enum orchestrator_choice)given->decision;
	const struct gateway_decided decided = {
		.kind = asking_kind_name(asked->kind),
		.is_allowed = is_approval(choice),
		.is_unconfined = asked->is_unconfined || choice == ORCHESTRATOR_UNCONFINED,
		.is_retry = asked->is_retry,
		.reason = given->is_nobody ? POLICY_NO_APPROVER : reasons[choice],
		.by = given->is_nobody ? "policy" : AGENT_BY, /* nobody was asked */
		.through = "agent",
		.shown = asked->shown,
		.words = given->words,
		.waited_ms = loop_now_ms(agent->loop) - asked->since_ms,
	};

	int r = agent->gateway ? gateway_decided(agent->gateway, &decided) : -EPIPE;

	if (r == 0 || !decided.is_allowed)
		return 0;
	return err_set(why, -EIO, "the answer cannot be recorded, so it is none");
}

static int answer_orchestrator(struct agent *agent, const struct submission *submission,
			       const struct given *given, struct asked *asked, struct err *why)
{
	struct session *session = asked->session;
	const struct orchestrator_answer answer = {
		.choice = (enum orchestrator_choice)given->decision,
		.expires_ms = given->expires_ms,
		.is_nobody = given->is_nobody,
		.words = given->words,
		.proposal = (size_t)(given->proposal + 1), /* all of them: 0 */
	};

	if (given->scope)
		return err_set(why, -EINVAL, "\"scope\" is for destinations on their way out");
	if (asked->typed && is_approval(answer.choice) &&
	    (!given->typed || strcmp(given->typed, asked->typed) != 0))
		return err_set(why, -EACCES, "\"typed\" has to be what a person typed: %s",
			       asked->typed);
	int r = record_answer(agent, given, asked, why);

	if (r == 0)
		r = orchestrator_answer(session->orchestrator, given->approval, session->number,
					&answer, why);
	if (r < 0)
		return r;
	for (char **warned = asked->warned; is_approval(answer.choice) && warned && *warned;
	     warned++)
		gateway_warned(agent->gateway, *warned);
	/* A reviewer is compared with people. */
	if (!given->is_nobody)
		gateway_review_compare(take(asked->watch),
				       is_approval(answer.choice) ? POLICY_ALLOW : POLICY_DENY);
	asking_forget(agent, asked);
	tell_resolved(agent, submission, given, NULL);
	return 0;
}

int reply_serve(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct given given = { .kind = -1, .decision = -1, .proposal = -1 };
	int r = fields_read(submission->body, given_fields, false, &given, why);

	if (r < 0)
		return r;
	/* What was meant to end must not be taken for what does not. */
	if (given.expires_ms > 0 && given.decision != ORCHESTRATOR_SESSION)
		return err_set(why, -EINVAL,
			       "\"expires_ms\" belongs to the decision `approved_for_session`");
	if (given.is_nobody && (given.decision != ORCHESTRATOR_DENY || given.scope))
		return err_set(why, -EINVAL,
			       "\"unasked\" belongs to the decision `denied`, without a scope");
	struct asked *asked = asking_find(agent, given.approval);

	if (!asked)
		return err_set(why, -ENOENT, "that question is not open (any more)");
	if ((int)asked->kind != given.kind)
		return err_set(why, -EINVAL, "that question is about %s, not about %s",
			       asking_kind_name(asked->kind), kinds[given.kind]);
	return asked->session ? answer_orchestrator(agent, submission, &given, asked, why)
			      : answer_gateway(agent, submission, &given, why);
}
