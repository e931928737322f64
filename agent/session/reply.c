#include "agent/session/reply.h"

#include <errno.h>
#include <string.h>

#include "agent/pending.h"
#include "agent/session/client.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/gateway_agent.h"

struct given {
	const char *approval, *words, *typed;
	const json_t *scope;
	int kind, decision;
	int64_t expires_ms, proposal;
	bool is_nobody;
};
static const struct fields_entry given_fields[] = {
	{ "approval", FIELDS_TEXT, offsetof(struct given, approval), AGENT_NAME_MAX, true, NULL },
	{ "kind", FIELDS_CHOICE, offsetof(struct given, kind), 0, true, pending_kind_words },
	{ "decision", FIELDS_CHOICE, offsetof(struct given, decision), 0, true,
	  pending_choice_words },
	{ "message", FIELDS_TEXT, offsetof(struct given, words), AGENT_TEXT_MAX, false, NULL },
	{ "confirmation", FIELDS_TEXT, offsetof(struct given, typed), AGENT_TEXT_MAX, false, NULL },
	{ "expires_ms", FIELDS_NUMBER, offsetof(struct given, expires_ms), AGENT_DURATION_MAX,
	  false, NULL },
	{ "proposal", FIELDS_NUMBER, offsetof(struct given, proposal), AGENT_LIST_MAX, false,
	  NULL },
	{ "scope", FIELDS_OBJECT, offsetof(struct given, scope), 0, false, NULL },
	{ "unasked", FIELDS_FLAG, offsetof(struct given, is_nobody), 0, false, NULL },
	{ 0 },
};

/* The scope of an answer about a destination. */
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
	json_t *told = json_object();

	tell_add(told, "approval", tell_text(given->approval));
	tell_add_text(told, "message", how);
	tell_reply(agent, submission->id, told);
}

/* The scope of a decision that names none. */
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

/* A plain decision may have a scope beside it; a decision with a scope in its name may not. */
static int read_answer(const struct given *given, struct approver_answer *answer, struct err *why)
{
	enum orchestrator_choice choice = (enum orchestrator_choice)given->decision;
	enum gateway_scope usual = usual_scope(choice);
	struct scope scope = { .for_whom = (int)usual };

	if (choice == ORCHESTRATOR_UNCONFINED)
		return err_set(why, -EINVAL, "this decision is not allowed for a destination");
	if (given->scope && fields_read(given->scope, scope_fields, true, &scope, why) < 0)
		return -EINVAL;
	if (usual != GATEWAY_ONCE && scope.for_whom != (int)usual)
		return err_set(why, -EINVAL, "the decision and its scope contradict each other");
	if (given->expires_ms > 0 && scope.duration_ms > 0)
		return err_set(why, -EINVAL,
			       "give either \"expires_ms\" or a duration of the scope, not both");
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
		.by = CLIENT_BY,
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
				    : err_set(why, -EINVAL, "a destination has no \"proposal\"");

	if (r == 0)
		r = gateway_embedded_answer(agent->gateway, given->approval, &answer, given->typed,
					    text, why);
	if (r < 0)
		return r;
	/* Forgotten before the end is told, so that the end does not find it again. */
	pending_forget(agent, pending_find(agent, given->approval));
	tell_resolved(agent, submission, given, text);
	return 0;
}

static int answer_orchestrator(struct agent *agent, const struct submission *submission,
			       const struct given *given, struct pending *pending, struct err *why)
{
	const struct orchestrator_answer answer = {
		.choice = (enum orchestrator_choice)given->decision,
		.expires_ms = given->expires_ms,
		.is_nobody = given->is_nobody,
		.words = given->words,
		.proposal = (size_t)(given->proposal + 1), /* 0: all of them */
	};

	if (given->scope)
		return err_set(why, -EINVAL, "\"scope\" is allowed only for destinations");
	if (pending->typed && pending_is_approval(answer.choice) &&
	    (!given->typed || strcmp(given->typed, pending->typed) != 0))
		return err_set(why, -EACCES,
			       "\"confirmation\" must be the text that a person typed: %s",
			       pending->typed);
	int r = pending_answer(pending, &answer, why);

	if (r < 0)
		return r;
	pending_retract(pending, "was answered by " CLIENT_BY);
	pending_forget(agent, pending);
	tell_resolved(agent, submission, given, NULL);
	return 0;
}

int reply_serve(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct given given = { .kind = -1, .decision = -1, .proposal = -1 };
	int r = fields_read(submission->body, given_fields, false, &given, why);

	if (r < 0)
		return r;
	/* An expiry that would have no effect is an error: the answer would stay valid. */
	if (given.expires_ms > 0 && given.decision != ORCHESTRATOR_SESSION)
		return err_set(
			why, -EINVAL,
			"\"expires_ms\" is allowed only with the decision `approved_for_session`");
	if (given.is_nobody && (given.decision != ORCHESTRATOR_DENY || given.scope))
		return err_set(
			why, -EINVAL,
			"\"unasked\" is allowed only with the decision `denied`, without a scope");
	struct pending *pending = pending_find(agent, given.approval);

	if (!pending)
		return err_set(why, -ENOENT,
			       "the question is not open; it is unknown, answered or withdrawn");
	if ((int)pending->kind != given.kind)
		return err_set(why, -EINVAL, "the question is about %s, not about %s",
			       pending_kind_words[pending->kind], pending_kind_words[given.kind]);
	return pending->session ? answer_orchestrator(agent, submission, &given, pending, why)
				: answer_gateway(agent, submission, &given, why);
}
