/* The tool: runs one command, from its arguments to its result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_impl.h"
#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/text.h"

#define TOOL               "run"
#define CALL_DENIALS_SHOWN 8

/* The arguments of a call; the other members of a submission are not the model's to set. */
static const struct {
	const char *name, *member, *type, *words;
} arguments[] = {
	{ "command", "script", "string", "A command line, run by sh -c" },
	{ "argv", "argv", "array", "The command as a list of words, run without a shell" },
	{ "cwd", "cwd", "string", "The directory to run in" },
	{ "timeout_ms", "timeout_ms", "integer",
	  "Limit on the running time in ms, without the time that questions take (default: ten "
	  "minutes)" },
	{ "justification", "justification", "string",
	  "Why this is needed, in one sentence, for the person who is asked" },
	{ "sandbox_permissions", "sandbox_permissions", "string",
	  "require_escalated: run without the sandbox; a person is asked" },
	{ "additional_permissions", "additional_permissions", "object",
	  "With sandbox_permissions with_additional_permissions: the other access that the command "
	  "needs" },
};

static json_t *call_list_schema(const char *words)
{
	return json_pack("{s:s, s:s, s:{s:s}}", "type", "array", "description", words, "items",
			 "type", "string");
}

static void call_narrow(json_t *property, const char *name)
{
	const char *const paths = "Absolute paths";
	json_t *more = NULL;

	if (strcmp(name, "argv") == 0)
		more = json_pack("{s:{s:s}}", "items", "type", "string");
	else if (strcmp(name, "timeout_ms") == 0)
		more = json_pack("{s:i}", "minimum", 0);
	else if (strcmp(name, "sandbox_permissions") == 0)
		more = json_pack("{s:[s,s,s]}", "enum", "use_default",
				 "with_additional_permissions", "require_escalated");
	else if (strcmp(name, "additional_permissions") == 0)
		more = json_pack("{s:{s:o, s:o, s:o, s:o}, s:b}", "properties", "read",
				 call_list_schema(paths), "write", call_list_schema(paths),
				 "socket", call_list_schema(paths), "network",
				 call_list_schema("Destinations, such as https://example.org:443"),
				 "additionalProperties", 0);
	if (more)
		(void)json_object_update(property, more); /* fails only without memory */
	json_decref(more);
}

static json_t *call_schema(void)
{
	json_t *properties = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		json_t *property = json_pack("{s:s, s:s}", "type", arguments[i].type, "description",
					     arguments[i].words);

		call_narrow(property, arguments[i].name);
		(void)json_object_set_new(properties, arguments[i].name,
					  property); /* fails only without memory */
	}
	return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
			 "additionalProperties", 0);
}

static json_t *call_result_schema(void)
{
	return json_pack("{s:s, s:{s:{s:s}, s:{s:[s,s]}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, "
			 "s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}, "
			 "s:[s]}",
			 "type", "object", "properties", "status", "type", "string", "exit_code",
			 "type", "integer", "null", "stdout", "type", "string", "stderr", "type",
			 "string", "duration_ms", "type", "integer", "why", "type", "string",
			 "network", "type", "object", "evidence", "type", "array", "made", "type",
			 "array", "made_unknown", "type", "string", "required", "status");
}

json_t *mcp_call_tools(void)
{
	return json_pack("[{s:s, s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b}}]", "name", TOOL, "title",
			 "Run a command", "description",
			 "Runs a command in a sandbox and returns its output and how it ended. The "
			 "command reaches the network only through a gate; if no rule of the "
			 "policy decides, a person is asked.",
			 "inputSchema", call_schema(), "outputSchema", call_result_schema(),
			 "annotations", "readOnlyHint", 0, "destructiveHint", 1, "openWorldHint",
			 1);
}

static void call_free(struct mcp *mcp, struct mcp_call *call)
{
	mcp_progress_end(call);
	LIST_REMOVE(call, entry);
	mcp->call_count--;
	json_decref(call->request);
	json_decref(call->end);
	free(call);
}

void mcp_call_free_all(struct mcp *mcp)
{
	while (!LIST_EMPTY(&mcp->calls))
		call_free(mcp, LIST_FIRST(&mcp->calls));
}

/* The model should read the error, so it is a result and not a JSON-RPC error. */
static void call_fail(struct mcp *mcp, const json_t *request, const char *words)
{
	mcp_reply(mcp, request,
		  json_pack("{s:[{s:s, s:s}], s:{s:s, s:s}, s:b}", "content", "type", "text",
			    "text", words, "structuredContent", "status", "refused", "why", words,
			    "isError", 1));
}

