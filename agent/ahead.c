#include "agent/ahead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/asking.h"
#include "agent/core.h"
#include "agent/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"
#include "gateway/gateway_review.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_agent.h"

#define AHEAD_MS       (2 * 60 * 1000) /* beside the limits that they have themselves */
#define AHEAD_TEXT_MAX 4000            /* of a text that a hook is told; more would be cut */

struct ahead {
	struct session *session;
	size_t decider;
	char *id;   /* of the question put to them */
	bool warns; /* a person would have to type a domain */
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

static unsigned int ahead_kinds_of(unsigned int helps)
{
	unsigned int kinds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ahead_kinds); i++) {
		if (helps & ahead_kinds[i].helps)
			kinds |= BIT(ahead_kinds[i].kind);
	}
	return kinds;
}

static enum policy_helper_kind ahead_helps(enum orchestrator_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(ahead_kinds); i++) {
		if (ahead_kinds[i].kind == kind)
			return ahead_kinds[i].helps;
	}
	return POLICY_HELPS_NETWORK; /* which nobody is asked about so */
}

void ahead_deciders(const struct agent *agent, struct ahead_table *ret)
{
	const struct gateway_helpers *helpers = agent->helpers;
	struct orchestrator_decider hooks = { .name = "a hook", .timeout_ms = AHEAD_MS };
	struct orchestrator_decider reviewer = { .name = "the reviewer", .is_reviewer = true };

	*ret = (struct ahead_table){ 0 };
	for (size_t i = 0; helpers && i < helpers->hook_count; i++)
		hooks.kinds |= ahead_kinds_of(helpers->hooks[i].kinds);
	if (hooks.kinds) {
		ret->by[ret->count] = GATEWAY_REVIEW_BY_HOOKS;
		ret->list[ret->count++] = hooks;
	}
	if (!helpers || !helpers->reviewer || !helpers->reviewer->may_answer)
		return;
	reviewer.kinds = ahead_kinds_of(helpers->reviewer->kinds);
	reviewer.timeout_ms = AHEAD_MS + 2 * helpers->reviewer->timeout_ms;
	if (reviewer.kinds) {
		ret->by[ret->count] = GATEWAY_REVIEW_BY_REVIEWER;
		ret->list[ret->count++] = reviewer;
	}
}

static void ahead_free(struct ahead *ahead)
{
	LIST_REMOVE(ahead, entry);
	if (ahead->session->agent->gateway) /* else it is dead with it */
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

/* Said once a session: from then on people are asked. */
static void ahead_tell_breaker(struct session *session, size_t decider)
{
	if (session->has_handed_over ||
	    !orchestrator_is_breaker_open(session->orchestrator, decider))
		return;
	json_t *event = tell_of_session(TELL_WARNING, NULL, session);

	session->has_handed_over = true;
	tell_add(event, "message",
		 json_string("the reviewer has denied too much: it is not asked any more in this "
			     "session, people are"));
	tell_send(session->agent, event);
}

static void ahead_settle(struct ahead *ahead, enum orchestrator_decision decision,
			 const char *words)
{
	struct session *session = ahead->session;
	size_t decider = ahead->decider;
	auto_free char *id = take(ahead->id);

	ahead_free(ahead);
	/* -ENOENT: it was settled meanwhile. */
	(void)orchestrator_decide(session->orchestrator, id, decision, words, NULL);
	ahead_tell_breaker(session, decider);
}

static void on_reviewed(const struct gateway_review_result *result, void *arg)
{
	static const enum orchestrator_decision decisions[] = {
		[GATEWAY_REVIEW_NONE] = ORCHESTRATOR_PASS,
		[GATEWAY_REVIEW_LATE] = ORCHESTRATOR_WAS_LATE,
		[GATEWAY_REVIEW_FAILED] = ORCHESTRATOR_HAS_FAILED,
		[GATEWAY_REVIEW_ALLOW] = ORCHESTRATOR_DECIDES_ALLOW,
		[GATEWAY_REVIEW_DENY] = ORCHESTRATOR_DECIDES_DENY,
	};
	struct ahead *ahead = arg;

	ahead->review = NULL; /* it is dead */
	/* What a person would have to type is no program's to allow. */
	if (ahead->warns && result->outcome == GATEWAY_REVIEW_ALLOW)
		ahead_settle(ahead, ORCHESTRATOR_PASS, "");
	else
		ahead_settle(ahead, decisions[result->outcome], result->reason);
}

/* What a program cannot be shown whole it does not judge: people are asked. */
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

/* What the programs are shown; borrows @question. */
struct ahead_view {
	char *detail, *confinement;
	struct gateway_review_request request;
};

static bool ahead_view_make(struct ahead_view *view, const struct orchestrator_question *question)
{
	view->detail = ahead_detail(question);
	if (!question->is_confined)
		view->confinement = mem_strdup("none");
	else /* where nothing runs there is none to speak of */
		view->confinement =
			question->sandbox ? exec_sandbox_text(question->sandbox) : mem_strdup("");
	view->request = (struct gateway_review_request){
		.kind = ahead_helps(question->kind),
		.argv = question->argv,
		.cwd = question->cwd,
		.confinement = view->confinement,
		.justification = question->justification,
		.rule = question->reason,
		.detail = view->detail,
	};
	return ahead_can_show(question, view->detail, view->confinement);
}

static void ahead_view_done(struct ahead_view *view)
{
	free(view->detail);
	free(view->confinement);
}

static int ahead_put(struct ahead *ahead, const struct orchestrator_question *question)
{
	struct session *session = ahead->session;
	struct agent *agent = session->agent;
	struct ahead_view view;

	if (ahead_view_make(&view, question)) {
		view.request.by = session->deciders.by[ahead->decider];
		ahead->review =
			gateway_review(agent->gateway, &view.request, on_reviewed, ahead, NULL);
	} else {
		loop_defer(agent->loop, &ahead->unseen, on_unseen, ahead);
	}
	ahead_view_done(&view);
	return ahead->review || ahead->unseen.is_armed ? 0 : -EBUSY;
}

int ahead_decide(size_t decider, const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;
	struct ahead *ahead;

	if (session->agent->is_gone)
		return -EPIPE;
	ahead = mem_new(sizeof(*ahead));
	ahead->session = session;
	ahead->decider = decider;
	ahead->id = mem_strdup(question->id);
	ahead->warns = asking_warns(session, question);
	LIST_INSERT_HEAD(&session->ahead, ahead, entry);
	int r = ahead_put(ahead, question);

	if (r < 0)
		ahead_free(ahead);
	return r;
}

struct gateway_review *ahead_watch(const struct session *session,
				   const struct orchestrator_question *question)
{
	const struct gateway_helpers *helpers = session->agent->helpers;
	struct gateway_review *watch = NULL;
	struct ahead_view view;

	if (!helpers || !helpers->reviewer ||
	    !(ahead_kinds_of(helpers->reviewer->kinds) & BIT(question->kind)))
		return NULL;
	if (ahead_view_make(&view, question))
		watch = gateway_review_watch(session->agent->gateway, &view.request);
	ahead_view_done(&view);
	return watch;
}
