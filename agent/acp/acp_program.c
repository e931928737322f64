/* The program runs as a command of the server's session. What it writes to stdout goes, byte by
 * byte, to the channel that reads its messages, and what that channel writes is its input. */
#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/acp/acp_impl.h"
#include "agent/rpc/channel.h"
#include "base/crypto/base64.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

#define INPUT_BYTES 32768        /* on their way to the program at once */
#define OUTPUT_HIGH (256U << 10) /* waiting bytes from which the program is not read from */
#define ERRORS_MAX  (1U << 20)   /* waiting bytes of stderr; more are dropped */
#define AGAIN_MS    50           /* until a program that does not read is tried again */

char *acp_program_bytes(const json_t *event, size_t *ret_len)
{
	const json_t *text = json_object_get(event, "text");
	const char *encoded = json_string_value(json_object_get(event, "base64"));
	size_t len = encoded ? strlen(encoded) : json_string_length(text);
	char *bytes = mem_new(len + 1);

	*ret_len = len;
	if (!encoded && len > 0)
		memcpy(bytes, json_string_value(text), len);
	else if (encoded && base64_decode(encoded, len, bytes, len, ret_len) < 0)
		*ret_len = 0; /* the server is trusted: it does not happen */
	return bytes;
}

static void flush(struct acp *acp)
{
	struct acp_program *program = &acp->program;
	struct evbuffer *output = program->output;

	while (evbuffer_get_length(output) > 0) {
		int sent = evbuffer_write(output, acp->config.pipe[1]);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno != EAGAIN)
			(void)evbuffer_drain(output, evbuffer_get_length(output));
		else if (sent < 0)
			break;
	}
	if (evbuffer_get_length(output) > 0)
		event_add(&program->writable, NULL);
	else if (program->has_ended)
		fd_hang_up(acp->config.pipe[1]); /* what was written is still read */
	if (!acp->is_over)
		channel_pause(rpc_channel(acp->back), evbuffer_get_length(output) > OUTPUT_HIGH);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	flush(arg);
}

static void flush_errors(struct acp *acp)
{
	struct acp_program *program = &acp->program;

	while (evbuffer_get_length(program->errors) > 0) {
		int sent = evbuffer_write(program->errors, acp->config.errors);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN && !program->is_errors_file) {
			event_add(&program->errors_writable, NULL);
			return;
		}
		if (sent < 0) /* nobody reads it any more */
			(void)evbuffer_drain(program->errors, evbuffer_get_length(program->errors));
	}
}

static void on_errors_writable(evutil_socket_t fd, short what, void *arg)
{
	flush_errors(arg);
}

static void fill(struct acp *acp);

static void send_input(void *arg)
{
	struct acp *acp = arg;
	struct acp_program *program = &acp->program;
	auto_free char *encoded = base64_encode(program->input + program->input_at,
						program->input_len - program->input_at);

	program->is_writing = true;
	/* It is short. */
	(void)acp_tell(
		acp, "write_input", ACP_INPUT,
		json_pack("{s:I, s:s}", "exec", (json_int_t)program->exec, "base64", encoded));
}

static void on_late(void *arg)
{
	acp_end(arg, false);
}

/* All that the editor sent was passed on: the input ends. */
static void send_end(struct acp *acp)
{
	struct acp_program *program = &acp->program;

	if (program->has_sent_end || !acp->is_leaving || !channel_is_empty(rpc_channel(acp->inner)))
		return;
	program->has_sent_end = true;
	program->is_writing = true;
	(void)acp_tell(acp, "write_input", ACP_INPUT, /* it is short */
		       json_pack("{s:I, s:b}", "exec", (json_int_t)program->exec, "eof", 1));
	loop_timer_start(acp->config.loop, &program->late, ACP_LEAVE_MS, on_late, acp);
}

static void fill(struct acp *acp)
{
	struct acp_program *program = &acp->program;
	char bytes[INPUT_BYTES];

	if (!program->can_write || program->is_writing || program->input || acp->is_over)
		return;
	ssize_t got = read(acp->config.pipe[1], bytes, sizeof(bytes));

	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		event_add(&program->readable, NULL);
		return send_end(acp);
	}
	if (got <= 0)
		return;
	event_add(&program->readable, NULL);
	if (program->is_deaf)
		return; /* it cannot be told */
	program->input = mem_new((size_t)got);
	memcpy(program->input, bytes, (size_t)got);
	program->input_len = (size_t)got;
	program->input_at = 0;
	send_input(acp);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	fill(arg);
}

