/* Questions of the agent, put to the person in front of the client by elicitation. Whatever is not
 * a clear and offered answer is a denial. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp_impl.h"
#include "base/mem.h"

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

static void ask_decide(struct mcp *mcp, const char *id, const char *approval, const char *kind,
		       const char *decision, const json_t *content)
{
	json_t *message = json_pack("{s:s, s:s, s:s}", "approval", approval, "kind", kind,
				    "decision", decision);
	const char *typed = json_string_value(json_object_get(content, "typed"));
	const char *words = json_string_value(json_object_get(content, "words"));

	if (typed)
		(void)json_object_set_new(message, "typed", json_string(typed)); /* memory only */
	if (words && words[0] != '\0')
		(void)json_object_set_new(message, "words", json_string(words));
	mcp_tell_agent(mcp, "approve", id, message);
}

struct ask_text {
	char out[MCP_MESSAGE_MAX];
	size_t len;
};

static void ask_say(struct ask_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void ask_say(struct ask_text *text, const char *format, ...)
{
	size_t room = sizeof(text->out) - text->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->out + text->len, room, format, args);
	va_end(args);
	if (len > 0)
		text->len += (size_t)len < room ? (size_t)len : room - 1; /* cut, and it is seen */
}

static void ask_say_member(struct ask_text *text, const json_t *event, const char *name,
			   const char *label)
{
	const char *value = json_string_value(json_object_get(event, name));

	if (value && value[0] != '\0')
		ask_say(text, "\n%s%s", label, value);
}

static void ask_say_list(struct ask_text *text, const json_t *event, const char *name,
			 const char *label, const char *member)
{
	const json_t *list = json_object_get(event, name), *item;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		item = json_array_get(list, i);
		const char *what = json_string_value(json_object_get(item, "what"));
		const char *value =
			json_string_value(member ? json_object_get(item, member) : item);

		if (value)
			ask_say(text, "%s%s%s%s",
				i == 0   ? label
				: member ? "\n  "
					 : " ",
				what ? what : "", what ? " " : "", value);
	}
}

/* What will be granted stands first, and is all that an allow grants. */
static void ask_describe(const json_t *event, const char *kind, struct ask_text *text)
{
	const json_t *to = json_object_get(event, "destination");
	const char *host = json_string_value(json_object_get(to, "host"));
	const char *protocol = json_string_value(json_object_get(to, "protocol"));

	text->len = 0;
	if (host)
		ask_say(text, "May it reach %s://%s:%lld ?", protocol ? protocol : "tcp", host,
			(long long)json_integer_value(json_object_get(to, "port")));
	else if (strcmp(kind, "exec") == 0)
		ask_say(text, "%s",
			json_is_false(json_object_get(event, "confined"))
				? "Run this WITHOUT a sandbox?"
				: "Run this in its sandbox?");
	else
		ask_say(text, "Allow this (%s)?", kind);
	ask_say_list(text, event, "argv", "\n  ", NULL);
	ask_say_list(text, event, "items", "\n  ", NULL);
	ask_say_list(text, event, "accesses", "\nwith:\n  ", "name");
	ask_say_list(text, event, "commands", "\nasked by: ", NULL);
	ask_say_member(text, event, "program", "program: ");
	ask_say_member(text, event, "cwd", "in: ");
	ask_say_member(text, event, "warning", "careful: ");
	ask_say_member(text, event, "reason", "why it is asked: ");
	ask_say_member(text, event, "rule", "rule: ");
	ask_say_member(text, event, "justification", "the agent says: ");
	ask_say_member(text, event, "plea", "the command says: ");
	ask_say_list(text, event, "proposal", "\nalways would add: ", NULL);
	if (text->len >= sizeof(text->out) - 1)
		(void)memcpy(text->out + sizeof(text->out) - 4, "...", 4);
}

static json_t *ask_schema(const json_t *event, const json_t *decisions)
{
	const char *typed = json_string_value(json_object_get(event, "typed"));
	json_t *properties =
		json_pack("{s:{s:s, s:s, s:O}, s:{s:s, s:s, s:i}}", "decision", "type", "string",
			  "title", "Decision", "enum", decisions, "words", "type", "string",
			  "title", "Words to whoever asked (may be left empty)", "maxLength", 400);

	if (typed && typed[0] != '\0') {
		auto_free char *title = mem_printf("To allow it, type %s", typed);

		(void)json_object_set_new(
			properties, "typed",
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
	struct ask_text text;
	char id[MCP_ID_MAX];

	if (!approval || !kind || !json_is_array(decisions))
		return; /* not what an agent says; it stays open until it is denied */
	mcp_make_id(mcp, 'q', id);
	if (!mcp->can_elicit || mcp->ask_count >= MCP_ASKS_MAX) {
		if (!mcp->config.may_wait || strcmp(kind, "network") != 0)
			ask_decide(mcp, id, approval, kind, "denied", NULL);
		return;
	}
	struct mcp_ask *ask = mem_new(sizeof(*ask));

	memcpy(ask->id, id, sizeof(id));
	ask->approval = mem_strdup(approval);
	ask->kind = mem_strdup(kind);
	ask->decisions = json_incref(decisions);
	LIST_INSERT_HEAD(&mcp->asks, ask, entry);
	mcp->ask_count++;
	ask_describe(event, kind, &text);
	mcp_tell_client(mcp, json_pack("{s:s, s:s, s:{s:s, s:o}}", "id", id, "method",
				       "elicitation/create", "params", "message", text.out,
				       "requestedSchema", ask_schema(event, decisions)));
}

/* Somebody else answered, or nobody did in time. */
void mcp_ask_resolved(struct mcp *mcp, const json_t *event)
{
	const char *approval = json_string_value(json_object_get(event, "approval"));
	struct mcp_ask *ask, *next;

	for (ask = LIST_FIRST(&mcp->asks); approval && ask; ask = next) {
		next = LIST_NEXT(ask, entry);
		if (strcmp(ask->approval, approval) != 0)
			continue;
		if (!ask->was_answered)
			mcp_tell_client(mcp,
					json_pack("{s:s, s:{s:s, s:s}}", "method",
						  "notifications/cancelled", "params", "requestId",
						  ask->id, "reason", "it was settled elsewhere"));
		ask_free(mcp, ask);
	}
}

static bool ask_offers(const struct mcp_ask *ask, const char *decision)
{
	for (size_t i = 0; decision && i < json_array_size(ask->decisions); i++) {
		if (strcmp(json_string_value(json_array_get(ask->decisions, i)), decision) == 0)
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

	if (!ask || ask->was_answered)
		return false;
	ask->was_answered = true;
	if (!is_meant || !ask_offers(ask, decision)) {
		decision = "denied";
		ask->was_denied = true;
	}
	ask_decide(mcp, ask->id, ask->approval, ask->kind, decision, is_meant ? content : NULL);
	return true;
}

/* The domain was not typed, say: a person had their say, and it was no allow. */
bool mcp_ask_refused(struct mcp *mcp, const char *id)
{
	struct mcp_ask *ask = ask_find(mcp, id);

	if (!ask)
		return false;
	if (!ask->was_denied)
		ask_decide(mcp, ask->id, ask->approval, ask->kind, "denied", NULL);
	ask->was_denied = true;
	return true;
}
