/* Puts the agent's questions to the person in front of the client by elicitation. An answer counts
 * only if it is clear and was offered; any other one is a denial. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/asked.h"
#include "agent/mcp/mcp_impl.h"
#include "base/mem.h"
#include "base/text.h"

static void ask_free(struct mcp *mcp, struct mcp_ask *ask)
{
	LIST_REMOVE(ask, entry);
	mcp->ask_count--;
	free(ask->approval);
	free(ask->kind);
	json_decref(ask->decisions);
	free(ask);
}

void mcp_ask_free_all(struct mcp *mcp)
{
	while (!LIST_EMPTY(&mcp->asks))
		ask_free(mcp, LIST_FIRST(&mcp->asks));
}

static struct mcp_ask *ask_find(struct mcp *mcp, const char *id)
{
	struct mcp_ask *ask;

	LIST_FOREACH (ask, &mcp->asks, entry) {
		if (id && strcmp(ask->id, id) == 0)
			return ask;
	}
	return NULL;
}

/* False: the person's words are too long for an answer, and nothing was decided. */
static bool ask_decide(struct mcp *mcp, const char *id, const char *approval, const char *kind,
		       const char *decision, const json_t *content)
{
	json_t *message = json_pack("{s:s, s:s, s:s}", "approval", approval, "kind", kind,
				    "decision", decision);
	const char *typed = json_string_value(json_object_get(content, "confirmation"));
	const char *words = json_string_value(json_object_get(content, "message"));

	if (json_is_true(json_object_get(content, "unasked")))
		(void)json_object_set_new(message, "unasked",
					  json_true()); /* fails only without memory */
	if (typed)
		(void)json_object_set_new(message, "confirmation",
					  json_string(typed)); /* fails only without memory */
	if (words && words[0] != '\0')
		(void)json_object_set_new(message, "message", json_string(words));
	return mcp_tell_agent(mcp, "approve", id, message);
}

/* @is_nobody: the answer is not a person's. */
static void ask_deny(struct mcp *mcp, const char *id, const char *approval, const char *kind,
		     const char *words, bool is_nobody)
{
	json_t *content = json_pack("{s:s, s:b}", "message", words, "unasked", is_nobody);

	/* It is short. */
	(void)ask_decide(mcp, id, approval, kind, "denied", content);
	json_decref(content);
}

static json_t *ask_schema(const json_t *event, const json_t *decisions)
{
	const char *typed = json_string_value(json_object_get(event, "confirmation"));
	json_t *properties =
		json_pack("{s:{s:s, s:s, s:O}, s:{s:s, s:s, s:i}}", "decision", "type", "string",
			  "title", "Decision", "enum", decisions, "message", "type", "string",
			  "title", "Message to the command or agent that asked (optional)",
			  "maxLength", MCP_WORDS_MAX);

	if (typed && typed[0] != '\0') {
		auto_free char *shown = text_visible_dup(typed);
		auto_free char *title = mem_printf("To allow it, type %s", shown);

		(void)json_object_set_new(
			properties, "confirmation",
			json_pack("{s:s, s:s}", "type", "string", "title", title));
	}
	return json_pack("{s:s, s:o, s:[s]}", "type", "object", "properties", properties,
			 "required", "decision");
}