/* NULL: @given is malformed; *@ret_why says why. */
static json_t *call_submission(const json_t *given, const char **ret_why)
{
	bool has_script = json_object_get(given, "command") != NULL;
	bool has_argv = json_object_get(given, "argv") != NULL;
	json_t *submission = json_pack("{s:s, s:b}", "session", MCP_SESSION, "polled", 1);
	size_t known = 0;

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		json_t *value = json_object_get(given, arguments[i].name);

		if (!value)
			continue;
		known++;
		(void)json_object_set(submission, arguments[i].member,
				      value); /* fails only without memory */
	}
	*ret_why = has_script == has_argv             ? "give either `command` or `argv`"
		   : known != json_object_size(given) ? "an argument is unknown to this tool"
						      : NULL;
	if (!*ret_why)
		return submission;
	json_decref(submission);
	return NULL;
}

static struct mcp_call *call_of(const struct mcp *mcp, const json_t *request)
{
	struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (call->request && json_equal(call->request, request))
			return call;
	}
	return NULL;
}

void mcp_call_begin(struct mcp *mcp, const json_t *request, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	const json_t *given = json_object_get(params, "arguments");
	const json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	const char *why = NULL;

	if (!name || strcmp(name, TOOL) != 0)
		return mcp_refuse(mcp, request, MCP_BAD_PARAMS, "the tool is unknown");
	if (!json_is_object(given))
		return mcp_refuse(mcp, request, MCP_BAD_PARAMS, "`arguments` must be an object");
	if (token && !mcp_progress_is_token(token))
		return mcp_refuse(mcp, request, MCP_BAD_PARAMS,
				  "a progress token must be a short text or a whole number");
	if (call_of(mcp, request))
		return mcp_refuse(mcp, request, MCP_INVALID_REQUEST,
				  "a request with this id is open; use another id");
	if (mcp->refused)
		return call_fail(mcp, request, mcp->refused);
	if (mcp->call_count >= MCP_CALLS_MAX)
		return call_fail(mcp, request,
				 "too many commands are running; wait for one to end");
	json_t *submission = call_submission(given, &why);

	if (!submission)
		return call_fail(mcp, request, why);
	struct mcp_call *call = mem_new(sizeof(*call));

	call->mcp = mcp;
	mcp_make_id(mcp, 'c', call->id);
	mcp_progress_begin(call, token);
	call->request = json_incref((json_t *)(uintptr_t)request);
	LIST_INSERT_HEAD(&mcp->calls, call, entry);
	mcp->call_count++;
	if (mcp_tell_agent(mcp, "exec", call->id, submission))
		return;
	call_fail(mcp, request, "the command is too long");
	call_free(mcp, call);
}

/* A call that has not begun is stopped as soon as it has. */
static void call_stop(struct mcp *mcp, const struct mcp_call *call)
{
	char id[MCP_ID_MAX];

	mcp_make_id(mcp, 'x', id);
	/* It is short. */
	(void)mcp_tell_agent(
		mcp, "cancel", id,
		json_pack("{s:s, s:I}", "session", MCP_SESSION, "exec", (json_int_t)call->exec));
}

void mcp_call_cancel(struct mcp *mcp, const json_t *request)
{
	struct mcp_call *call = call_of(mcp, request);

	if (!call)
		return;
	mcp_progress_end(call);
	json_decref(call->request);
	call->request = NULL;
	if (call->exec)
		call_stop(mcp, call);
}

void mcp_call_give_up(struct mcp *mcp, const char *words)
{
	while (!LIST_EMPTY(&mcp->calls)) {
		struct mcp_call *call = LIST_FIRST(&mcp->calls);

		if (call->request)
			call_fail(mcp, call->request, words);
		call_free(mcp, call);
	}
}

/* The length of the UTF-8 character at @bytes; 0: there is none. */
static size_t character_len(const char *bytes, size_t len)
{
	for (size_t n = 1; n <= 4 && n <= len; n++) {
		json_t *text = json_stringn(bytes, n);

		json_decref(text);
		if (text)
			return n;
	}
	return 0;
}

/* Replaces each byte that is not part of a character by U+FFFD. */
static json_t *text_of_bytes(const char *bytes, size_t len)
{
	static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */
	auto_free char *text = mem_new(3 * len + 1);
	size_t used = 0;

	for (size_t at = 0; at < len;) {
		size_t n = character_len(bytes + at, len - at);

		memcpy(text + used, n ? bytes + at : unknown, n ? n : 3);
		used += n ? n : 3;
		at += n ? n : 1;
	}
	return json_stringn(text, used);
}

/* The end of a stream: owned. It may contain NUL. */
static json_t *call_text(const json_t *end, const char *member)
{
	const json_t *output = json_object_get(end, member);
	json_t *text = json_object_get(output, "text");
	const char *encoded = json_string_value(json_object_get(output, "base64"));
	size_t len = encoded ? strlen(encoded) : 0;

	if (!encoded)
		return text ? json_incref(text) : json_string("");
	auto_free char *bytes = mem_new(len + 1);

	if (base64_decode(encoded, len, bytes, len, &len) < 0)
		return json_string("(this output is not text)");
	return text_of_bytes(bytes, len);
}

