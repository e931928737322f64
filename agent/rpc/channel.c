#include "agent/rpc/channel.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define READ_BYTES 65536
#define LINES_MAX  64 /* served in one round of the loop */

struct channel {
	struct loop *loop;
	int in, out;
	size_t line_max;
	bool is_in_file, is_out_file; /* fd_is_always_ready() */
	struct event readable, writable;
	struct loop_timer again, stall, tell, room;
	struct evbuffer *input, *output;
	const struct channel_events *events;
	void *arg;
	const char *why; /* on_end() must be called; static */
	bool is_started, is_at_end, is_skipping, was_full, is_over, has_ended, is_finished;
	bool is_held, is_paused; /* not read from: it does not read, or channel_pause() */
};

static void channel_read(void *arg);

static void tell_end(void *arg)
{
	struct channel *channel = arg;

	channel->events->on_end(channel->why, channel->arg);
}

/* on_end() is called at most once, from the loop. */
void channel_close(struct channel *channel, const char *why)
{
	if (channel->has_ended)
		return;
	channel->has_ended = true;
	channel->why = why;
	loop_timer_stop(&channel->again);
	loop_timer_stop(&channel->stall);
	if (!channel->is_in_file)
		event_del(&channel->readable);
	loop_defer(channel->loop, &channel->tell, tell_end, channel);
}

static void tell_empty(void *arg)
{
	struct channel *channel = arg;

	channel->events->on_empty(channel->arg);
}

void channel_lose(struct channel *channel, const char *why)
{
	if (!channel->is_out_file)
		event_del(&channel->writable);
	(void)evbuffer_drain(channel->output, evbuffer_get_length(channel->output));
	loop_timer_stop(&channel->stall);
	channel->is_over = true;
	channel_close(channel, why);
	if (channel->is_finished)
		loop_defer(channel->loop, &channel->tell, tell_empty, channel);
}

static void on_stalled(void *arg)
{
	channel_lose(arg, "the client does not read");
}

static bool is_full(const struct channel *channel)
{
	return evbuffer_get_length(channel->output) > CHANNEL_HIGH;
}

static bool is_still(const struct channel *channel)
{
	return channel->is_held || channel->is_paused;
}

/* Stops or continues reading, if @was_still has changed. */
static void settle_input(struct channel *channel, bool was_still)
{
	bool is_now = is_still(channel);

	if (is_now == was_still || channel->has_ended || !channel->is_started)
		return;
	if (is_now && !channel->is_in_file)
		event_del(&channel->readable);
	else if (!is_now && !channel->is_in_file && !channel->is_at_end)
		event_add(&channel->readable, NULL);
	if (!is_now)
		loop_defer(channel->loop, &channel->again, channel_read, channel);
	else
		loop_timer_stop(&channel->again);
}

/* A client that does not read is not read from either. */
static void hold_input(struct channel *channel, bool is_held)
{
	bool was_still = is_still(channel);

	if (channel->has_ended || !channel->is_started)
		return;
	channel->is_held = is_held;
	settle_input(channel, was_still);
}

void channel_pause(struct channel *channel, bool is_paused)
{
	bool was_still = is_still(channel);

	channel->is_paused = is_paused;
	settle_input(channel, was_still);
}

static void tell_room(void *arg)
{
	struct channel *channel = arg;

	hold_input(channel, false);
	channel->events->on_room(channel->arg);
}

static void channel_flush(struct channel *channel)
{
	size_t before = evbuffer_get_length(channel->output);

	while (evbuffer_get_length(channel->output) > 0) {
		int sent = evbuffer_write(channel->output, channel->out);

		if (sent > 0)
			continue;
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			break;
		return channel_lose(channel, "the client has disconnected");
	}
	if (evbuffer_get_length(channel->output) == 0) {
		loop_timer_stop(&channel->stall);
		if (channel->is_finished)
			loop_defer(channel->loop, &channel->tell, tell_empty, channel);
	} else {
		if (!channel->is_out_file)
			event_add(&channel->writable, NULL);
		if (!channel->stall.is_armed || evbuffer_get_length(channel->output) < before)
			loop_timer_start(channel->loop, &channel->stall, CHANNEL_STALL_MS,
					 on_stalled, channel);
	}
	if (channel->was_full && !is_full(channel)) {
		channel->was_full = false;
		loop_defer(channel->loop, &channel->room, tell_room, channel);
	}
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	channel_flush(arg);
}

void channel_send(struct channel *channel, const char *line, size_t len)
{
	if (channel->is_over)
		return;
	if (evbuffer_get_length(channel->output) + len > CHANNEL_QUEUE_MAX)
		return channel_lose(channel,
				    "the client does not read, and too much output waits for it");
	if (evbuffer_add(channel->output, line, len) < 0 ||
	    evbuffer_add(channel->output, "\n", 1) < 0)
		return channel_lose(channel, "out of memory");
	channel_flush(channel);
	if (is_full(channel)) {
		channel->was_full = true;
		hold_input(channel, true);
	}
}

