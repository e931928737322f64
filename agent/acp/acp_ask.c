/* Puts the server's questions to the person in front of the editor, as requests for permission of
 * the program's latest session. Only an option that was offered is an answer; all else is none, and
 * others may answer still. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp_impl.h"
#include "agent/asked.h"
#include "base/mem.h"
#include "base/text.h"

static const struct {
	const char *decision, *kind, *verb, *how;
} options[] = {
	{ "approved", "allow_once", "Allow", "this time" },
	{ "approved_for_session", "allow_always", "Allow", "for this session" },
	{ "always", "allow_always", "Allow", "always, by a line in your policy" },
	{ "denied", "reject_once", "Deny", "this time" },
	{ "denied_always", "reject_always", "Deny", "always, by a line in your policy" },
};

static void ask_free(struct acp *acp, struct acp_ask *ask)
{
	LIST_REMOVE(ask, entry);
	acp->ask_count--;
	free(ask->approval);
	free(ask->kind);
	free(ask->session);
	json_decref(ask->event);
	json_decref(ask->offered);
	free(ask);
}

void acp_ask_free_all(struct acp *acp)
{
	while (!LIST_EMPTY(&acp->asks))
		ask_free(acp, LIST_FIRST(&acp->asks));
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static bool has(const json_t *list, const char *word)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (word &&
		    strcmp(json_string_value(item) ? json_string_value(item) : "", word) == 0)
			return true;
	}
	return false;
}

/* Must a person type what is allowed? An option is chosen by one key, so it may allow only what a
 * terminal's question allows by one: a destination whose one warning is that it is new. */
static bool is_careful(const json_t *event)
{
	const json_t *risks = json_object_get(event, "risk"), *risk;
	size_t i;

	if (json_is_true(json_object_get(event, "private")))
		return true;
	json_array_foreach(risks, i, risk)
	{
		const char *word = json_string_value(risk);

		if (!word || (strcmp(word, "first_seen") != 0 && strcmp(word, "raw_tcp") != 0))
			return true;
	}
	/* Of other questions than those about a destination. */
	return json_array_size(risks) == 0 && text_of(event, "confirmation");
}

static bool may_offer(const json_t *event, const char *decision, bool is_careful)
{
	bool is_allow = strncmp(decision, "denied", strlen("denied")) != 0;
	bool is_raw = has(json_object_get(event, "risk"), "raw_tcp");

	return has(json_object_get(event, "decisions"), decision) && !(is_allow && is_careful) &&
	       !(is_raw && strcmp(decision, "always") == 0);
}

/* The decisions that the editor offers, and its options for them. */
static json_t *options_json(const json_t *event, bool is_careful, json_t *offered)
{
	const char *typed = text_of(event, "confirmation");
	auto_free char *name = text_visible_dup(typed ? typed : "");
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *decision = options[i].decision;

		if (!may_offer(event, decision, is_careful))
			continue;
		auto_free char *words = mem_printf("%s%s%s %s", options[i].verb, name[0] ? " " : "",
						   name, options[i].how);

		(void)json_array_append_new(offered, json_string(decision));
		(void)json_array_append_new(list, /* fails only without memory */
					    json_pack("{s:s, s:s, s:s}", "optionId", decision,
						      "name", words, "kind", options[i].kind));
	}
	return list;
}

static char *title_of(const char *text, const json_t *event)
{
	const char *warning = text_of(event, "warning");
	size_t len = strcspn(text, "\n");
	auto_free char *shown = warning ? text_visible_dup(warning) : NULL;

	return mem_printf("%.*s%s%s", (int)len, text, shown ? " Warning: " : "",
			  shown ? shown : "");
}

static const char *tool_kind(const char *kind)
{
	return strcmp(kind, "network") == 0 ? "fetch"
	       : strcmp(kind, "exec") == 0  ? "execute"
					    : "other";
}

static void ask_show(struct acp *acp, struct acp_ask *ask)
{
	bool must_care = is_careful(ask->event);
	json_t *offered = json_array();
	json_t *list = options_json(ask->event, must_care, offered);
	json_t *event = json_copy(ask->event);
	struct asked asked;

	(void)json_object_set(event, "decisions", offered); /* fails only without memory */
	if (!asked_describe(event, ask->kind, &asked)) {
		acp_warn(acp,
			 "a question is too long for the editor; `sallyport approve` shows it");
		json_decref(list);
		json_decref(offered);
		json_decref(event);
		ask->is_long = true;
		return;
	}
	auto_free char *text =
		mem_printf("%s%s", asked.out,
			   must_care ? "\nIt can be allowed only where a person types its name: "
				       "`sallyport approve`"
				     : "");
	auto_free char *title = title_of(asked.out, event);

	ask->offered = offered;
	ask->session = mem_strdup(acp->session);
	acp_make_id(acp, ACP_OWN, ask->id);
	(void)rpc_request(/* no limit but the queue's */
			  acp->front, ask->id, "session/request_permission",
			  json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:o}, s:o}", "sessionId",
				    acp->session, "toolCall", "toolCallId", ask->id, "title", title,
				    "kind", tool_kind(ask->kind), "status", "pending", "content",
				    acp_shown_block(text), "options", list));
	json_decref(event);
}

