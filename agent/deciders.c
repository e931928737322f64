#include "agent/deciders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/pending.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"
#include "exec/orchestrator/orchestrator.h"
#include "gateway/gateway_review.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_agent.h"

#define EXTRA_MS (2 * 60 * 1000) /* added to the deciders' own limits */
#define TEXT_MAX 4000            /* of a text for a hook; it would cut a longer one */

#define DECIDERS_MAX 2

/* A question that is put to one of the deciders. */
struct decider_question {
	struct deciders *deciders;
	size_t decider;
	char *id;
	bool warns; /* a person would have to type a domain */
	struct gateway_review *review;
	struct loop_timer unseen;
	LIST_ENTRY(decider_question) entry;
};
struct deciders {
	struct session *session;
	struct orchestrator_decider list[DECIDERS_MAX];
	enum gateway_review_by by[DECIDERS_MAX]; /* the kind of each decider */
	size_t count;
	LIST_HEAD(, decider_question) questions;
	bool has_handed_over; /* the reviewer's, to people */
};

static const struct {
	enum orchestrator_kind kind;
	enum policy_helper_kind helps;
} helped[] = {
	{ ORCHESTRATOR_EXEC, POLICY_HELPS_EXEC },
	{ ORCHESTRATOR_PATCH, POLICY_HELPS_PATCH },
	{ ORCHESTRATOR_PERMISSIONS, POLICY_HELPS_PERMISSIONS },
	{ ORCHESTRATOR_ELICITATION, POLICY_HELPS_ELICITATION },
};

static unsigned int kinds_of(unsigned int helps)
{
	unsigned int kinds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(helped); i++) {
		if (helps & helped[i].helps)
			kinds |= BIT(helped[i].kind);
	}
	return kinds;
}

static enum policy_helper_kind helper_kind_of(enum orchestrator_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(helped); i++) {
		if (helped[i].kind == kind)
			return helped[i].helps;
	}
	return POLICY_HELPS_NETWORK; /* deciders do not get such a question here */
}

static void add(struct deciders *deciders, const struct orchestrator_decider *decider,
		enum gateway_review_by by)
{
	if (!decider->kinds)
		return;
	deciders->by[deciders->count] = by;
	deciders->list[deciders->count++] = *decider;
}

struct deciders *deciders_new(struct session *session)
{
	const struct gateway_helpers *helpers = session->agent->helpers;
	struct orchestrator_decider hooks = { .name = "a hook", .timeout_ms = EXTRA_MS };
	struct orchestrator_decider reviewer = { .is_reviewer = true };
	struct deciders *deciders = mem_new(sizeof(*deciders));

	deciders->session = session;
	for (size_t i = 0; helpers && i < helpers->hook_count; i++)
		hooks.kinds |= kinds_of(helpers->hooks[i].kinds);
	add(deciders, &hooks, GATEWAY_REVIEW_BY_HOOKS);
	if (!helpers || !helpers->reviewer || !helpers->reviewer->may_answer)
		return deciders;
	reviewer.name = gateway_reviewer_name(helpers->reviewer);
	reviewer.kinds = kinds_of(helpers->reviewer->kinds);
	reviewer.timeout_ms = EXTRA_MS + 2 * helpers->reviewer->timeout_ms;
	add(deciders, &reviewer, GATEWAY_REVIEW_BY_REVIEWER);
	return deciders;
}

const struct orchestrator_decider *deciders_list(const struct deciders *deciders, size_t *ret_count)
{
	*ret_count = deciders->count;
	return deciders->list;
}

static const char *by_of(const struct deciders *deciders, size_t decider)
{
	return deciders->list[decider].is_reviewer ? "reviewer" : "hook";
}

/* @by: the program's name; "": none has decided. */
static void tell_completed(const struct deciders *deciders, size_t decider, const char *id,
			   const char *outcome, const char *by, const char *words)
{
	json_t *event = tell_of_session(deciders->session);

	tell_add(event, "review", tell_text(id));
	tell_add(event, "by", json_string(by_of(deciders, decider)));
	tell_add(event, "outcome", json_string(outcome));
	tell_add_text(event, "program", by);
	tell_add_text(event, "message", words);
	tell_send(deciders->session->agent, TELL_REVIEW_COMPLETED, event);
}

