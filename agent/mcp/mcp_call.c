/* The calls of tools, from their arguments to their results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_impl.h"
#include "agent/rpc/piece.h"
#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/text.h"

#define CALL_DENIALS_SHOWN 8
#define CALL_LINE_MAX      512

static void call_free(struct mcp *mcp, struct mcp_call *call)
{
	mcp_progress_end(call);
	LIST_REMOVE(call, entry);
	mcp->call_count--;
	json_decref(call->request);
	json_decref(call->end);
	json_decref(call->held);
	free(call->line);
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
			    "text", words, "structuredContent", "status", "refused", "message",
			    words, "isError", 1));
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
	if (call->exec && call->tool <= MCP_BACKGROUND)
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

/* The bytes of an event, or of one of its streams: owned. It may contain NUL. */
static json_t *call_bytes(const json_t *output)
{
	json_t *text = json_object_get(output, "text");
	const char *encoded = json_string_value(json_object_get(output, "base64"));
	size_t len = encoded ? strlen(encoded) : 0;

	if (!encoded)
		return text ? json_incref(text) : json_string("");
	auto_free char *bytes = mem_new(len + 1);

	if (base64_decode(encoded, len, bytes, len, &len) < 0)
		return json_string("(this output is not text)");
	return piece_text(bytes, len);
}

static json_t *call_text(const json_t *end, const char *member)
{
	return call_bytes(json_object_get(end, member));
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

static json_t *call_result(const struct mcp *mcp, const json_t *end)
{
	const char *status = json_string_value(json_object_get(end, "status"));
	const char *why = json_string_value(json_object_get(end, "message"));
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
	if (reason)
		said = call_add_line(said, reason);
	said = call_add_made(said, end);
	if (mcp->roots.refused && !is_good)
		said = call_add_line(said, mcp->roots.refused);
	call_copy(structured, end, "exit_code");
	call_copy(structured, end, "duration_ms");
	call_copy(structured, end, "message");
	call_copy(structured, end, "network");
	call_copy(structured, end, "evidence");
	call_copy(structured, end, "made");
	call_copy(structured, end, "made_unknown");
	return json_pack("{s:[{s:s, s:o}, {s:s, s:s}], s:o, s:b}", "content", "type", "text",
			 "text", said, "type", "text", "text", how, "structuredContent", structured,
			 "isError", is_good ? 0 : 1);
}

static struct mcp_call *call_new(struct mcp *mcp, enum mcp_tool tool, const json_t *request,
				 const json_t *token)
{
	struct mcp_call *call = mem_new(sizeof(*call));

	call->mcp = mcp;
	call->tool = tool;
	mcp_make_id(mcp, 'c', call->id);
	mcp_progress_begin(call, token);
	call->request = json_incref((json_t *)(uintptr_t)request);
	LIST_INSERT_HEAD(&mcp->calls, call, entry);
	mcp->call_count++;
	return call;
}

/* The background command with this number; NULL: none, or its result was returned. */
static struct mcp_call *call_behind(const struct mcp *mcp, json_int_t exec)
{
	struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (call->is_behind && (json_int_t)call->exec == exec)
			return call;
	}
	return NULL;
}

static char *call_line(const json_t *given)
{
	const char *command = json_string_value(json_object_get(given, "command"));
	const json_t *argv = json_object_get(given, "argv");
	auto_free const char **words = mem_new_array(json_array_size(argv) + 1, sizeof(*words));

	for (size_t i = 0; i < json_array_size(argv); i++) {
		const char *word = json_string_value(json_array_get(argv, i));

		words[i] = word ? word : "";
	}
	return command ? text_visible_dup(command) : text_command_line(words, CALL_LINE_MAX);
}

/* Takes @structured. */
static void call_reply(struct mcp *mcp, const json_t *request, json_t *text, json_t *structured)
{
	mcp_reply(mcp, request,
		  json_pack("{s:[{s:s, s:o}], s:o, s:b}", "content", "type", "text", "text", text,
			    "structuredContent", structured, "isError", 0));
}