/* Takes @text. */
static json_t *call_add_line(json_t *text, const char *line)
{
	size_t len = json_string_length(text), more = strlen(line);
	auto_free char *both = mem_new(len + more + 2);

	memcpy(both, json_string_value(text), len);
	both[len] = '\n';
	memcpy(both + len + 1, line, more + 1);
	json_decref(text);
	return json_stringn(both, len + 1 + more);
}

static void call_copy(json_t *to, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	if (value)
		(void)json_object_set(to, name, value); /* fails only without memory */
}

/* Denied destinations are part of the text that a model reads, also if the command succeeded. */
static json_t *call_add_denials(json_t *text, const json_t *end)
{
	const json_t *blocks = json_object_get(json_object_get(end, "network"), "blocks");

	for (size_t i = 0; i < json_array_size(blocks) && i < CALL_DENIALS_SHOWN; i++) {
		const json_t *block = json_array_get(blocks, i);
		const char *host = json_string_value(json_object_get(block, "host"));
		const char *protocol = json_string_value(json_object_get(block, "protocol"));
		const char *by = json_string_value(json_object_get(block, "by"));
		auto_free char *shown = text_visible_dup(host ? host : "");
		auto_free char *line = mem_printf(
			"denied on the network: %s://%s:%lld (%s)", protocol ? protocol : "", shown,
			(long long)json_integer_value(json_object_get(block, "port")),
			by ? by : "");

		text = call_add_line(text, line);
	}
	return text;
}

/* The same for files that run code later, which a person should read before using the folder. */
static json_t *call_add_made(json_t *text, const json_t *end)
{
	const json_t *made = json_object_get(end, "made");

	for (size_t i = 0; i < json_array_size(made) && i < CALL_DENIALS_SHOWN; i++) {
		const json_t *entry = json_array_get(made, i);
		const char *path = json_string_value(json_object_get(entry, "path"));
		const char *what = json_string_value(json_object_get(entry, "what"));
		auto_free char *shown = text_visible_dup(path ? path : "");
		auto_free char *words = text_visible_dup(what ? what : "");
		auto_free char *line = mem_printf("the command made a file that can run code "
						  "outside of the sandbox later: %s: %s",
						  shown, words);

		text = call_add_line(text, line);
	}
	return text;
}

static json_t *call_result(const json_t *end)
{
	const char *status = json_string_value(json_object_get(end, "status"));
	const char *why = json_string_value(json_object_get(end, "why"));
	const char *reason =
		json_string_value(json_object_get(json_object_get(end, "network"), "text"));
	json_int_t code = json_integer_value(json_object_get(end, "exit_code"));
	bool is_good = status && strcmp(status, "exited") == 0 && code == 0;
	auto_free char *how = status && strcmp(status, "exited") == 0
				      ? mem_printf("exit status %lld", (long long)code)
				      : mem_strdup(status ? status : "failed");
	json_t *said = call_text(end, "output");
	json_t *structured =
		json_pack("{s:s, s:o, s:o}", "status", status ? status : "failed", "stdout",
			  call_text(end, "stdout"), "stderr", call_text(end, "stderr"));

	if (why && !is_good)
		said = call_add_line(said, why);
	said = call_add_denials(said, end);
	/* The reason of a denial, also if the command succeeded. */
	if (reason && (is_good || !why || strcmp(why, reason) != 0))
		said = call_add_line(said, reason);
	said = call_add_made(said, end);
	call_copy(structured, end, "exit_code");
	call_copy(structured, end, "duration_ms");
	call_copy(structured, end, "why");
	call_copy(structured, end, "network");
	call_copy(structured, end, "evidence");
	call_copy(structured, end, "made");
	call_copy(structured, end, "made_unknown");
	return json_pack("{s:[{s:s, s:o}, {s:s, s:s}], s:o, s:b}", "content", "type", "text",
			 "text", said, "type", "text", "text", how, "structuredContent", structured,
			 "isError", is_good ? 0 : 1);
}

static struct mcp_call *call_find(struct mcp *mcp, const char *id)
{
	struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (strcmp(call->id, id) == 0)
			return call;
	}
	return NULL;
}

bool mcp_call_event(struct mcp *mcp, const char *type, const char *id, json_t *event)
{
	struct mcp_call *call = call_find(mcp, id);

	if (!call)
		return false;
	if (strcmp(type, "task_started") == 0) {
		call->exec = (uint64_t)json_integer_value(json_object_get(event, "exec"));
		if (!call->request)
			call_stop(mcp, call);
		mcp_progress_started(call);
	} else if (strcmp(type, "exec_end") == 0) {
		json_decref(call->end);
		call->end = json_incref(event);
	} else if (strcmp(type, "error") == 0) {
		const char *words = json_string_value(json_object_get(event, "message"));

		if (call->request)
			call_fail(mcp, call->request, words ? words : "refused");
		call_free(mcp, call);
	} else if (strcmp(type, "task_complete") == 0) {
		if (call->request && call->end)
			mcp_reply(mcp, call->request, call_result(call->end));
		else if (call->request)
			call_fail(mcp, call->request, "the command was not run");
		call_free(mcp, call);
	}
	return true;
}
