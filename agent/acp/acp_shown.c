/* The editor knows none of our terminals. Where a tool call of the program shows one, the editor
 * gets its command and the end of its output as text: at once, and again when it has ended. */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp_impl.h"
#include "agent/rpc/piece.h"
#include "base/mem.h"
#include "base/text.h"

/* As Markdown that shows exactly @text: no run of backticks in it ends the block. */
json_t *acp_shown_block(const char *text)
{
	size_t longest = 2, run = 0;

	for (const char *at = text; *at; at++) {
		run = *at == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	auto_free char *fence = mem_new(longest + 2);

	memset(fence, '`', longest + 1);
	auto_free char *shown = mem_printf("%s\n%s\n%s", fence, text, fence);

	return json_pack("[{s:s, s:{s:s, s:s}}]", "type", "content", "content", "type", "text",
			 "text", shown);
}

static json_t *block_of(const struct acp_terminal *terminal)
{
	size_t at = terminal->len > ACP_SHOWN_BYTES ? terminal->len - ACP_SHOWN_BYTES : 0;
	size_t line = strlen(terminal->line) + 3, len = terminal->len - at;
	auto_free char *bytes = mem_new(line + len + 1);

	memcpy(stpcpy(stpcpy(bytes, "$ "), terminal->line), "\n", 2);
	for (size_t i = 0; i < len; i++)
		bytes[line + i] = terminal->output[at + i] ? terminal->output[at + i] : ' ';
	json_t *text = piece_text(bytes, line + len);
	json_t *block = acp_shown_block(json_string_value(text));

	json_decref(text);
	return block;
}

/* The first of a terminal in @content shows its output: a message that names it often stays short.
 */
static json_t *replacement(struct acp_terminal *terminal)
{
	if (!terminal)
		return acp_shown_block("(the terminal was released)");
	if (terminal->is_in_message)
		return acp_shown_block("(the terminal is shown above)");
	terminal->is_in_message = true;
	return block_of(terminal);
}

/* Replaces those in @content; the update @shown, if it is one, is kept for those that run. */
static void replace(struct acp *acp, json_t *content, json_t *shown)
{
	struct acp_terminal *terminal;
	json_t *item;
	size_t i;

	LIST_FOREACH (terminal, &acp->terminals, entry)
		terminal->is_in_message = false;
	json_array_foreach(content, i, item)
	{
		const char *id = json_string_value(json_object_get(item, "terminalId"));

		if (!id)
			continue;
		terminal = acp_terminal_find(acp, id);
		if (terminal && !terminal->end && shown && !terminal->shown)
			terminal->shown = json_incref(shown);
		json_t *block = replacement(terminal);

		(void)json_array_set(content, i, json_array_get(block, 0)); /* it is there */
		json_decref(block);
	}
}

static const char *call_of(const json_t *params)
{
	return json_string_value(json_object_get(json_object_get(params, "update"), "toolCallId"));
}

/* The tool call has another content now. */
static void forget(struct acp *acp, const json_t *params)
{
	struct acp_terminal *terminal;
	const char *call = call_of(params);

	LIST_FOREACH (terminal, &acp->terminals, entry) {
		const char *shown = call_of(terminal->shown);

		if (call && shown && strcmp(call, shown) == 0)
			json_decref(take(terminal->shown));
	}
}

static bool has_terminal(const json_t *content)
{
	const json_t *item;
	size_t i;

	json_array_foreach(content, i, item)
	{
		if (json_is_string(json_object_get(item, "terminalId")))
			return true;
	}
	return false;
}

void acp_shown_replace(struct acp *acp, json_t *whole)
{
	json_t *params = json_object_get(whole, "params");
	json_t *update = json_object_get(json_object_get(params, "update"), "content");
	json_t *call = json_object_get(json_object_get(params, "toolCall"), "content");

	if (json_is_array(update))
		forget(acp, params);
	if (has_terminal(update)) {
		bool is_short = json_dumpb(params, NULL, 0, JSON_COMPACT) <= ACP_UPDATE_MAX;
		json_t *shown = is_short && call_of(params) ? json_deep_copy(params) : NULL;

		replace(acp, update, shown);
		json_decref(shown);
	}
	replace(acp, call, NULL);
}

void acp_shown_end(struct acp *acp, struct acp_terminal *terminal)
{
	json_t *shown = terminal->shown;
	json_t *content = json_object_get(json_object_get(shown, "update"), "content");

	if (!shown)
		return;
	/* Another terminal in it sends it again when it has ended, too. */
	json_t *again = json_deep_copy(content);
	const char *session = json_string_value(json_object_get(shown, "sessionId"));

	replace(acp, again, NULL);
	rpc_notify(acp->front, "session/update",
		   json_pack("{s:s, s:{s:s, s:s, s:o}}", "sessionId", session ? session : "",
			     "update", "sessionUpdate", "tool_call_update", "toolCallId",
			     call_of(shown), "content", again));
	terminal->shown = NULL;
	json_decref(shown);
}