static void call_list(struct mcp *mcp, const json_t *request)
{
	json_t *text = json_string("Commands in the background:"), *commands = json_array();
	const struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (!call->is_behind)
			continue;
		const char *status = call->has_ended ? "ended" : "running";
		auto_free char *line = mem_printf("%llu %s: %s", (unsigned long long)call->exec,
						  status, call->line);

		text = call_add_line(text, line);
		(void)json_array_append_new(commands, /* fails only without memory */
					    json_pack("{s:I, s:s, s:s}", "exec",
						      (json_int_t)call->exec, "status", status,
						      "command", call->line));
	}
	call_reply(mcp, request, text,
		   json_pack("{s:s, s:o}", "status", "listed", "commands", commands));
}

/* A poll or a kill of a command that has ended needs no agent. True: it was replied to. */
static bool call_is_settled(struct mcp *mcp, enum mcp_tool tool, const json_t *request,
			    const json_t *given)
{
	struct mcp_call *behind =
		call_behind(mcp, json_integer_value(json_object_get(given, "exec")));

	if (!behind) {
		call_fail(mcp, request,
			  "no background command has this number, or its result was returned");
		return true;
	}
	if (!behind->has_ended)
		return false;
	if (tool == MCP_KILL) {
		call_fail(mcp, request, "the command has ended; poll returns its result");
		return true;
	}
	mcp_reply(mcp, request, call_result(mcp, behind->end));
	call_free(mcp, behind);
	return true;
}

/* Takes @submission. */
static void call_tell(struct mcp *mcp, struct mcp_call *call, json_t *submission)
{
	const char *method = call->tool == MCP_POLL   ? "poll"
			     : call->tool == MCP_KILL ? "cancel"
						      : "exec";

	if (mcp_tell_agent(mcp, method, call->id, submission))
		return;
	call_fail(mcp, call->request, "the command is too long");
	call_free(mcp, call);
}

static void call_send(struct mcp *mcp, enum mcp_tool tool, const json_t *request,
		      const json_t *given, const json_t *token)
{
	struct err why;
	json_t *submission = mcp_tools_submission(tool, given, &why);

	if (!submission)
		return call_fail(mcp, request, why.text);
	if (tool == MCP_LIST) {
		json_decref(submission);
		return call_list(mcp, request);
	}
	bool acts = tool == MCP_POLL || tool == MCP_KILL;

	if (acts && call_is_settled(mcp, tool, request, given)) {
		json_decref(submission);
		return;
	}
	struct mcp_call *call = call_new(mcp, tool, request, token);

	if (acts)
		call->exec = (uint64_t)json_integer_value(json_object_get(given, "exec"));
	else
		call->line = call_line(given);
	if (mcp->roots.is_awaited)
		call->held = submission;
	else
		call_tell(mcp, call, submission);
}

void mcp_call_release(struct mcp *mcp)
{
	struct mcp_call *call, *next, *oldest = NULL;

	/* Newer ones are at the head. */
	do {
		oldest = NULL;
		for (call = LIST_FIRST(&mcp->calls); call; call = next) {
			next = LIST_NEXT(call, entry);
			if (call->held)
				oldest = call;
		}
		if (oldest && oldest->request)
			call_tell(mcp, oldest, take(oldest->held));
		else if (oldest) /* it was cancelled */
			call_free(mcp, oldest);
	} while (oldest);
}

void mcp_call_begin(struct mcp *mcp, const json_t *request, const json_t *params)
{
	const json_t *given = json_object_get(params, "arguments");
	const json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	enum mcp_tool tool;

	if (!mcp_tools_find(json_string_value(json_object_get(params, "name")), &tool))
		return mcp_refuse(mcp, request, RPC_BAD_PARAMS, "the tool is unknown");
	if (!json_is_object(given) && (given || tool != MCP_LIST))
		return mcp_refuse(mcp, request, RPC_BAD_PARAMS, "`arguments` must be an object");
	if (token && !mcp_progress_is_token(token))
		return mcp_refuse(mcp, request, RPC_BAD_PARAMS,
				  "a progress token must be a short text or a whole number");
	if (call_of(mcp, request))
		return mcp_refuse(mcp, request, RPC_INVALID_REQUEST,
				  "a request with this id is open; use another id");
	if (mcp->refused)
		return call_fail(mcp, request, mcp->refused);
	if (mcp->call_count >= MCP_CALLS_MAX)
		return call_fail(mcp, request,
				 "too many commands are running; wait for one to end");
	call_send(mcp, tool, request, given, token);
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

/* The results of commands that nobody polls are limited: the oldest is forgotten. */
static void call_limit_ended(struct mcp *mcp)
{
	struct mcp_call *call, *oldest = NULL;
	size_t count = 0;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (call->has_ended) {
			oldest = call; /* newer ones are at the head */
			count++;
		}
	}
	if (count > MCP_ENDED_MAX)
		call_free(mcp, oldest);
}

