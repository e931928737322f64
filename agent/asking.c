#include "agent/asking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ahead.h"
#include "agent/core.h"
#include "agent/tell.h"
#include "agent/trial.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"
#include "gateway/gateway_warning.h"

#define SHOWN_MAX 1024 /* bytes of what was asked about, in a record */

static const char *const kind_names[] = {
	[AGENT_EXEC] = "exec",
	[AGENT_PATCH] = "patch",
	[AGENT_NETWORK] = "network",
	[AGENT_PERMISSIONS] = "permissions",
	[AGENT_ELICITATION] = "elicitation",
};
static const enum agent_question_kind kinds[] = {
	[ORCHESTRATOR_EXEC] = AGENT_EXEC,
	[ORCHESTRATOR_PATCH] = AGENT_PATCH,
	[ORCHESTRATOR_NETWORK] = AGENT_NETWORK,
	[ORCHESTRATOR_PERMISSIONS] = AGENT_PERMISSIONS,
	[ORCHESTRATOR_ELICITATION] = AGENT_ELICITATION,
};
const char *const asking_choice_words[] = {
	[ORCHESTRATOR_DENY] = "denied",
	[ORCHESTRATOR_ABORT] = "abort",
	[ORCHESTRATOR_ONCE] = "approved",
	[ORCHESTRATOR_SESSION] = "approved_for_session",
	[ORCHESTRATOR_ALWAYS] = "always",
	[ORCHESTRATOR_DENY_ALWAYS] = "denied_always",
	[ORCHESTRATOR_UNCONFINED] = "approved_unconfined",
	NULL,
};
static const char *const class_names[ORCHESTRATOR_CLASSES] = {
	[ORCHESTRATOR_WRITE_PATH] = "write", [ORCHESTRATOR_READ_PATH] = "read",
	[ORCHESTRATOR_SOCKET] = "socket",    [ORCHESTRATOR_DESTINATION] = "destination",
	[ORCHESTRATOR_PROGRAM] = "program",  [ORCHESTRATOR_SYSTEM_CALL] = "call",
};

const char *asking_kind_name(enum agent_question_kind kind)
{
	return kind_names[kind];
}

struct asked *asking_note(struct agent *agent, const char *id, enum agent_question_kind kind,
			  struct session *session)
{
	struct asked *asked = mem_new(sizeof(*asked));

	asked->id = mem_strdup(id);
	asked->kind = kind;
	asked->session = session;
	asked->since_ms = loop_now_ms(agent->loop);
	TAILQ_INSERT_TAIL(&agent->asked, asked, entry);
	return asked;
}

struct asked *asking_find(const struct agent *agent, const char *id)
{
	struct asked *asked;

	TAILQ_FOREACH (asked, &agent->asked, entry) {
		if (strcmp(asked->id, id) == 0)
			return asked;
	}
	return NULL;
}

void asking_forget(struct agent *agent, struct asked *asked)
{
	if (!asked)
		return;
	TAILQ_REMOVE(&agent->asked, asked, entry);
	if (agent->gateway) /* else it is dead with it */
		gateway_review_compare(asked->watch, POLICY_ASK);
	free(asked->typed);
	free(asked->shown);
	mem_free_list(asked->warned);
	free(asked->id);
	free(asked);
}

void asking_forget_session(struct session *session)
{
	struct asked *asked, *next;

	for (asked = TAILQ_FIRST(&session->agent->asked); asked; asked = next) {
		next = TAILQ_NEXT(asked, entry);
		if (asked->session == session)
			asking_forget(session->agent, asked);
	}
}

json_t *asking_choices(unsigned int choices)
{
	json_t *list = json_array();

	for (size_t i = 0; asking_choice_words[i]; i++) {
		if (choices & BIT(i))
			(void)json_array_append_new(list, json_string(asking_choice_words[i]));
	}
	return list;
}

/* @more, taken, goes behind *@text, which may be NULL. */
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

/* A destination that warns, as the gateway reads it: returned owned. NULL: it is none, or does not.
 */