void mcp_ask_begin(struct mcp *mcp, const json_t *event)
{
	const char *approval = json_string_value(json_object_get(event, "approval"));
	const char *kind = json_string_value(json_object_get(event, "kind"));
	json_t *decisions = json_object_get(event, "decisions");
	struct asked text;
	char id[MCP_ID_MAX];

	if (!approval || !kind || !json_is_array(decisions))
		return; /* an agent sends no such event; the question stays open */
	mcp_make_id(mcp, MCP_ANSWER, id);
	if (!mcp->can_elicit || mcp->ask_count >= MCP_ASKS_MAX) {
		bool is_network = strcmp(kind, "network") == 0;
		bool may_wait = is_network ? mcp->config.may_wait : mcp->config.may_wait_for_all;

		if (!may_wait && !json_is_true(json_object_get(event, "elsewhere")))
			ask_deny(mcp, id, approval, kind,
				 "the client cannot show a question to a person, and nobody runs "
				 "`sallyport approve watch`",
				 true);
		return;
	}
	if (!asked_describe(event, kind, &text))
		return ask_deny(mcp, id, approval, kind,
				"the question was denied, because it is too long to show to a "
				"person in full",
				true);
	struct mcp_ask *ask = mem_new(sizeof(*ask));

	memcpy(ask->id, id, sizeof(id));
	ask->approval = mem_strdup(approval);
	ask->kind = mem_strdup(kind);
	ask->decisions = json_incref(decisions);
	LIST_INSERT_HEAD(&mcp->asks, ask, entry);
	mcp->ask_count++;
	(void)rpc_request(mcp->front, id, "elicitation/create", /* no limit but the queue's */
			  json_pack("{s:s, s:o}", "message", text.out, "requestedSchema",
				    ask_schema(event, decisions)));
}

/* The question was answered elsewhere, or was not answered in time. */
void mcp_ask_resolved(struct mcp *mcp, const json_t *event)
{
	const char *approval = json_string_value(json_object_get(event, "approval"));
	struct mcp_ask *ask, *next;

	for (ask = LIST_FIRST(&mcp->asks); approval && ask; ask = next) {
		next = LIST_NEXT(ask, entry);
		if (strcmp(ask->approval, approval) != 0)
			continue;
		if (!ask->was_answered)
			rpc_notify(mcp->front, "notifications/cancelled",
				   json_pack("{s:s, s:s}", "requestId", ask->id, "reason",
					     "the question was answered elsewhere"));
		ask_free(mcp, ask);
	}
}

static bool ask_offers(const struct mcp_ask *ask, const char *decision)
{
	for (size_t i = 0; decision && i < json_array_size(ask->decisions); i++) {
		const char *offered = json_string_value(json_array_get(ask->decisions, i));

		if (offered && strcmp(offered, decision) == 0)
			return true;
	}
	return false;
}

bool mcp_ask_answered(struct mcp *mcp, const char *id, const json_t *result)
{
	struct mcp_ask *ask = ask_find(mcp, id);
	const char *action = json_string_value(json_object_get(result, "action"));
	const json_t *content = json_object_get(result, "content");
	const char *decision = json_string_value(json_object_get(content, "decision"));
	bool is_meant = action && strcmp(action, "accept") == 0;
	bool is_person = is_meant || (action && strcmp(action, "decline") == 0);

	if (!ask || ask->was_answered)
		return false;
	ask->was_answered = true;
	/* The form has no field for this. */
	json_t *form = json_is_object(content) ? json_copy((json_t *)(uintptr_t)content) : NULL;
	bool was_decided = false;

	(void)json_object_del(form, "unasked"); /* may be missing */
	if (is_meant && ask_offers(ask, decision))
		was_decided = ask_decide(mcp, ask->id, ask->approval, ask->kind, decision, form);
	json_decref(form);
	if (was_decided)
		return true;
	ask->was_denied = true;
	ask_deny(mcp, ask->id, ask->approval, ask->kind,
		 is_person ? "" : "the question was not answered", !is_person);
	return true;
}

/* It is refused if, for example, the domain was not typed: the person answered, but the answer was
 * not a valid allow. */
void mcp_ask_replied(struct mcp *mcp, const char *id, const json_t *result)
{
	struct mcp_ask *ask = ask_find(mcp, id);

	if (result) {
		mcp_progress_resolved(mcp, result);
		return mcp_ask_resolved(mcp, result);
	}
	if (!ask)
		return;
	if (!ask->was_denied)
		ask_deny(mcp, ask->id, ask->approval, ask->kind, "the server refused the answer",
			 false);
	ask->was_denied = true;
}
