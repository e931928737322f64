#include "agent/acp/acp_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/rpc/channel.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define SERVER_VERSION 2 /* of the server's protocol */
#define KEPT_BYTES     1024

bool acp_tell(struct acp *acp, const char *method, const char *id, json_t *params)
{
	return rpc_request(acp->back, id, method, params);
}

void acp_make_id(struct acp *acp, const char *prefix, char ret[ACP_ID_MAX])
{
	(void)snprintf(ret, ACP_ID_MAX, "%s%" PRIu64, prefix, ++acp->last_id);
}

bool acp_is_own(const json_t *id)
{
	const char *text = json_string_value(id);

	return text && strncmp(text, ACP_OWN, strlen(ACP_OWN)) == 0;
}

void acp_warn(struct acp *acp, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (acp->warnings > ACP_WARNINGS_MAX)
		return;
	if (acp->warnings++ == ACP_WARNINGS_MAX) {
		log_warn("acp: further messages are not printed");
		return;
	}
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args); /* may be cut */
	va_end(args);
	log_warn("acp: %s", text);
}

/* The program ends with its server's client. */
static void leave(struct acp *acp)
{
	channel_finish(rpc_channel(acp->back));
	fd_hang_up(acp->config.agent);
}

void acp_end(struct acp *acp, bool is_patient)
{
	if (acp->is_over)
		return;
	acp->is_over = true;
	loop_timer_stop(&acp->program.again);
	loop_timer_stop(&acp->program.late);
	channel_finish(rpc_channel(acp->inner));
	channel_finish(rpc_channel(acp->front));
	if (!is_patient || channel_is_empty(rpc_channel(acp->front)))
		leave(acp);
}

static void told(struct acp *acp, const char *event, const json_t *params)
{
	const char *id = json_string_value(json_object_get(params, "id"));
	const char *words = json_string_value(json_object_get(params, "message"));

	if (strcmp(event, "approval_request") == 0)
		acp_ask_begin(acp, params);
	else if (strcmp(event, "approval_resolved") == 0)
		acp_ask_resolved(acp, params);
	else if (strcmp(event, "error") == 0 || strcmp(event, "warning") == 0)
		acp_warn(acp, "%s", words ? words : event);
	else if (id && id[0] == ACP_TERMINAL)
		acp_terminal_event(acp, id, event, params);
	else if (id && strcmp(id, ACP_PROGRAM) == 0)
		acp_program_event(acp, event, params); /* other events need no action */
}

static void replied(struct acp *acp, const char *id, const json_t *result, const json_t *error)
{
	const char *words = json_string_value(json_object_get(error, "message"));

	if (!id) {
		acp_warn(acp, "%s", words ? words : "the server refused a message");
	} else if (strcmp(id, ACP_HELLO) == 0 || strcmp(id, ACP_SESSION) == 0) {
		if (error && !acp->refused)
			acp->refused = mem_strdup(words ? words : "the server gave no reason");
	} else if (strcmp(id, ACP_PROGRAM) == 0) {
		acp_program_replied(acp, result, error);
	} else if (strcmp(id, ACP_INPUT) == 0) {
		acp_program_took(acp, result);
	} else if (id[0] == ACP_ANSWER) {
		acp_ask_replied(acp, id, result, error);
	} else if (id[0] == ACP_TERMINAL) {
		acp_terminal_replied(acp, id, result, error);
	}
}

static void on_server_message(const struct rpc_message *message, void *arg)
{
	struct acp *acp = arg;

	if (acp->is_over)
		return;
	if (message->method)
		told(acp, message->method, message->params);
	else
		replied(acp, json_string_value(message->id), message->result, message->error);
}

static void nothing(void *arg)
{
}

/* The editor reads again. */
static void on_front_room(void *arg)
{
	struct acp *acp = arg;

	channel_pause(rpc_channel(acp->inner), false);
}

static void on_front_end(const char *why, void *arg)
{
	struct acp *acp = arg;

	if (acp->is_over)
		return;
	if (channel_is_lost(rpc_channel(acp->front)) || rpc_has_given_up(acp->front))
		return acp_end(acp, false);
	acp->is_leaving = true;
	acp_program_leave(acp);
}

static void on_front_empty(void *arg)
{
	struct acp *acp = arg;

	if (acp->is_over)
		leave(acp);
}

/* All that the program said was passed on, or it said too much that is malformed. */
static void on_inner_end(const char *why, void *arg)
{
	struct acp *acp = arg;

	if (rpc_has_given_up(acp->inner))
		acp_warn(acp, "the agent sent too many malformed lines, and was ended");
	else if (!acp->program.has_ended && !acp->is_over)
		acp_warn(acp, "the agent did not read what the editor sent, and was ended");
	if (!acp->program.has_ended)
		acp->status = 1;
	acp_end(acp, acp->program.has_ended);
}