static char *access_that_warns(struct gateway *gw, const struct orchestrator_access *access,
			       struct gateway_warning *ret)
{
	if (access->what != ORCHESTRATOR_DESTINATION)
		return NULL;
	auto_free char *text = trial_destination(access);

	/* What the gateway cannot read it does not grant either. */
	return gateway_warn(gw, text, ret, NULL) == 0 && ret->typed[0] ? take(text) : NULL;
}

bool asking_warns(const struct session *session, const struct orchestrator_question *question)
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

/* Before it lets out to these destinations, the gateway has their domains typed: each once, one
 * space between them. */
static void add_warnings(json_t *event, struct asked *asked,
			 const struct orchestrator_question *question)
{
	struct gateway *gw = asked->session->agent->gateway;
	auto_free char *words = mem_strdup("");

	free(take(asked->typed));
	mem_free_list(take(asked->warned));
	for (size_t i = 0; gw && i < question->access_count; i++) {
		struct gateway_warning warning;
		auto_free char *text = access_that_warns(gw, &question->accesses[i], &warning);

		if (!text)
			continue;
		add_line(&words, "\n", mem_printf("%s: %s", text, warning.words));
		mem_append_list(&asked->warned, take(text));
		if (!asked->typed || !has_word(asked->typed, warning.typed))
			add_line(&asked->typed, " ", mem_strdup(warning.typed));
	}
	if (!asked->typed)
		return;
	tell_add(event, "warning", tell_text(words));
	tell_add(event, "typed", tell_text(asked->typed));
}

static json_t *accesses_json(const struct orchestrator_question *question)
{
	json_t *list = json_array();

	for (size_t i = 0; i < question->access_count; i++) {
		const struct orchestrator_access *access = &question->accesses[i];
		json_t *shown = json_pack("{s:s, s:o}", "what", class_names[access->what], "name",
					  tell_text(access->name));

		if (access->what == ORCHESTRATOR_DESTINATION) {
			tell_add(shown, "protocol", tell_text(access->protocol));
			tell_add(shown, "port", json_integer(access->port));
		}
		(void)json_array_append_new(list, shown); /* out of memory only */
	}
	return list;
}

/* Which of the client's commands wait for it, by its own numbers, and the submissions' ids. */
static void add_tasks(json_t *event, const struct session *session,
		      const struct orchestrator_question *question)
{
	json_t *execs = json_array(), *ids = json_array();
	const struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		for (size_t i = 0; i < question->call_count; i++) {
			if (question->calls[i] != task->asked_as)
				continue;
			(void)json_array_append_new(ids, tell_text(task->id));
			if (task->kind != TASK_QUESTION)
				(void)json_array_append_new(execs,
							    json_integer((json_int_t)task->number));
		}
	}
	tell_add(event, "execs", execs);
	tell_add(event, "ids", ids);
}

static void add_command(json_t *event, const struct orchestrator_question *question)
{
	if (question->argv)
		tell_add(event, "argv", tell_list(question->argv));
	if (question->env && question->env[0])
		tell_add(event, "env", tell_list(question->env));
	if (question->keys)
		tell_add(event, "items", tell_list(question->keys));
	if (question->program.path[0])
		tell_add(event, "program", tell_text(question->program.path));
	if (question->cwd)
		tell_add(event, "cwd", tell_text(question->cwd));
	tell_add(event, "confined", json_boolean(question->is_confined));
	if (question->is_confined && question->sandbox) {
		auto_free char *text = exec_sandbox_text(question->sandbox);

		tell_add(event, "sandbox", tell_text(text));
	}
}

