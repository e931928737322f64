#include "agent/rpc/rpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/rpc/channel.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define MALFORMED_MAX 32 /* messages, after which the peer is disconnected */

struct rpc {
	struct rpc_config config;
	struct channel *channel;
	unsigned int malformed;
	bool has_given_up;
};

/* Replaces DEL by \u007f: it is the one control character that the library does not escape. Owned.
 */
static char *escape_delete(const char *line)
{
	size_t count = 0;

	for (const char *at = line; (at = strchr(at, 0x7f)) != NULL; at++)
		count++;
	char *escaped = mem_new(strlen(line) + 5 * count + 1), *to = escaped;

	for (; *line; line++) {
		if (*line == 0x7f)
			to = stpcpy(to, "\\u007f");
		else
			*to++ = *line;
	}
	return escaped;
}

/* Takes @message. Messages are ASCII text, so that no character in them can move the cursor of a
 * terminal. */
static bool rpc_send(struct rpc *rpc, json_t *message, size_t max)
{
	auto_free char *plain =
		message ? json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(message);
	if (!plain) {
		channel_lose(rpc->channel, "a message could not be written");
		return true;
	}
	auto_free char *line = strchr(plain, 0x7f) ? escape_delete(plain) : take(plain);
	size_t len = strlen(line);

	if (len > max)
		return false;
	channel_send(rpc->channel, line, len);
	return true;
}

bool rpc_request(struct rpc *rpc, const char *id, const char *method, json_t *params)
{
	json_t *message = json_pack("{s:s, s:s, s:s, s:o}", "jsonrpc", "2.0", "id", id, "method",
				    method, "params", params);

	return rpc_send(rpc, message,
			rpc->config.request_max > 0 ? rpc->config.request_max : SIZE_MAX);
}

void rpc_notify(struct rpc *rpc, const char *method, json_t *params)
{
	(void)rpc_send(
		rpc,
		json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params),
		SIZE_MAX);
}

void rpc_reply(struct rpc *rpc, const json_t *id, json_t *result)
{
	(void)rpc_send(rpc,
		       json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result),
		       SIZE_MAX);
}

void rpc_pass(struct rpc *rpc, const json_t *whole)
{
	/* The library counts the references of what it does not change. */
	(void)rpc_send(rpc, json_incref((json_t *)(uintptr_t)whole), SIZE_MAX);
}

void rpc_refuse(struct rpc *rpc, const json_t *id, enum rpc_code code, const char *reason,
		const char *words)
{
	json_t *error = json_pack("{s:i, s:s}", "code", (int)code, "message", words);

	if (reason)
		(void)json_object_set_new(error, "data", /* fails only without memory */
					  json_pack("{s:s}", "reason", reason));
	/* The library counts the references of what it does not change. */
	(void)rpc_send(rpc,
		       json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id",
				 id ? json_incref((json_t *)(uintptr_t)id) : json_null(), "error",
				 error),
		       SIZE_MAX);
}

void rpc_refuse_malformed(struct rpc *rpc, const json_t *id, enum rpc_code code, const char *words)
{
	if (!rpc->config.is_trusted)
		rpc_refuse(rpc, id, code, "malformed", words);
	if (rpc->config.events->on_malformed)
		rpc->config.events->on_malformed(words, rpc->config.arg);
	if (++rpc->malformed <= (rpc->config.is_trusted ? 0 : MALFORMED_MAX))
		return;
	rpc->has_given_up = true;
	channel_close(rpc->channel, "the client sent too many malformed lines");
}

bool rpc_has_given_up(const struct rpc *rpc)
{
	return rpc->has_given_up;
}

static bool is_id(const json_t *id)
{
	return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= RPC_ID_MAX);
}