static void forget(struct decider_question *asked)
{
	LIST_REMOVE(asked, entry);
	if (asked->deciders->session->agent->gateway) /* a gateway that was freed has freed it */
		gateway_review_withdraw(asked->review);
	loop_timer_stop(&asked->unseen);
	free(asked->id);
	free(asked);
}

void deciders_free(struct deciders *deciders)
{
	if (!deciders)
		return;
	while (!LIST_EMPTY(&deciders->questions))
		forget(LIST_FIRST(&deciders->questions));
	free(deciders);
}

static struct decider_question *find(const struct deciders *deciders, const char *id)
{
	struct decider_question *asked;

	LIST_FOREACH (asked, &deciders->questions, entry) {
		if (strcmp(asked->id, id) == 0)
			return asked;
	}
	return NULL;
}

bool deciders_has(const struct session *session, const char *id)
{
	return find(session->deciders, id) != NULL;
}

bool deciders_drop(struct session *session, const char *id)
{
	struct decider_question *asked = find(session->deciders, id);

	if (!asked)
		return false;
	tell_completed(asked->deciders, asked->decider, id, "withdrawn", "", "");
	forget(asked);
	return true;
}

/* Tells the client once per session that the reviewer is not asked any more; from then on people
 * are asked. */
static void tell_breaker(struct deciders *deciders, size_t decider)
{
	struct session *session = deciders->session;

	if (deciders->has_handed_over ||
	    !orchestrator_is_breaker_open(session->orchestrator, decider))
		return;
	json_t *event = tell_of_session(session);

	deciders->has_handed_over = true;
	tell_add(event, "message",
		 json_string("the reviewer has denied too many requests; this session asks people "
			     "instead of it from now on"));
	tell_send(session->agent, TELL_WARNING, event);
}

static void settle(struct decider_question *asked, enum orchestrator_decision decision,
		   const char *by, const char *words)
{
	static const char *const outcomes[] = {
		[ORCHESTRATOR_DECIDES_DENY] = "deny",   [ORCHESTRATOR_PASS] = "pass",
		[ORCHESTRATOR_DECIDES_ALLOW] = "allow", [ORCHESTRATOR_WAS_LATE] = "late",
		[ORCHESTRATOR_HAS_FAILED] = "failed",
	};
	struct deciders *deciders = asked->deciders;
	size_t decider = asked->decider;
	auto_free char *id = take(asked->id);

	forget(asked);
	tell_completed(deciders, decider, id, outcomes[decision], by, words);
	/* -ENOENT: the question was settled meanwhile. */
	(void)orchestrator_decide(deciders->session->orchestrator, id, decision, by, words, NULL);
	tell_breaker(deciders, decider);
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
	struct decider_question *asked = arg;

	asked->review = NULL; /* freed with the gateway */
	/* If a person would have to type a domain, a program cannot allow it. */
	if (asked->warns && result->outcome == GATEWAY_REVIEW_ALLOW)
		settle(asked, ORCHESTRATOR_PASS, "", "");
	else
		settle(asked, decisions[result->outcome], result->by, result->reason);
}

/* A decider that cannot be shown the whole question does not decide: people are asked. */
static void on_unseen(void *arg)
{
	settle(arg, ORCHESTRATOR_PASS, "", "");
}

/* Adds a line: names are of the agent's choice, and none becomes a line of its own. */
static void add_detail(char **text, const char *what, const char *name)
{
	auto_free char *shown = text_visible_dup(name);

	mem_append(text, "%s%s\n", what, shown);
}

/* The additional permissions, or the files to be changed, one per line. */
static char *detail(const struct orchestrator_question *question)
{
	static const char *const classes[ORCHESTRATOR_CLASSES] = {
		[ORCHESTRATOR_WRITE_PATH] = "write ", [ORCHESTRATOR_READ_PATH] = "read ",
		[ORCHESTRATOR_SOCKET] = "socket ",    [ORCHESTRATOR_PROGRAM] = "run ",
		[ORCHESTRATOR_SYSTEM_CALL] = "call ",
	};
	char *text = mem_strdup("");

	for (const char *const *variable = question->env; variable && *variable; variable++)
		add_detail(&text, "env ", *variable);
	for (size_t i = 0; i < question->access_count; i++) {
		const struct orchestrator_access *access = &question->accesses[i];

		if (access->what == ORCHESTRATOR_DESTINATION)
			mem_append(&text, "reach %s://%s:%u\n", access->protocol, access->name,
				   (unsigned int)access->port);
		else
			add_detail(&text, classes[access->what], access->name);
	}
	for (const char *const *key = question->keys; key && *key; key++)
		add_detail(&text, "", *key);
	if (question->changes)
		mem_append(&text, "changes %s\n", question->changes);
	return text;
}

