/* The terminals of the program: each is a command in the sandbox of its session. The editor, which
 * would run it outside, does not know of them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp_impl.h"
#include "agent/rpc/piece.h"
#include "base/mem.h"
#include "base/text.h"

/* Where the kept part of the output begins: at a character. */
static size_t begin_of(const struct acp_terminal *terminal)
{
	size_t at = terminal->len > terminal->limit ? terminal->len - terminal->limit : 0;

	while (at > 0 && at < terminal->len && ((unsigned char)terminal->output[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void terminal_free(struct acp_terminal *terminal)
{
	LIST_REMOVE(terminal, entry);
	json_decref(terminal->create);
	json_decref(terminal->waiters);
	json_decref(terminal->end);
	json_decref(terminal->shown);
	free(terminal->line);
	free(terminal->output);
	free(terminal);
}

void acp_terminal_free_all(struct acp *acp)
{
	while (!LIST_EMPTY(&acp->terminals))
		terminal_free(LIST_FIRST(&acp->terminals));
}

/* It was released and has ended, so its place is free. The end of its output stays for a tool call
 * that shows it, as long as there are not too many of its kind. */
static void retire(struct acp *acp, struct acp_terminal *terminal)
{
	struct acp_terminal *other, *oldest = NULL;
	size_t count = 0;

	acp->terminal_count--;
	terminal->limit = terminal->limit < ACP_SHOWN_BYTES ? terminal->limit : ACP_SHOWN_BYTES;
	if (terminal->len > terminal->limit) {
		size_t at = begin_of(terminal);

		memmove(terminal->output, terminal->output + at, terminal->len - at);
		terminal->len -= at;
		terminal->room = terminal->len;
		terminal->output = mem_grow(terminal->output, terminal->room + 1, 1);
	}
	LIST_FOREACH (other, &acp->terminals, entry) {
		if (!other->is_released || !other->end)
			continue;
		count++;
		oldest = other;
	}
	if (count > ACP_TERMINALS_MAX)
		terminal_free(oldest);
}

struct acp_terminal *acp_terminal_find(struct acp *acp, const char *id)
{
	struct acp_terminal *terminal;

	LIST_FOREACH (terminal, &acp->terminals, entry) {
		if (id && strcmp(terminal->id, id) == 0)
			return terminal;
	}
	return NULL;
}

static void refuse(struct acp *acp, const json_t *request, enum rpc_code code, const char *words)
{
	rpc_refuse(acp->inner, request, code, NULL, words);
}

/* The list of objects with a name and a value as one object. False: it is malformed. */
static bool take_env(json_t *params, const json_t *list)
{
	json_t *env = json_object();
	const json_t *item;
	size_t i;

	(void)json_object_set_new(params, "env", env); /* fails only without memory */
	if (list && !json_is_null(list) && !json_is_array(list))
		return false;
	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name"));
		json_t *value = json_object_get(item, "value");

		if (!name || !json_is_string(value))
			return false;
		(void)json_object_set(env, name, value); /* the same */
	}
	return true;
}

/* A command without arguments may be a line for a shell: editors run it by one. */
static bool is_line(const char *command)
{
	return strpbrk(command, " \t\n;&|<>()$`\\\"'*?[#~=%!{}") != NULL;
}

static bool take_words(json_t *params, const json_t *command, const json_t *args)
{
	json_t *words = json_array();
	const json_t *word;
	size_t i;

	(void)json_array_append(words,
				(json_t *)(uintptr_t)command); /* fails only without memory */
	json_array_foreach(args, i, word)
	{
		if (!json_is_string(word)) {
			json_decref(words);
			return false;
		}
		(void)json_array_append(words, (json_t *)(uintptr_t)word); /* the same */
	}
	if (json_array_size(words) == 1 && is_line(json_string_value(command))) {
		(void)json_object_set(params, "script", (json_t *)(uintptr_t)command);
		json_decref(words);
		return true;
	}
	(void)json_object_set_new(params, "command", words);
	return true;
}

/* The submission for a request terminal/create: owned; NULL: it is malformed. */
static json_t *submission_of(const json_t *given)
{
	const json_t *command = json_object_get(given, "command");
	const json_t *args = json_object_get(given, "args");
	json_t *cwd = json_object_get(given, "cwd");
	const json_t *limit = json_object_get(given, "outputByteLimit");
	json_t *params = json_pack("{s:i, s:b}", "timeout_ms", 0, "whole", 1);
	bool is_good = json_is_string(command) &&
		       (!args || json_is_null(args) || json_is_array(args)) &&
		       (!cwd || json_is_null(cwd) || json_is_string(cwd)) &&
		       (!limit || json_is_null(limit) || json_integer_value(limit) >= 0) &&
		       take_words(params, command, args) &&
		       take_env(params, json_object_get(given, "env"));

	if (is_good && json_is_string(cwd))
		(void)json_object_set(params, "cwd", cwd); /* fails only without memory */
	if (is_good)
		return params;
	json_decref(params);
	return NULL;
}

/* How its command is shown, as printable ASCII. */
static char *line_of(const json_t *params)
{
	const char *script = json_string_value(json_object_get(params, "script"));
	const json_t *list = json_object_get(params, "command"), *word;
	size_t i;

	if (script) {
		auto_free char *begin = mem_strndup(script, ACP_SHOWN_BYTES);

		return text_visible_dup(begin);
	}
	auto_free const char **words = mem_new_array(json_array_size(list) + 1, sizeof(*words));

	json_array_foreach(list, i, word)
	{
		words[i] = json_string_value(word);
	}
	return text_command_line(words, ACP_SHOWN_BYTES);
}

static void create(struct acp *acp, const json_t *request, const json_t *given)
{
	const char prefix[] = { ACP_TERMINAL, '\0' };
	const json_t *limit = json_object_get(given, "outputByteLimit");
	json_t *params = submission_of(given);

	if (!params)
		return refuse(acp, request, RPC_BAD_PARAMS,
			      "terminal/create has \"command\", a text; \"args\", a list of texts; "
			      "\"env\", a list of names and values; \"cwd\", a path; and "
			      "\"outputByteLimit\", a number");
	if (acp->terminal_count >= ACP_TERMINALS_MAX) {
		json_decref(params);
		return refuse(acp, request, RPC_REFUSED,
			      "too many terminals are open; release some with terminal/release");
	}
	struct acp_terminal *terminal = mem_new(sizeof(*terminal));

	acp_make_id(acp, prefix, terminal->id);
	terminal->create = json_deep_copy(request);
	terminal->waiters = json_array();
	terminal->line = line_of(params);
	terminal->limit = ACP_OUTPUT_MAX;
	if (json_is_integer(limit) && json_integer_value(limit) < ACP_OUTPUT_MAX)
		terminal->limit = (size_t)json_integer_value(limit);
	LIST_INSERT_HEAD(&acp->terminals, terminal, entry);
	acp->terminal_count++;
	if (acp_tell(acp, "exec", terminal->id, params))
		return;
	refuse(acp, request, RPC_REFUSED, "the command is too long");
	acp->terminal_count--;
	terminal_free(terminal);
}

static void kill_exec(struct acp *acp, struct acp_terminal *terminal)
{
	const char prefix[] = { ACP_KILL, '\0' };
	char id[ACP_ID_MAX];

	terminal->must_end = true;
	if (terminal->exec == 0 || terminal->end)
		return; /* it is ended once it has a number */
	acp_make_id(acp, prefix, id);
	(void)acp_tell(acp, "cancel", id, /* it is short */
		       json_pack("{s:I}", "exec", (json_int_t)terminal->exec));
}

/* Keeps the end of the output, and moves it only now and then. */
static void keep(struct acp_terminal *terminal, const char *bytes, size_t len)
{
	terminal->output =
		mem_reserve(terminal->output, &terminal->room, terminal->len + len + 1, 1);
	memcpy(terminal->output + terminal->len, bytes, len);
	terminal->len += len;
	if (terminal->len > terminal->limit)
		terminal->is_cut = true;
	if (terminal->len <= 2 * terminal->limit + ACP_SHOWN_BYTES)
		return;
	size_t at = begin_of(terminal);

	memmove(terminal->output, terminal->output + at, terminal->len - at);
	terminal->len -= at;
}

static json_t *output_json(const struct acp_terminal *terminal)
{
	size_t at = begin_of(terminal);

	return terminal->len > at ? piece_text(terminal->output + at, terminal->len - at)
				  : json_string("");
}

static void output(struct acp *acp, const json_t *request, const struct acp_terminal *terminal)
{
	json_t *result = json_pack("{s:o, s:b}", "output", output_json(terminal), "truncated",
				   (int)terminal->is_cut);

	if (terminal->end)
		(void)json_object_set(result, "exitStatus", terminal->end);
	rpc_reply(acp->inner, request, result);
}

static void wait_for_exit(struct acp *acp, const json_t *request, struct acp_terminal *terminal)
{
	if (terminal->end)
		return rpc_reply(acp->inner, request, json_incref(terminal->end));
	if (json_array_size(terminal->waiters) >= ACP_WAITERS_MAX)
		return refuse(acp, request, RPC_REFUSED, "too many requests wait for its end");
	(void)json_array_append_new(terminal->waiters, json_deep_copy(request));
}

/* Its name is free from now on, and its command ends. */
static void release(struct acp *acp, const json_t *request, struct acp_terminal *terminal)
{
	json_t *waiter;
	size_t i;

	json_array_foreach(terminal->waiters, i, waiter)
	{
		refuse(acp, waiter, RPC_REFUSED, "the terminal was released");
	}
	(void)json_array_clear(terminal->waiters);
	rpc_reply(acp->inner, request, json_object());
	terminal->is_released = true;
	if (terminal->end)
		retire(acp, terminal);
	else
		kill_exec(acp, terminal);
}

void acp_terminal_request(struct acp *acp, const char *what, const json_t *request,
			  const json_t *params)
{
	struct acp_terminal *terminal =
		acp_terminal_find(acp, json_string_value(json_object_get(params, "terminalId")));

	if (strcmp(what, "create") == 0)
		return create(acp, request, params);
	if (!terminal || terminal->is_released || terminal->create)
		return refuse(acp, request, RPC_BAD_PARAMS, "there is no such terminal");
	if (strcmp(what, "output") == 0)
		return output(acp, request, terminal);
	if (strcmp(what, "wait_for_exit") == 0)
		return wait_for_exit(acp, request, terminal);
	if (strcmp(what, "release") == 0)
		return release(acp, request, terminal);
	if (strcmp(what, "kill") != 0)
		return refuse(acp, request, RPC_NO_METHOD, "the method is unknown");
	kill_exec(acp, terminal);
	rpc_reply(acp->inner, request, json_object());
}

static void begin(struct acp *acp, struct acp_terminal *terminal)
{
	if (!terminal->create)
		return;
	rpc_reply(acp->inner, terminal->create, json_pack("{s:s}", "terminalId", terminal->id));
	json_decref(take(terminal->create));
}

void acp_terminal_event(struct acp *acp, const char *id, const char *event, const json_t *params)
{
	struct acp_terminal *terminal = acp_terminal_find(acp, id);

	if (!terminal)
		return;
	if (strcmp(event, "task_started") == 0) {
		terminal->exec = (uint64_t)json_integer_value(json_object_get(params, "exec"));
		if (terminal->must_end)
			kill_exec(acp, terminal);
	} else if (strcmp(event, "exec_begin") == 0) {
		begin(acp, terminal);
	} else if (strcmp(event, "exec_output") == 0) {
		size_t len;
		auto_free char *bytes = acp_program_bytes(params, &len);

		keep(terminal, bytes, len);
	}
}

/* As the protocol has it: a code, or the name of a signal. */
static json_t *end_json(const json_t *result)
{
	const char *status = json_string_value(json_object_get(result, "status"));
	json_int_t code = json_integer_value(json_object_get(result, "exit_code"));
	const char *name = code > 128 && code < 128 + NSIG ? sigabbrev_np((int)code - 128) : NULL;

	if (!name || (status && strcmp(status, "exited") == 0))
		return json_pack("{s:I, s:n}", "exitCode", code, "signal");
	auto_free char *signal = mem_printf("SIG%s", name);

	return json_pack("{s:n, s:s}", "exitCode", "signal", signal);
}

/* What the server says of its end, behind its output, where a model reads it. */
static void keep_words(struct acp_terminal *terminal, const json_t *result)
{
	const char *words = json_string_value(json_object_get(result, "message"));
	auto_free char *shown = words ? text_visible_dup(words) : NULL;
	auto_free char *line = shown ? mem_printf("sallyport: %s\n", shown) : NULL;

	if (line)
		keep(terminal, line, strlen(line));
}

/* Why a command was not run, for the model. */
static char *reason_of(const json_t *result, const json_t *error)
{
	const char *words = json_string_value(json_object_get(error ? error : result, "message"));
	const char *status = json_string_value(json_object_get(result, "status"));
	const char *by = json_string_value(json_object_get(result, "by"));

	return mem_printf("the command was not run: %s%s%s%s",
			  words    ? words
			  : status ? status
				   : "",
			  by ? " (by: " : "", by ? by : "", by ? ")" : "");
}

void acp_terminal_replied(struct acp *acp, const char *id, const json_t *result,
			  const json_t *error)
{
	struct acp_terminal *terminal = acp_terminal_find(acp, id);
	json_t *waiter;
	size_t i;

	if (!terminal || terminal->end)
		return;
	if (terminal->create) {
		auto_free char *words = reason_of(result, error);

		refuse(acp, terminal->create, RPC_REFUSED, words);
		acp->terminal_count--;
		return terminal_free(terminal);
	}
	keep_words(terminal, result);
	terminal->end = end_json(result);
	json_array_foreach(terminal->waiters, i, waiter)
	{
		rpc_reply(acp->inner, waiter, json_incref(terminal->end));
	}
	(void)json_array_clear(terminal->waiters);
	acp_shown_end(acp, terminal);
	if (terminal->is_released)
		retire(acp, terminal);
}
