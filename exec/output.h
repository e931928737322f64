/* output: what a command prints, read as it comes: kept, told, queued for a poll and spilled, each
 * with a limit. Reads on whatever happens to those, unless a window says to wait for the consumer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "exec/exec_job.h"
#include "exec/output_keep.h"
#include "exec/output_spill.h"
#include "exec/ring.h"

#define OUTPUT_SOURCES 2

/* All run from the loop; output_close() is fine inside them. */
struct output_events {
	/* Live, with @len > 0; or the one note of what was dropped. */
	void (*on_output)(const struct exec_output *output, void *arg);
	void (*on_unread)(void *arg); /* there is more for a poll */
	/* After output_drain(): nothing comes any more. @is_cut: somebody still holds an end. */
	void (*on_drained)(bool is_cut, void *arg);
};

struct output_source {
	struct output *output;
	enum exec_stream stream;
	int fd; /* owned; -1: none */
	bool is_terminal, has_ended, is_added;
	uint64_t offset;
	struct event readable;
};

struct output {
	struct loop *loop;
	struct output_source sources[OUTPUT_SOURCES];
	struct output_keep keeps[EXEC_STREAMS];
	struct output_spill spills[EXEC_STREAMS];
	struct ring unread;       /* max 0: nobody polls */
	uint64_t unread_dropped;  /* before what is in it */
	size_t window, in_flight; /* of live bytes; window 0: none */
	bool is_told;             /* somebody wants on_output */
	unsigned int events_left;
	uint64_t bytes_left, dropped;
	bool is_merged, is_draining, is_closed;
	struct loop_timer quiet, last;
	const struct output_events *events;
	void *arg;
};

/* Keeps @loop, @events and the strings of @config. */
void output_init(struct output *output, struct loop *loop, const struct exec_job_config *config,
		 const struct output_events *events, void *arg);
/* Takes @fd, made non-blocking, and reads it. */
void output_read(struct output *output, enum exec_stream stream, int fd, bool is_terminal);
/* @bytes of on_output are done with. */
void output_consumed(struct output *output, size_t bytes);
/* The first @len bytes (at most unread.len) were polled. */
void output_polled(struct output *output, size_t len);
/* The command is gone: reads what is left, not for long, and calls on_drained(), later. */
void output_drain(struct output *output);
/* No event any more, nothing is read; what is kept stays. Idempotent. */
void output_close(struct output *output);
void output_done(struct output *output);
