#include "exec/run/output.h"

#include <errno.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define CHUNK_MAX 65536
#define PIPE_MAX  (1 << 20) /* the largest pipe an unprivileged user can make */
#define QUIET_MS  100       /* wait for output of others that still hold a pipe */
#define LAST_MS   2000

#define DEFAULT_KEEP        65536
#define DEFAULT_EVENTS      10000
#define DEFAULT_EVENT_BYTES (1 << 20)
#define DEFAULT_SPILL       (64 << 20)

/* How many bytes may be read now: back-pressure is exact, so that a window limits memory. */
static size_t room(const struct output *output)
{
	size_t window = output->window, behind = output->in_flight;

	if (window == 0 || output->is_draining)
		return CHUNK_MAX;
	if (output->unread.max > 0 && output->unread.max < window)
		window = output->unread.max;
	if (output->unread.len > behind)
		behind = output->unread.len;
	if (behind >= window)
		return 0;
	return window - behind < CHUNK_MAX ? window - behind : CHUNK_MAX;
}

/* Which events are active follows from the state alone. */
static void update(struct output *output)
{
	bool has_room = room(output) > 0;

	for (int i = 0; i < OUTPUT_SOURCES; i++) {
		struct output_source *source = &output->sources[i];
		bool is_wanted =
			source->fd >= 0 && !source->has_ended && has_room && !output->is_closed;

		if (is_wanted && !source->is_added)
			event_add(&source->readable, NULL);
		else if (!is_wanted && source->is_added)
			event_del(&source->readable);
		source->is_added = is_wanted;
	}
}

static void keep(struct output *output, enum exec_stream stream, const char *bytes, size_t len)
{
	struct output_keep *kept = &output->keeps[stream];
	struct output_spill *spill = &output->spills[stream];

	/* The file starts with the first byte of the stream: all of it is still kept when the first
	 * byte has to be dropped. From then on every byte is written. */
	if (spill->dir && output_keep_overflows(kept, len)) {
		if (kept->omitted == 0) {
			output_spill_add(spill, kept->head, kept->head_len);
			output_spill_add(spill, ring_peek(&kept->tail), kept->tail.len);
		}
		output_spill_add(spill, bytes, len);
	}
	output_keep_add(kept, bytes, len);
}

static void tell(struct output *output, struct output_source *source, const char *bytes, size_t len)
{
	struct exec_output told = { .stream = source->stream, .offset = source->offset };

	source->offset += len;
	if (!output->is_told)
		return;
	if (output->events_left > 0)
		told.len = len < output->bytes_left ? len : output->bytes_left;
	output->dropped += len - told.len;
	if (told.len == 0)
		return;
	told.bytes = bytes;
	output->events_left--;
	output->bytes_left -= told.len;
	output->in_flight += told.len;
	output->events->on_output(&told, output->arg);
}

static void take_chunk(struct output *output, struct output_source *source, const char *bytes,
		       size_t len)
{
	keep(output, source->stream, bytes, len);
	if (output->is_merged)
		keep(output, EXEC_MERGED, bytes, len);
	if (output->unread.max > 0)
		output->unread_dropped += ring_add(&output->unread, bytes, len);
	tell(output, source, bytes, len);
	if (output->unread.max > 0 && !output->is_closed)
		output->events->on_unread(output->arg);
}

static void end_source(struct output_source *source)
{
	source->has_ended = true;
	update(source->output);
}

/* Returns how many bytes were read; 0: none now, or the end. */
static size_t read_some(struct output_source *source, size_t max)
{
	char bytes[CHUNK_MAX];
	ssize_t n = read(source->fd, bytes, max);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* EIO: no process has the pty open any more */
		end_source(source);
		return 0;
	}
	take_chunk(source->output, source, bytes, (size_t)n);
	return (size_t)n;
}

static bool has_ended(const struct output *output)
{
	for (int i = 0; i < OUTPUT_SOURCES; i++)
		if (output->sources[i].fd >= 0 && !output->sources[i].has_ended)
			return false;
	return true;
}

static void finish(struct output *output, bool is_cut)
{
	const struct exec_output note = { .dropped = output->dropped };

	loop_timer_stop(&output->quiet);
	loop_timer_stop(&output->last);
	if (output->dropped > 0 && !output->is_closed)
		output->events->on_output(&note, output->arg);
	if (!output->is_closed)
		output->events->on_drained(is_cut, output->arg);
}

static void on_ended(void *arg)
{
	finish(arg, false);
}