void acp_ask_show_all(struct acp *acp)
{
	struct acp_ask *ask;

	LIST_FOREACH (ask, &acp->asks, entry) {
		if (acp->session && !ask->session && !ask->is_long && !acp->is_leaving)
			ask_show(acp, ask);
	}
}

void acp_ask_begin(struct acp *acp, const json_t *event)
{
	const char *approval = text_of(event, "approval"), *kind = text_of(event, "kind");

	if (!approval || !kind || acp->ask_count >= ACP_ASKS_MAX)
		return; /* others may answer it */
	struct acp_ask *ask = mem_new(sizeof(*ask));

	ask->approval = mem_strdup(approval);
	ask->kind = mem_strdup(kind);
	ask->event = json_deep_copy(event);
	LIST_INSERT_HEAD(&acp->asks, ask, entry);
	acp->ask_count++;
	acp_ask_show_all(acp);
}

/* The tool call that the editor shows is over. */
static void ask_conclude(struct acp *acp, struct acp_ask *ask, const char *words)
{
	bool is_denied = ask->decision && strncmp(ask->decision, "denied", strlen("denied")) == 0;
	auto_free char *shown = text_visible_dup(words ? words : "");
	json_t *update =
		json_pack("{s:s, s:s, s:s}", "sessionUpdate", "tool_call_update", "toolCallId",
			  ask->id, "status", is_denied ? "failed" : "completed");

	if (shown[0])
		(void)json_object_set_new(update, "content", acp_shown_block(shown));
	if (ask->session && !ask->was_answered)
		rpc_notify(acp->front, "$/cancel_request",
			   json_pack("{s:s}", "requestId", ask->id));
	if (ask->session)
		rpc_notify(acp->front, "session/update",
			   json_pack("{s:s, s:o}", "sessionId", ask->session, "update", update));
	else
		json_decref(update);
	ask_free(acp, ask);
}

void acp_ask_resolved(struct acp *acp, const json_t *event)
{
	const char *approval = text_of(event, "approval");
	struct acp_ask *ask, *next;

	for (ask = LIST_FIRST(&acp->asks); approval && ask; ask = next) {
		next = LIST_NEXT(ask, entry);
		if (strcmp(ask->approval, approval) == 0)
			ask_conclude(acp, ask, text_of(event, "message"));
	}
}

static struct acp_ask *ask_find(struct acp *acp, const char *id)
{
	struct acp_ask *ask;

	LIST_FOREACH (ask, &acp->asks, entry) {
		if (ask->session && strcmp(ask->id, id) == 0)
			return ask;
	}
	return NULL;
}

static void ask_decide(struct acp *acp, struct acp_ask *ask)
{
	const char prefix[] = { ACP_ANSWER, '\0' };
	const char *typed = text_of(ask->event, "confirmation");
	json_t *params = json_pack("{s:s, s:s, s:s}", "approval", ask->approval, "kind", ask->kind,
				   "decision", ask->decision);

	/* The option that was chosen has this name in it. */
	if (typed && strncmp(ask->decision, "denied", strlen("denied")) != 0)
		(void)json_object_set_new(params, "confirmation", json_string(typed));
	acp_make_id(acp, prefix, ask->answer);
	(void)acp_tell(acp, "approve", ask->answer, params); /* it is short */
}

void acp_ask_answered(struct acp *acp, const char *id, const json_t *result)
{
	struct acp_ask *ask = ask_find(acp, id);
	const json_t *outcome = json_object_get(result, "outcome");
	const char *how = text_of(outcome, "outcome"), *option = text_of(outcome, "optionId");
	size_t i;
	const json_t *offered;

	if (!ask || ask->was_answered)
		return; /* it is late */
	ask->was_answered = true;
	if (!how || strcmp(how, "selected") != 0 || !option)
		return;
	json_array_foreach(ask->offered, i, offered)
	{
		if (strcmp(json_string_value(offered), option) == 0)
			ask->decision = json_string_value(offered);
	}
	if (ask->decision)
		ask_decide(acp, ask);
}

void acp_ask_replied(struct acp *acp, const char *id, const json_t *result, const json_t *error)
{
	struct acp_ask *ask;
	const char *words = text_of(error, "message");

	LIST_FOREACH (ask, &acp->asks, entry) {
		if (strcmp(ask->answer, id) == 0)
			break;
	}
	if (ask && result)
		return ask_conclude(acp, ask, NULL);
	if (ask)
		ask->decision = NULL; /* others may answer it */
	if (error)
		acp_warn(acp, "an answer of the editor was refused: %s", words ? words : "");
}