void acp_program_took(struct acp *acp, const json_t *result)
{
	struct acp_program *program = &acp->program;
	json_int_t taken = json_integer_value(json_object_get(result, "taken"));

	program->is_writing = false;
	program->is_deaf = program->is_deaf || !result;
	if (program->input && !program->is_deaf) {
		program->input_at += (size_t)taken;
		if (program->input_at < program->input_len && taken == 0)
			return loop_timer_start(acp->config.loop, &program->again, AGAIN_MS,
						send_input, acp);
		if (program->input_at < program->input_len)
			return send_input(acp);
	}
	free(take(program->input));
	fill(acp);
}

void acp_program_leave(struct acp *acp)
{
	/* A program that was not started in this time, or that does not read, is ended, too. */
	loop_timer_start(acp->config.loop, &acp->program.late, 3 * ACP_LEAVE_MS, on_late, acp);
	fill(acp);
}

static void say_made(struct acp *acp, const json_t *result)
{
	const json_t *list = json_object_get(result, "made");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *path = "", *what = "";
		json_t *made = json_array_get(list, i);

		(void)json_unpack(made, "{s?s, s?s}", "path", &path, "what", &what);
		acp_warn(acp, "the agent made %s: %s", path, what);
	}
}

static void say_denied(struct acp *acp, const json_t *params)
{
	const char *host = "", *protocol = "", *reason = "", *by = "";
	json_int_t port = 0;

	if (json_unpack((json_t *)(uintptr_t)params, "{s:{s:s, s:s, s:I}, s:s, s?s}", "destination",
			"host", &host, "protocol", &protocol, "port", &port, "reason", &reason,
			"by", &by) == 0)
		acp_warn(acp, "%s://%s:%lld was denied (%s, by %s)", protocol, host,
			 (long long)port, reason, by);
}

static void take_output(struct acp *acp, const json_t *params)
{
	struct acp_program *program = &acp->program;
	const char *stream = json_string_value(json_object_get(params, "stream"));
	size_t len;
	auto_free char *bytes = acp_program_bytes(params, &len);

	if (stream && strcmp(stream, "stdout") == 0) {
		if (evbuffer_add(program->output, bytes, len) < 0)
			abort(); /* out of memory, as in base/mem */
		return flush(acp);
	}
	if (evbuffer_get_length(program->errors) + len > ERRORS_MAX)
		return acp_warn(acp, "%zu bytes of the agent's stderr were dropped", len);
	if (evbuffer_add(program->errors, bytes, len) < 0)
		abort(); /* the same */
	flush_errors(acp);
}

void acp_program_event(struct acp *acp, const char *event, const json_t *params)
{
	struct acp_program *program = &acp->program;

	if (strcmp(event, "exec_begin") == 0) {
		program->exec = (uint64_t)json_integer_value(json_object_get(params, "exec"));
		program->can_write = true;
		fill(acp);
	} else if (strcmp(event, "exec_output") == 0) {
		take_output(acp, params);
	} else if (strcmp(event, "network_denied") == 0) {
		say_denied(acp, params);
	}
}

void acp_program_replied(struct acp *acp, const json_t *result, const json_t *error)
{
	struct acp_program *program = &acp->program;
	const char *status = json_string_value(json_object_get(result, "status"));
	const json_t *code = json_object_get(result, "exit_code");
	const char *words = json_string_value(json_object_get(error ? error : result, "message"));

	if (acp->refused)
		words = acp->refused;
	if (words)
		acp_warn(acp, "the agent: %s", words);
	else if (!status || strcmp(status, "rejected") == 0)
		acp_warn(acp, "the agent was not run, because that was not allowed");
	say_made(acp, result);
	acp->status = json_is_integer(code) ? (int)json_integer_value(code) : 126;
	program->has_ended = true;
	program->can_write = false;
	flush(acp);
}

void acp_program_init(struct acp *acp)
{
	struct acp_program *program = &acp->program;
	struct event_base *base = loop_base(acp->config.loop);

	program->output = evbuffer_new();
	program->errors = evbuffer_new();
	if (!program->output || !program->errors)
		abort(); /* out of memory, as in base/mem */
	program->is_errors_file = fd_is_always_ready(acp->config.errors);
	event_assign(&program->readable, base, acp->config.pipe[1], EV_READ, on_readable, acp);
	event_assign(&program->writable, base, acp->config.pipe[1], EV_WRITE, on_writable, acp);
	event_assign(&program->errors_writable, base, acp->config.errors, EV_WRITE,
		     on_errors_writable, acp);
}

void acp_program_done(struct acp *acp)
{
	struct acp_program *program = &acp->program;

	if (!program->output)
		return;
	loop_timer_stop(&program->again);
	loop_timer_stop(&program->late);
	event_del(&program->readable);
	event_del(&program->writable);
	if (!program->is_errors_file)
		event_del(&program->errors_writable);
	evbuffer_free(program->output);
	evbuffer_free(program->errors);
	free(program->input);
}