/* Can the programs be shown the whole question, without a part being cut? */
static bool can_show(const struct orchestrator_question *question, const char *detail,
		     const char *confinement)
{
	size_t len = 0;

	for (const char *const *word = question->argv; word && *word; word++)
		len += 4 * strlen(*word) + 3; /* at most, when made printable and quoted */
	return len < TEXT_MAX && strlen(detail) < TEXT_MAX && strlen(confinement) < TEXT_MAX &&
	       (!question->cwd || strlen(question->cwd) < TEXT_MAX);
}

/* The question in the form that the programs get; borrows @question. */
struct decider_view {
	char *detail, *confinement;
	struct gateway_review_request request;
};

static bool view_make(struct decider_view *view, const struct orchestrator_question *question)
{
	view->detail = detail(question);
	if (!question->is_confined)
		view->confinement = mem_strdup("none");
	else /* no command, so no sandbox */
		view->confinement =
			question->sandbox ? exec_sandbox_text(question->sandbox) : mem_strdup("");
	view->request = (struct gateway_review_request){
		.kind = helper_kind_of(question->kind),
		.argv = question->argv,
		.cwd = question->cwd,
		.confinement = view->confinement,
		.justification = question->justification,
		.rule = question->reason,
		.detail = view->detail,
	};
	return can_show(question, view->detail, view->confinement);
}

static void view_done(struct decider_view *view)
{
	free(view->detail);
	free(view->confinement);
}

static int put(struct decider_question *asked, const struct orchestrator_question *question)
{
	struct agent *agent = asked->deciders->session->agent;
	struct decider_view view;

	if (view_make(&view, question)) {
		view.request.by = asked->deciders->by[asked->decider];
		asked->review =
			gateway_review(agent->gateway, &view.request, on_reviewed, asked, NULL);
	} else {
		loop_defer(agent->loop, &asked->unseen, on_unseen, asked);
	}
	view_done(&view);
	return asked->review || asked->unseen.is_armed ? 0 : -EBUSY;
}

static void tell_started(const struct decider_question *asked,
			 const struct orchestrator_question *question)
{
	const struct deciders *deciders = asked->deciders;
	json_t *event = tell_of_session(deciders->session);

	tell_add(event, "review", tell_text(asked->id));
	tell_add(event, "by", json_string(by_of(deciders, asked->decider)));
	tell_add(event, "kind", json_string(pending_kind_words[question->kind]));
	pending_add_tasks(event, deciders->session, question);
	tell_send(deciders->session->agent, TELL_REVIEW_STARTED, event);
}

int deciders_ask(size_t decider, const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;

	if (session->agent->is_gone)
		return -EPIPE;
	struct decider_question *asked = mem_new(sizeof(*asked));

	asked->deciders = session->deciders;
	asked->decider = decider;
	asked->id = mem_strdup(question->id);
	asked->warns = pending_warns(session, question);
	LIST_INSERT_HEAD(&session->deciders->questions, asked, entry);
	int r = put(asked, question);

	if (r < 0)
		forget(asked);
	else
		tell_started(asked, question);
	return r;
}

struct gateway_review *deciders_watch(const struct session *session,
				      const struct orchestrator_question *question)
{
	const struct gateway_helpers *helpers = session->agent->helpers;
	struct gateway_review *watch = NULL;
	struct decider_view view;

	if (!helpers || !helpers->reviewer ||
	    !(kinds_of(helpers->reviewer->kinds) & BIT(question->kind)))
		return NULL;
	if (view_make(&view, question))
		watch = gateway_review_watch(session->agent->gateway, &view.request);
	view_done(&view);
	return watch;
}