bool channel_is_full(const struct channel *channel)
{
	return is_full(channel);
}

bool channel_is_empty(const struct channel *channel)
{
	return channel->is_over || evbuffer_get_length(channel->output) == 0;
}

/* A line that is too long is skipped to its end and answered once; the next line is served again.
 */
static bool skip_long(struct channel *channel)
{
	struct evbuffer_ptr end = evbuffer_search_eol(channel->input, NULL, NULL, EVBUFFER_EOL_LF);

	if (end.pos < 0) {
		(void)evbuffer_drain(channel->input, evbuffer_get_length(channel->input));
		return false;
	}
	(void)evbuffer_drain(channel->input, (size_t)end.pos + 1);
	channel->is_skipping = false;
	channel->events->on_line(NULL, 0, channel->arg);
	return true;
}

static bool serve_line(struct channel *channel)
{
	size_t len;

	if (channel->is_skipping)
		return skip_long(channel);
	auto_free char *line = evbuffer_readln(channel->input, &len, EVBUFFER_EOL_LF);

	if (!line) {
		channel->is_skipping = evbuffer_get_length(channel->input) > channel->line_max;
		return channel->is_skipping;
	}
	if (len > channel->line_max)
		channel->events->on_line(NULL, 0, channel->arg);
	else
		channel->events->on_line(line, len, channel->arg);
	return true;
}

/* After this many lines other events are served. */
static void channel_serve(struct channel *channel)
{
	for (int i = 0; i < LINES_MAX; i++) {
		if (channel->has_ended || is_still(channel) || !serve_line(channel))
			return;
	}
	loop_defer(channel->loop, &channel->again, channel_read, channel);
}

/* False: out of memory. */
static bool channel_take(struct channel *channel)
{
	struct evbuffer_iovec room;

	if (evbuffer_reserve_space(channel->input, READ_BYTES, &room, 1) < 1)
		return false;
	ssize_t got = read(channel->in, room.iov_base, READ_BYTES);

	channel->is_at_end = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	room.iov_len = got > 0 ? (size_t)got : 0;
	if (channel->is_at_end && !channel->is_in_file)
		event_del(&channel->readable); /* it would be reported for ever */
	return evbuffer_commit_space(channel->input, &room, 1) == 0;
}

static void channel_read(void *arg)
{
	struct channel *channel = arg;

	if (!channel->is_at_end && evbuffer_get_length(channel->input) <= channel->line_max &&
	    !channel_take(channel))
		return channel_close(channel, "out of memory");
	channel_serve(channel);
	if (channel->has_ended || is_still(channel) || channel->again.is_armed)
		return;
	/* The lines before EOF were served. */
	if (channel->is_at_end)
		channel_close(channel, "the client has disconnected");
	else if (channel->is_in_file)
		loop_defer(channel->loop, &channel->again, channel_read, channel);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	channel_read(arg);
}

struct channel *channel_new(struct loop *loop, int in, int out, const struct channel_events *events,
			    void *arg, struct err *why)
{
	struct channel *channel = mem_new(sizeof(*channel));

	channel->loop = loop;
	channel->in = in;
	channel->out = out;
	channel->line_max = CHANNEL_LINE_MAX;
	channel->is_in_file = fd_is_always_ready(in);
	channel->is_out_file = fd_is_always_ready(out);
	channel->events = events;
	channel->arg = arg;
	channel->input = evbuffer_new();
	channel->output = evbuffer_new();
	if (!channel->input || !channel->output)
		abort(); /* out of memory, as in base/mem */
	event_assign(&channel->readable, loop_base(loop), in, EV_READ | EV_PERSIST, on_readable,
		     channel);
	event_assign(&channel->writable, loop_base(loop), out, EV_WRITE, on_writable, channel);
	return channel;
}

void channel_set_line_max(struct channel *channel, size_t bytes)
{
	channel->line_max = bytes;
}

void channel_start(struct channel *channel)
{
	channel->is_started = true;
	if (channel->is_in_file)
		loop_defer(channel->loop, &channel->again, channel_read, channel);
	else if (event_add(&channel->readable, NULL) < 0)
		channel_close(channel, "cannot read from the client");
}

bool channel_is_lost(const struct channel *channel)
{
	return channel->is_over;
}

void channel_finish(struct channel *channel)
{
	channel->has_ended = channel->is_finished = true;
	loop_timer_stop(&channel->again);
	loop_timer_stop(&channel->tell);
	if (!channel->is_in_file)
		event_del(&channel->readable);
}

void channel_free(struct channel *channel)
{
	if (!channel)
		return;
	channel_finish(channel);
	loop_timer_stop(&channel->stall);
	loop_timer_stop(&channel->room);
	if (!channel->is_out_file)
		event_del(&channel->writable);
	evbuffer_free(channel->input);
	evbuffer_free(channel->output);
	free(channel);
}
