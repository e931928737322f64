#include "agent/ahead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"
#include "policies/policies_agent.h"

#define AHEAD_MS       (2 * 60 * 1000) /* for all of them; each has a limit of its own */
#define AHEAD_TEXT_MAX 4000            /* of a text that a hook is told; more would be cut */

struct ahead {
	struct session *session;
	char *id; /* of the question put to them */
	struct gateway_review *review;
	struct loop_timer unseen;
	LIST_ENTRY(ahead) entry;
};

static const struct {
	enum orchestrator_kind kind;
	enum policy_helper_kind helps;
} ahead_kinds[] = {
	{ ORCHESTRATOR_EXEC, POLICY_HELPS_EXEC },
	{ ORCHESTRATOR_PATCH, POLICY_HELPS_PATCH },
	{ ORCHESTRATOR_PERMISSIONS, POLICY_HELPS_PERMISSIONS },
	{ ORCHESTRATOR_ELICITATION, POLICY_HELPS_ELICITATION },
};

bool ahead_decider(const struct agent *agent, struct orchestrator_decider *ret)
{
	*ret = (struct orchestrator_decider){ .name = "a hook", .timeout_ms = AHEAD_MS };
	for (size_t i = 0; i < ARRAY_SIZE(ahead_kinds); i++) {
		if (agent->hook_kinds & ahead_kinds[i].helps)
			ret->kinds |= BIT(ahead_kinds[i].kind);
	}
	return ret->kinds != 0;
}

static void ahead_free(struct ahead *ahead)
{
	LIST_REMOVE(ahead, entry);
	gateway_review_withdraw(ahead->review);
	loop_timer_stop(&ahead->unseen);
	free(ahead->id);
	free(ahead);
}

static struct ahead *ahead_find(const struct session *session, const char *id)
{
	struct ahead *ahead;

	LIST_FOREACH (ahead, &session->ahead, entry) {
		if (strcmp(ahead->id, id) == 0)
			return ahead;
	}
	return NULL;
}

bool ahead_has(const struct session *session, const char *id)
{
	return ahead_find(session, id) != NULL;
}

bool ahead_drop(struct session *session, const char *id)
{
	struct ahead *ahead = ahead_find(session, id);

	if (ahead)
		ahead_free(ahead);
	return ahead != NULL;
}

void ahead_free_all(struct session *session)
{
	while (!LIST_EMPTY(&session->ahead))
		ahead_free(LIST_FIRST(&session->ahead));
}

static void ahead_settle(struct ahead *ahead, enum orchestrator_decision decision,
			 const char *words)
{
	struct session *session = ahead->session;
	auto_free char *id = take(ahead->id);

	ahead_free(ahead);
	/* -ENOENT: it was settled meanwhile. */
	(void)orchestrator_decide(session->orchestrator, id, decision, words, NULL);
}

/* One that was late, or crashed, has said nothing: then people are asked. */
static void on_reviewed(const struct gateway_review_result *result, void *arg)
{
	struct ahead *ahead = arg;
	enum orchestrator_decision decision = ORCHESTRATOR_PASS;

	ahead->review = NULL; /* it is dead */
	if (result->outcome == GATEWAY_REVIEW_ALLOW)
		decision = ORCHESTRATOR_DECIDES_ALLOW;
	else if (result->outcome == GATEWAY_REVIEW_DENY)
		decision = ORCHESTRATOR_DECIDES_DENY;
	ahead_settle(ahead, decision, result->reason);
}

/* What a hook cannot be shown whole it does not judge: people are asked. */
static void on_unseen(void *arg)
{
	ahead_settle(arg, ORCHESTRATOR_PASS, "");
}

/* What is asked for besides, or is about to be changed, one a line. */
static char *ahead_detail(const struct orchestrator_question *question)
{
	static const char *const classes[ORCHESTRATOR_CLASSES] = {
		[ORCHESTRATOR_WRITE_PATH] = "write", [ORCHESTRATOR_READ_PATH] = "read",
		[ORCHESTRATOR_SOCKET] = "socket",    [ORCHESTRATOR_DESTINATION] = "reach",
		[ORCHESTRATOR_PROGRAM] = "run",      [ORCHESTRATOR_SYSTEM_CALL] = "call",
	};
	char *text = mem_strdup("");

	for (const char *const *variable = question->env; variable && *variable; variable++) {
		char *more = mem_printf("%senv %s\n", text, *variable);

		free(text);
		text = more;
	}
	for (size_t i = 0; i < question->access_count; i++) {
		const struct orchestrator_access *access = &question->accesses[i];
		char *more = access->what == ORCHESTRATOR_DESTINATION
				     ? mem_printf("%sreach %s://%s:%u\n", text, access->protocol,
						  access->name, (unsigned int)access->port)
				     : mem_printf("%s%s %s\n", text, classes[access->what],
						  access->name);

		free(text);
		text = more;
	}
	for (const char *const *key = question->keys; key && *key; key++) {
		char *more = mem_printf("%s%s\n", text, *key);

		free(text);
		text = more;
	}
	return text;
}

/* All of it, and none of it cut on the way. */
static bool ahead_can_show(const struct orchestrator_question *question, const char *detail,
			   const char *confinement)
{
	size_t len = 0;

	for (const char *const *word = question->argv; word && *word; word++)
		len += 4 * strlen(*word) + 3; /* as it is made visible, and quoted */
	return len < AHEAD_TEXT_MAX && strlen(detail) < AHEAD_TEXT_MAX &&
	       strlen(confinement) < AHEAD_TEXT_MAX &&
	       (!question->cwd || strlen(question->cwd) < AHEAD_TEXT_MAX);
}

int ahead_decide(size_t decider, const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;
	struct agent *agent = session->agent;
	auto_free char *detail = ahead_detail(question);
	auto_free char *confinement =
		question->is_confined ? exec_sandbox_text(question->sandbox) : mem_strdup("none");
	struct gateway_review_request request = {
		.argv = question->argv,
		.cwd = question->cwd,
		.confinement = confinement,
		.justification = question->justification,
		.rule = question->reason,
		.detail = detail,
	};
	struct ahead *ahead;

	if (agent->is_gone)
		return -EPIPE;
	for (size_t i = 0; i < ARRAY_SIZE(ahead_kinds); i++) {
		if (ahead_kinds[i].kind == question->kind)
			request.kind = ahead_kinds[i].helps;
	}
	ahead = mem_new(sizeof(*ahead));
	ahead->session = session;
	ahead->id = mem_strdup(question->id);
	LIST_INSERT_HEAD(&session->ahead, ahead, entry);
	if (!ahead_can_show(question, detail, confinement)) {
		loop_defer(agent->loop, &ahead->unseen, on_unseen, ahead);
		return 0;
	}
	ahead->review = gateway_review(agent->gateway, &request, on_reviewed, ahead, NULL);
	if (ahead->review)
		return 0;
	ahead_free(ahead);
	return -EBUSY;
}
