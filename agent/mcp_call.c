/* The tool: one command, from its arguments to its result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp_impl.h"
#include "base/mem.h"

#define TOOL "run"

/* What a call may say; the rest of a submission is not the model's to say. */
static const struct {
	const char *name, *member, *type, *words;
} arguments[] = {
	{ "command", "script", "string", "A command line, run by sh -c" },
	{ "argv", "argv", "array", "The command as a list of words, run without a shell" },
	{ "cwd", "cwd", "string", "The directory to run in" },
	{ "timeout_ms", "timeout_ms", "integer",
	  "Running time in ms, without what questions take; ten minutes unless said otherwise" },
	{ "justification", "justification", "string", "Why, in a sentence, for whoever is asked" },
	{ "sandbox_permissions", "sandbox_permissions", "string",
	  "use_default, with_additional_permissions, or require_escalated: without the sandbox" },
	{ "additional_permissions", "additional_permissions", "object",
	  "Lists read, write, socket of absolute paths and network of destinations, such as "
	  "https://example.org" },
};

static json_t *call_schema(void)
{
	json_t *properties = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		json_t *property = json_pack("{s:s, s:s}", "type", arguments[i].type, "description",
					     arguments[i].words);

		if (strcmp(arguments[i].type, "array") == 0)
			(void)json_object_set_new(property, "items",
						  json_pack("{s:s}", "type", "string"));
		(void)json_object_set_new(properties, arguments[i].name,
					  property); /* memory only */
	}
	return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
			 "additionalProperties", 0);
}

static json_t *call_result_schema(void)
{
	return json_pack("{s:s, s:{s:{s:s}, s:{s:[s,s]}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, "
			 "s:{s:s}, s:{s:s}}, "
			 "s:[s]}",
			 "type", "object", "properties", "status", "type", "string", "exit_code",
			 "type", "integer", "null", "stdout", "type", "string", "stderr", "type",
			 "string", "duration_ms", "type", "integer", "why", "type", "string",
			 "network", "type", "object", "evidence", "type", "array", "required",
			 "status");
}

json_t *mcp_call_tools(void)
{
	return json_pack("[{s:s, s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b}}]", "name", TOOL, "title",
			 "Run a command", "description",
			 "Runs a command in a sandbox and returns its output and how it ended. The "
			 "network is reached through a gate only; what no rule answers is put to a "
			 "person.",
			 "inputSchema", call_schema(), "outputSchema", call_result_schema(),
			 "annotations", "readOnlyHint", 0, "destructiveHint", 1, "openWorldHint",
			 1);
}

static void call_free(struct mcp *mcp, struct mcp_call *call)
{
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

/* What went wrong is for the model to read, so it is a result. */
static void call_fail(struct mcp *mcp, const json_t *request, const char *words)
{
	mcp_reply(mcp, request,
		  json_pack("{s:[{s:s, s:s}], s:{s:s, s:s}, s:b}", "content", "type", "text",
			    "text", words, "structuredContent", "status", "refused", "why", words,
			    "isError", 1));
}

/* NULL: @given is no call; *@ret_why says what is wrong. */
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
		(void)json_object_set(submission, arguments[i].member, value); /* memory only */
	}
	*ret_why = has_script == has_argv ? "either `command` or `argv`"
		   : known != json_object_size(given)
			   ? "there is an argument that this tool does not have"
			   : NULL;
	if (!*ret_why)
		return submission;
	json_decref(submission);
	return NULL;
}

void mcp_call_begin(struct mcp *mcp, const json_t *request, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	const json_t *given = json_object_get(params, "arguments");
	const char *why = NULL;

	if (!name || strcmp(name, TOOL) != 0)
		return mcp_refuse(mcp, request, MCP_BAD_PARAMS, "there is no such tool");
	if (!json_is_object(given))
		return mcp_refuse(mcp, request, MCP_BAD_PARAMS, "arguments is an object");
	if (mcp->refused)
		return call_fail(mcp, request, mcp->refused);
	if (mcp->call_count >= MCP_CALLS_MAX)
		return call_fail(mcp, request, "too many commands at once; wait for one to end");
	json_t *submission = call_submission(given, &why);

	if (!submission)
		return call_fail(mcp, request, why);
	struct mcp_call *call = mem_new(sizeof(*call));

	mcp_make_id(mcp, 'c', call->id);
	call->request = json_incref((json_t *)(uintptr_t)request);
	LIST_INSERT_HEAD(&mcp->calls, call, entry);
	mcp->call_count++;
	mcp_tell_agent(mcp, "exec", call->id, submission);
}

/* Before it has begun: as soon as it has. */
static void call_stop(struct mcp *mcp, const struct mcp_call *call)
{
	char id[MCP_ID_MAX];

	mcp_make_id(mcp, 'x', id);
	mcp_tell_agent(
		mcp, "cancel", id,
		json_pack("{s:s, s:I}", "session", MCP_SESSION, "exec", (json_int_t)call->exec));
}

void mcp_call_cancel(struct mcp *mcp, const json_t *request)
{
	struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (!call->request || !json_equal(call->request, request))
			continue;
		json_decref(call->request);
		call->request = NULL;
		if (call->exec)
			call_stop(mcp, call);
		return;
	}
}

/* What is no text is not put before a model. */
static const char *call_text(const json_t *end, const char *member)
{
	const json_t *output = json_object_get(end, member);
	const char *text = json_string_value(json_object_get(output, "text"));

	return text ? text : json_object_get(output, "base64") ? "(this output is no text)" : "";
}

static void call_copy(json_t *to, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	if (value)
		(void)json_object_set(to, name, value); /* memory only */
}

static json_t *call_result(const json_t *end)
{
	const char *status = json_string_value(json_object_get(end, "status"));
	const char *why = json_string_value(json_object_get(end, "why"));
	json_int_t code = json_integer_value(json_object_get(end, "exit_code"));
	bool is_good = status && strcmp(status, "exited") == 0 && code == 0;
	auto_free char *said =
		mem_printf("%s%s%s%s", call_text(end, "output"), why && !is_good ? "\n" : "",
			   why && !is_good ? why : "", "");
	auto_free char *how = status && strcmp(status, "exited") == 0
				      ? mem_printf("exit status %lld", (long long)code)
				      : mem_strdup(status ? status : "failed");
	json_t *structured =
		json_pack("{s:s, s:s, s:s}", "status", status ? status : "failed", "stdout",
			  call_text(end, "stdout"), "stderr", call_text(end, "stderr"));

	call_copy(structured, end, "exit_code");
	call_copy(structured, end, "duration_ms");
	call_copy(structured, end, "why");
	call_copy(structured, end, "network");
	call_copy(structured, end, "evidence");
	return json_pack("{s:[{s:s, s:s}, {s:s, s:s}], s:o, s:b}", "content", "type", "text",
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
			call_fail(mcp, call->request, "it was not run");
		call_free(mcp, call);
	}
	return true;
}
