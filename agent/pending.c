#include "agent/pending.h"

#include <stdlib.h>
#include <string.h>

#include "agent/command/extra.h"
#include "agent/command/task.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway_agent_question.h"
#include "gateway/gateway_review.h"
#include "gateway/gateway_warning.h"

const char *const pending_kind_words[] = {
	[ORCHESTRATOR_EXEC] = "exec",
	[ORCHESTRATOR_PATCH] = "patch",
	[ORCHESTRATOR_NETWORK] = "network",
	[ORCHESTRATOR_PERMISSIONS] = "permissions",
	[ORCHESTRATOR_ELICITATION] = "elicitation",
	NULL,
};
const char *const pending_choice_words[] = {
	[ORCHESTRATOR_DENY] = "denied",
	[ORCHESTRATOR_ABORT] = "abort",
	[ORCHESTRATOR_ONCE] = "approved",
	[ORCHESTRATOR_SESSION] = "approved_for_session",
	[ORCHESTRATOR_ALWAYS] = "always",
	[ORCHESTRATOR_DENY_ALWAYS] = "denied_always",
	[ORCHESTRATOR_UNCONFINED] = "approved_unconfined",
	NULL,
};

struct pending *pending_add(struct agent *agent, const char *id, enum orchestrator_kind kind,
			    struct session *session)
{
	struct pending *pending = mem_new(sizeof(*pending));

	pending->id = mem_strdup(id);
	pending->kind = kind;
	pending->session = session;
	TAILQ_INSERT_TAIL(&agent->pending, pending, entry);
	return pending;
}

struct pending *pending_find(const struct agent *agent, const char *id)
{
	struct pending *pending;

	TAILQ_FOREACH (pending, &agent->pending, entry) {
		if (strcmp(pending->id, id) == 0)
			return pending;
	}
	return NULL;
}

void pending_retract(struct pending *pending, const char *how)
{
	/* A gateway that was freed has freed it. */
	if (pending->session && pending->session->agent->gateway)
		gateway_agent_retract(pending->elsewhere, how);
	pending->elsewhere = NULL;
}

bool pending_is_approval(enum orchestrator_choice choice)
{
	return choice == ORCHESTRATOR_ONCE || choice == ORCHESTRATOR_SESSION ||
	       choice == ORCHESTRATOR_ALWAYS || choice == ORCHESTRATOR_UNCONFINED;
}

int pending_answer(struct pending *pending, const struct orchestrator_answer *answer,
		   struct err *why)
{
	const struct session *session = pending->session;
	int r = orchestrator_answer(session->orchestrator, pending->id, session->number, answer,
				    why);

	if (r < 0)
		return r;
	for (char **warned = pending->warned;
	     pending_is_approval(answer->choice) && warned && *warned; warned++)
		gateway_warned(session->agent->gateway, *warned);
	/* A watching reviewer is compared with people only. */
	if (!answer->is_nobody)
		gateway_review_compare(take(pending->watch), pending_is_approval(answer->choice)
								     ? POLICY_ALLOW
								     : POLICY_DENY);
	return 0;
}

void pending_forget(struct agent *agent, struct pending *pending)
{
	if (!pending)
		return;
	TAILQ_REMOVE(&agent->pending, pending, entry);
	pending_retract(pending, "was withdrawn");
	if (agent->gateway) /* a gateway that was freed has freed it */
		gateway_review_compare(pending->watch, POLICY_ASK);
	free(pending->typed);
	mem_free_list(pending->warned);
	free(pending->id);
	free(pending);
}

void pending_forget_session(struct session *session)
{
	struct pending *pending, *next;

	for (pending = TAILQ_FIRST(&session->agent->pending); pending; pending = next) {
		next = TAILQ_NEXT(pending, entry);
		if (pending->session == session)
			pending_forget(session->agent, pending);
	}
}

json_t *pending_choices(unsigned int choices)
{
	json_t *list = json_array();

	for (size_t i = 0; pending_choice_words[i]; i++) {
		if (choices & BIT(i))
			(void)json_array_append_new(list, json_string(pending_choice_words[i]));
	}
	return list;
}

/* Appends @more, which is taken, to *@text, which may be NULL. */
static void add_line(char **text, const char *between, char *more)
{
	char *old = *text;
	bool is_first = !old || !old[0];

	*text = is_first ? more : mem_printf("%s%s%s", old, between, more);
	if (!is_first)
		free(more);
	free(old);
}

/* Is @domain one of the words of @typed? */
static bool has_word(const char *typed, const char *domain)
{
	size_t len = strlen(domain);

	for (const char *at = typed; *at; at += strspn(at, " ")) {
		size_t word = strcspn(at, " ");

		if (word == len && memcmp(at, domain, len) == 0)
			return true;
		at += word;
	}
	return false;
}

/* A destination with a warning, in the gateway's spelling: returned owned. NULL: it is not a
 * destination, or has no warning. */
static char *access_that_warns(struct gateway *gw, const struct orchestrator_access *access,
			       struct gateway_warning *ret)
{
	if (access->what != ORCHESTRATOR_DESTINATION)
		return NULL;
	auto_free char *text = extra_destination(access);

	/* A destination that the gateway cannot parse is not granted either. */
	return gateway_warn(gw, text, ret, NULL) == 0 && ret->typed[0] ? take(text) : NULL;
}

bool pending_warns(const struct session *session, const struct orchestrator_question *question)
{
	struct gateway *gw = session->agent->gateway;
	bool warns = false;

	for (size_t i = 0; gw && i < question->access_count; i++) {
		struct gateway_warning warning;
		auto_free char *text = access_that_warns(gw, &question->accesses[i], &warning);

		warns = warns || text;
	}
	return warns;
}

/* The gateway requires the domains of these destinations to be typed: each once, separated by one
 * space. */
void pending_add_warnings(struct pending *pending, json_t *event,
			  const struct orchestrator_question *question)
{
	struct gateway *gw = pending->session->agent->gateway;
	auto_free char *words = mem_strdup("");

	free(take(pending->typed));
	mem_free_list(take(pending->warned));
	for (size_t i = 0; gw && i < question->access_count; i++) {
		struct gateway_warning warning;
		auto_free char *text = access_that_warns(gw, &question->accesses[i], &warning);

		if (!text)
			continue;
		add_line(&words, "\n", mem_printf("%s: %s", text, warning.words));
		mem_append_list(&pending->warned, take(text));
		if (!pending->typed || !has_word(pending->typed, warning.typed))
			add_line(&pending->typed, " ", mem_strdup(warning.typed));
	}
	if (!pending->typed)
		return;
	tell_add(event, "warning", tell_text(words));
	tell_add(event, "confirmation", tell_text(pending->typed));
}

void pending_add_tasks(json_t *event, const struct session *session,
		       const struct orchestrator_question *question)
{
	json_t *execs = json_array(), *ids = json_array();
	const struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		for (size_t i = 0; i < question->request_count; i++) {
			if (question->requests[i] != task->request)
				continue;
			(void)json_array_append_new(ids, tell_id(task->id));
			if (task->ops->kind != TASK_QUESTION)
				(void)json_array_append_new(execs,
							    json_integer((json_int_t)task->number));
		}
	}
	tell_add(event, "execs", execs);
	tell_add(event, "ids", ids);
}