static json_t *question_json(enum tell_event type, struct asked *asked,
			     const struct orchestrator_question *question)
{
	const struct session *session = asked->session;
	json_t *event = tell_of_session(type, NULL, session);
	int64_t left_ms = question->deadline_ms - loop_now_ms(session->agent->loop);

	tell_add(event, "approval", json_string(question->id));
	tell_add(event, "kind", json_string(kind_names[kinds[question->kind]]));
	add_tasks(event, session, question);
	tell_add(event, "retry", json_boolean(question->is_retry));
	tell_add(event, "one_shot", json_boolean(question->is_one_shot));
	add_command(event, question);
	tell_add(event, "accesses", accesses_json(question));
	add_warnings(event, asked, question);
	tell_add(event, "decisions", asking_choices(question->choices));
	if (question->reason && question->reason[0])
		tell_add(event, "reason", tell_text(question->reason));
	if (question->justification && question->justification[0])
		tell_add(event, "justification", tell_text(question->justification));
	if (question->proposal && question->proposal[0])
		tell_add(event, "proposal", tell_list(question->proposal));
	if (question->heard != ORCHESTRATOR_PASS)
		tell_add(event, "review",
			 json_string(question->heard == ORCHESTRATOR_WAS_LATE ? "late" : "failed"));
	tell_add(event, "left_ms", json_integer((json_int_t)(left_ms > 0 ? left_ms : 0)));
	return event;
}

/* For the records: what was put to the client, and whose it is. */
static void asking_note_shown(struct asked *asked, const struct orchestrator_question *question)
{
	const char *const *words = question->argv ? question->argv : question->keys;
	struct task *task;

	asked->is_retry = question->is_retry;
	asked->is_unconfined = !question->is_confined && kinds[question->kind] == AGENT_EXEC;
	asked->shown =
		words ? text_command_line(words, SHOWN_MAX) : mem_strdup_or_null(question->reason);
	TAILQ_FOREACH (task, &asked->session->tasks, entry) {
		for (size_t i = 0; i < question->call_count; i++)
			task->was_asked |= question->calls[i] == task->asked_as;
	}
}

static int ask(const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;
	struct agent *agent = session->agent;

	if (agent->is_gone || question->client != session->number)
		return -ENOTCONN;
	struct asked *asked = asking_note(agent, question->id, kinds[question->kind], session);

	asking_note_shown(asked, question);
	asked->watch = ahead_watch(session, question);
	tell_send(agent, question_json(TELL_APPROVAL_REQUEST, asked, question));
	return 0;
}

static void changed(const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;

	if (ahead_has(session, question->id))
		return;
	struct asked *asked = asking_find(session->agent, question->id);

	if (!asked)
		return;
	tell_send(session->agent, question_json(TELL_APPROVAL_UPDATED, asked, question));
}

static void retract(const char *id, const char *why, void *arg)
{
	struct session *session = arg;

	if (ahead_drop(session, id))
		return;
	json_t *event = tell_of_session(TELL_APPROVAL_RESOLVED, NULL, session);

	asking_forget(session->agent, asking_find(session->agent, id));
	tell_add(event, "approval", tell_text(id));
	tell_add(event, "decision", json_string("none"));
	tell_add(event, "how", tell_text(why));
	tell_send(session->agent, event);
}

static int attempt(const struct orchestrator_attempt *wanted, struct err *why, void *arg)
{
	return trial_start(wanted, why);
}

static void stop(uint64_t number, const char *why, void *arg)
{
	struct trial *trial = trial_find(arg, number);

	if (trial)
		trial_stop(trial, why);
}

static void pause_clock(uint64_t number, bool is_paused, void *arg)
{
	struct trial *trial = trial_find(arg, number);

	if (trial)
		trial_pause(trial, is_paused);
}

/* From the loop already, and what is stored is told to whoever waits after this returned. */
static int store(uint64_t number, const char *const *lines, void *arg)
{
	struct session *session = arg;
	const struct agent_config *config = &session->agent->config;
	struct err why = { 0 };
	int r = config->host->store(lines, &why, config->arg);

	if (r < 0) {
		tell_warning(session->agent, NULL, why.text);
		return r;
	}
	/* -ENOENT cannot be: it was just asked for. */
	(void)orchestrator_stored(session->orchestrator, number, 0);
	return 0;
}

const struct orchestrator_ops asking_ops = {
	.ask = ask,
	.changed = changed,
	.retract = retract,
	.decide = ahead_decide,
	.attempt = attempt,
	.stop = stop,
	.pause = pause_clock,
	.store = store,
};