/* Reads all that was written by now, even if the loop was late. */
static void on_enough(void *arg)
{
	struct output *output = arg;

	for (int i = 0; i < OUTPUT_SOURCES; i++) {
		struct output_source *source = &output->sources[i];
		size_t n = 1, total = 0;

		while (source->fd >= 0 && !source->has_ended && !output->is_closed && n > 0 &&
		       total < PIPE_MAX) {
			n = read_some(source, CHUNK_MAX);
			total += n;
		}
	}
	if (!output->is_closed)
		finish(output, !has_ended(output));
}

static void watch_for_end(struct output *output)
{
	bool has_terminal = output->sources[0].is_terminal;

	if (has_ended(output))
		loop_defer(output->loop, &output->quiet, on_ended, output);
	else if (!has_terminal) /* a terminal is hung up with its session, perhaps late */
		loop_timer_start(output->loop, &output->quiet, QUIET_MS, on_enough, output);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct output_source *source = arg;
	struct output *output = source->output;
	size_t max = room(output);

	if (max == 0 || source->has_ended)
		return;
	(void)read_some(source, max); /* the result is in the source */
	if (output->is_closed)
		return;
	update(output);
	if (output->is_draining)
		watch_for_end(output);
}

static size_t or_default(uint64_t value, uint64_t fallback)
{
	return (size_t)(value ? value : fallback);
}

void output_init(struct output *output, struct loop *loop, const struct exec_config *config,
		 const struct output_events *events, void *arg)
{
	static const char *const suffixes[] = { "stdout", "stderr", "merged" };

	*output = (struct output){ .loop = loop, .events = events, .arg = arg };
	for (int i = 0; i < OUTPUT_SOURCES; i++)
		output->sources[i] = (struct output_source){ .output = output, .fd = -1 };
	for (int i = 0; i < EXEC_STREAMS; i++) {
		output->keeps[i].head_max = or_default(config->head_max, DEFAULT_KEEP);
		output->keeps[i].tail.max = or_default(config->tail_max, DEFAULT_KEEP);
		output->spills[i] = (struct output_spill){
			.dir = config->spill & BIT(i) ? config->spill_dir : NULL,
			.name = config->spill_name,
			.suffix = suffixes[i],
			.max = or_default(config->spill_max, DEFAULT_SPILL),
			.fd = -1,
		};
	}
	output->unread.max = config->unread_max;
	output->window = config->window;
	output->events_left = (unsigned int)or_default(config->events_max, DEFAULT_EVENTS);
	output->bytes_left = or_default(config->event_bytes_max, DEFAULT_EVENT_BYTES);
	output->is_merged = config->io == EXEC_IO_PIPES;
}

void output_read(struct output *output, enum exec_stream stream, int fd, bool is_terminal)
{
	struct output_source *source = &output->sources[stream];

	source->fd = fd;
	source->stream = stream;
	source->is_terminal = is_terminal;
	(void)fd_set_nonblocking(fd, true); /* cannot fail for an open descriptor */
	event_assign(&source->readable, loop_base(output->loop), fd, EV_READ | EV_PERSIST,
		     on_readable, source);
	update(output);
}

void output_consumed(struct output *output, size_t bytes)
{
	output->in_flight -= bytes < output->in_flight ? bytes : output->in_flight;
	update(output);
}

void output_polled(struct output *output, size_t len)
{
	ring_drop(&output->unread, len);
	output->unread_dropped = 0;
	update(output);
}

void output_drain(struct output *output)
{
	output->is_draining = true;
	/* No consumer is waited for from here on, and the rest in the pipes must not displace the
	 * bytes that it has not read yet. */
	if (output->window > 0 && output->unread.max > 0)
		output->unread.max += OUTPUT_SOURCES * PIPE_MAX;
	update(output);
	if (!has_ended(output))
		loop_timer_start(output->loop, &output->last, LAST_MS, on_enough, output);
	watch_for_end(output);
}

void output_close(struct output *output)
{
	output->is_closed = true;
	update(output);
	loop_timer_stop(&output->quiet);
	loop_timer_stop(&output->last);
	for (int i = 0; i < OUTPUT_SOURCES; i++) {
		fd_close(output->sources[i].fd);
		output->sources[i].fd = -1;
	}
}

void output_done(struct output *output)
{
	output_close(output);
	for (int i = 0; i < EXEC_STREAMS; i++) {
		output_keep_done(&output->keeps[i]);
		output_spill_done(&output->spills[i]);
	}
	ring_done(&output->unread);
}