/* The command goes on after the reply. */
static void call_goes_behind(struct mcp *mcp, struct mcp_call *call)
{
	auto_free char *text = mem_printf("runs in the background as %llu; poll it for its output",
					  (unsigned long long)call->exec);

	if (!call->request)
		return; /* it was cancelled */
	mcp_progress_end(call);
	call_reply(mcp, call->request, json_string(text),
		   json_pack("{s:s, s:I}", "status", "running", "exec", (json_int_t)call->exec));
	json_decref(call->request);
	call->request = NULL;
	call->is_behind = true;
}

static void call_answer(struct mcp *mcp, struct mcp_call *call, json_t *text, const char *status)
{
	if (call->request)
		call_reply(mcp, call->request, json_incref(text),
			   json_pack("{s:s, s:I, s:O}", "status", status, "exec",
				     (json_int_t)call->exec, "stdout", text));
	json_decref(text);
	call_free(mcp, call);
}

/* The command has ended: its polls get the result, once. */
static void call_settle(struct mcp *mcp, struct mcp_call *call)
{
	struct mcp_call *poll, *next;
	bool is_told = false;

	call->has_ended = true;
	for (poll = LIST_FIRST(&mcp->calls); poll; poll = next) {
		next = LIST_NEXT(poll, entry);
		if (poll->tool != MCP_POLL || poll->exec != call->exec)
			continue;
		if (poll->request && !is_told)
			mcp_reply(mcp, poll->request, call_result(mcp, call->end));
		is_told |= poll->request != NULL;
		call_free(mcp, poll);
	}
	if (is_told)
		call_free(mcp, call);
	else
		call_limit_ended(mcp);
}

static void call_completed(struct mcp *mcp, struct mcp_call *call)
{
	if (call->is_behind)
		return call_settle(mcp, call);
	if (call->request)
		mcp_reply(mcp, call->request, call_result(mcp, call->end));
	call_free(mcp, call);
}

void mcp_call_event(struct mcp *mcp, const char *event, const char *id, const json_t *params)
{
	struct mcp_call *call = call_find(mcp, id);

	if (!call)
		return;
	if (strcmp(event, "task_started") == 0) {
		call->exec = (uint64_t)json_integer_value(json_object_get(params, "exec"));
		if (!call->request)
			call_stop(mcp, call);
		mcp_progress_started(call);
	} else if (strcmp(event, "background") == 0) {
		call_goes_behind(mcp, call);
	}
}

static void call_polled(struct mcp *mcp, struct mcp_call *call, const json_t *result)
{
	/* If it has ended, its result follows, and is the answer. */
	if (json_is_true(json_object_get(result, "running")))
		call_answer(mcp, call, call_bytes(result), "running");
}

void mcp_call_replied(struct mcp *mcp, const char *id, const json_t *result, const json_t *error)
{
	struct mcp_call *call = call_find(mcp, id);
	const char *words = json_string_value(json_object_get(error, "message"));

	if (!call)
		return; /* for example, of a cancel */
	if (!result) {
		if (call->request)
			call_fail(mcp, call->request, words ? words : "refused");
		return call_free(mcp, call);
	}
	switch (call->tool) {
	case MCP_POLL:
		return call_polled(mcp, call, result);
	case MCP_KILL:
		return call_answer(mcp, call, json_string("the command is being ended"), "ending");
	case MCP_RUN:
	case MCP_BACKGROUND:
	case MCP_LIST:
	case MCP_TOOLS:
	default:
		call->end = json_incref((json_t *)(uintptr_t)result);
		call_completed(mcp, call);
	}
}