static void on_server_end(const char *why, void *arg)
{
	acp_end(arg, false);
}

static void on_agent_malformed(const char *words, void *arg)
{
	acp_warn(arg, "a line of the agent was not passed on: %s", words);
}

static const struct rpc_events editor_events = {
	.on_message = acp_editor_said,
	.on_room = on_front_room,
	.on_end = on_front_end,
	.on_empty = on_front_empty,
};
static const struct rpc_events agent_events = {
	.on_message = acp_agent_said,
	.on_room = nothing,
	.on_end = on_inner_end,
	.on_empty = nothing,
	.on_malformed = on_agent_malformed,
};
static const struct rpc_events server_events = {
	.on_message = on_server_message,
	.on_room = nothing,
	.on_end = on_server_end,
	.on_empty = nothing,
};

/* One session for the program and its terminals: what a person allows for the session holds for
 * both. */
static int configure(struct acp *acp, struct err *why)
{
	const struct acp_config *config = &acp->config;
	json_t *session = json_pack("{s:s, s:{s:s}, s:{s:i}}", "name", ACP_SESSION, "sandbox",
				    "mode", config->sandbox ? config->sandbox : "workspace-write",
				    "limits", "kept_bytes", KEPT_BYTES);
	json_t *words = json_array();

	if (config->approval)
		(void)json_object_set_new(session, "approval", json_string(config->approval));
	for (const char *const *word = config->command; *word; word++) {
		json_t *text = json_string(*word);

		if (!text) {
			json_decref(session);
			json_decref(words);
			return err_set(why, -EINVAL, "a word of the command is not UTF-8");
		}
		(void)json_array_append_new(words, text); /* fails only without memory */
	}
	/* Both are short. */
	(void)acp_tell(acp, "initialize", ACP_HELLO,
		       json_pack("{s:i}", "protocol_version", SERVER_VERSION));
	(void)acp_tell(acp, "configure_session", ACP_SESSION, session);
	if (!acp_tell(acp, "exec", ACP_PROGRAM,
		      json_pack("{s:o, s:b, s:b, s:b, s:i}", "command", words, "input", 1, "whole",
				1, "once", 1, "timeout_ms", 0)))
		return err_set(why, -E2BIG, "the command is too long");
	return 0;
}

static int open_all(struct acp *acp, struct err *why)
{
	const struct acp_config *config = &acp->config;
	const struct rpc_config front = {
		.loop = config->loop,
		.in = config->in,
		.out = config->out,
		.line_max = ACP_LINE_MAX,
		.events = &editor_events,
		.arg = acp,
	};
	const struct rpc_config inner = {
		.loop = config->loop,
		.in = config->pipe[0],
		.out = config->pipe[0],
		.line_max = ACP_LINE_MAX,
		.events = &agent_events,
		.arg = acp,
	};
	const struct rpc_config back = {
		.loop = config->loop,
		.in = config->agent,
		.out = config->agent,
		.line_max = ACP_EVENT_MAX,
		.request_max = CHANNEL_LINE_MAX,
		.is_trusted = true,
		.events = &server_events,
		.arg = acp,
	};

	acp->front = rpc_new(&front, why);
	acp->inner = acp->front ? rpc_new(&inner, why) : NULL;
	acp->back = acp->inner ? rpc_new(&back, why) : NULL;
	if (!acp->back)
		return -ENOMEM;
	acp_program_init(acp);
	return configure(acp, why);
}

struct acp *acp_new(const struct acp_config *config, struct err *why)
{
	struct acp *acp = mem_new(sizeof(*acp));

	acp->config = *config;
	LIST_INIT(&acp->asks);
	LIST_INIT(&acp->terminals);
	if (open_all(acp, why) < 0) {
		acp_free(acp);
		return NULL;
	}
	channel_start(rpc_channel(acp->front));
	channel_start(rpc_channel(acp->inner));
	channel_start(rpc_channel(acp->back));
	return acp;
}

int acp_status(const struct acp *acp)
{
	return acp->status;
}

void acp_free(struct acp *acp)
{
	if (!acp)
		return;
	acp_ask_free_all(acp);
	acp_terminal_free_all(acp);
	acp_program_done(acp);
	rpc_free(acp->front);
	rpc_free(acp->inner);
	rpc_free(acp->back);
	free(acp->session);
	json_decref(acp->making);
	free(acp->refused);
	free(acp);
}