char *rpc_id_text(const json_t *id)
{
	return is_id(id) ? json_dumps(id, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
}

json_t *rpc_id_json(const char *text)
{
	return json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/* The parser calls itself for each level, and each value takes many times its bytes: both are
 * counted before. NULL: neither is too much. */
static const char *what_is_too_much(const char *line, size_t len)
{
	bool is_in_text = false;
	size_t depth = 0, values = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_open = line[i] == '{' || line[i] == '[';

		if (is_in_text && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			is_in_text = !is_in_text;
		else if (is_in_text)
			continue;
		else if (is_open && ++depth > RPC_DEPTH_MAX)
			return "the message is nested too deeply";
		else if ((is_open || line[i] == ',') && ++values > RPC_VALUES_MAX)
			return "the message has too many values";
		else if ((line[i] == '}' || line[i] == ']') && depth > 0)
			depth--;
	}
	return NULL;
}

void rpc_message_read(json_t *whole, struct rpc_message *ret)
{
	*ret = (struct rpc_message){
		.method = json_string_value(json_object_get(whole, "method")),
		.id = json_object_get(whole, "id"),
		.params = json_object_get(whole, "params"),
		.result = json_object_get(whole, "result"),
		.error = json_object_get(whole, "error"),
		.whole = whole,
	};
}

static void hear_response(struct rpc *rpc, struct rpc_message *message)
{
	bool is_of_none = json_is_null(message->id) && message->error;

	if (!is_of_none && !is_id(message->id))
		return rpc_refuse_malformed(rpc, NULL, RPC_INVALID_REQUEST,
					    "an \"id\" must be a short text or a whole number");
	if (is_of_none)
		message->id = NULL;
	/* One with both a result and an error is invalid, and counts as an error. */
	if (message->error)
		message->result = NULL;
	rpc->config.events->on_message(message, rpc->config.arg);
}

static void hear_request(struct rpc *rpc, struct rpc_message *message)
{
	const json_t *name = json_object_get(message->whole, "method");

	if (message->id && !is_id(message->id))
		return rpc_refuse_malformed(rpc, NULL, RPC_INVALID_REQUEST,
					    "an \"id\" must be a short text or a whole number");
	if (!message->method || json_string_length(name) > RPC_METHOD_MAX || message->result ||
	    message->error)
		return rpc_refuse_malformed(rpc, message->id, RPC_INVALID_REQUEST,
					    "a request has a \"method\", which is a short text, "
					    "and neither \"result\" nor \"error\"");
	if (!message->params) {
		json_t *none = json_object();

		(void)json_object_set_new(message->whole, "params",
					  none); /* fails only without memory */
		message->params = none;
	}
	if (!json_is_object(message->params))
		return rpc_refuse_malformed(rpc, message->id, RPC_BAD_PARAMS,
					    "\"params\" must be an object");
	rpc->config.events->on_message(message, rpc->config.arg);
}

static void hear_object(struct rpc *rpc, json_t *whole)
{
	const char *version = json_string_value(json_object_get(whole, "jsonrpc"));
	struct rpc_message message;

	rpc_message_read(whole, &message);
	if (!version || strcmp(version, "2.0") != 0)
		rpc_refuse_malformed(
			rpc, is_id(message.id) ? message.id : NULL, RPC_INVALID_REQUEST,
			json_object_get(whole, "version")
				? "version 1 of the protocol is not served any more; send messages "
				  "of JSON-RPC 2.0, as in sallyport-agent(7)"
				: "\"jsonrpc\" must be \"2.0\"");
	else if (!json_object_get(whole, "method") && (message.result || message.error))
		hear_response(rpc, &message);
	else
		hear_request(rpc, &message);
}

void rpc_hear(struct rpc *rpc, const char *line, size_t len)
{
	size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY |
		       (rpc->config.is_trusted ? JSON_ALLOW_NUL : 0);
	json_error_t error;

	if (!line)
		return rpc_refuse_malformed(rpc, NULL, RPC_PARSE_ERROR, "the line is too long");
	const char *much = what_is_too_much(line, len);

	if (much)
		return rpc_refuse_malformed(rpc, NULL, RPC_PARSE_ERROR, much);
	json_t *whole = json_loadb(line, len, flags, &error);

	if (json_is_object(whole)) {
		hear_object(rpc, whole);
	} else if (whole) {
		rpc_refuse_malformed(
			rpc, NULL, RPC_INVALID_REQUEST,
			json_is_array(whole)
				? "batches are not supported; send one message on each line"
				: "a message must be an object");
	} else {
		auto_free char *text = mem_printf("the line is not JSON, at byte %d: %s",
						  error.position, error.text);
		auto_free char *shown = text_visible_dup(text);

		rpc_refuse_malformed(rpc, NULL, RPC_PARSE_ERROR, shown);
	}
	json_decref(whole);
}

static void on_line(const char *line, size_t len, void *arg)
{
	rpc_hear(arg, line, len);
}

static void on_room(void *arg)
{
	struct rpc *rpc = arg;

	rpc->config.events->on_room(rpc->config.arg);
}

static void on_end(const char *why, void *arg)
{
	struct rpc *rpc = arg;

	rpc->config.events->on_end(why, rpc->config.arg);
}

static void on_empty(void *arg)
{
	struct rpc *rpc = arg;

	rpc->config.events->on_empty(rpc->config.arg);
}

static const struct channel_events channel_events = {
	.on_line = on_line,
	.on_room = on_room,
	.on_end = on_end,
	.on_empty = on_empty,
};

struct rpc *rpc_new(const struct rpc_config *config, struct err *why)
{
	struct rpc *rpc = mem_new(sizeof(*rpc));

	rpc->config = *config;
	rpc->channel =
		channel_new(config->loop, config->in, config->out, &channel_events, rpc, why);
	if (!rpc->channel) {
		free(rpc);
		return NULL;
	}
	if (config->line_max > 0)
		channel_set_line_max(rpc->channel, config->line_max);
	return rpc;
}

struct channel *rpc_channel(const struct rpc *rpc)
{
	return rpc->channel;
}

void rpc_free(struct rpc *rpc)
{
	if (!rpc)
		return;
	channel_free(rpc->channel);
	free(rpc);
}
