/* output: reads the output of a command as it comes: kept, reported, queued for a poll and spilled,
 * each with a limit. It never stops reading, unless a window makes it wait for the consumer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "exec/exec.h"
#include "exec/run/output_keep.h"
#include "exec/run/output_spill.h"
#include "exec/run/ring.h"

#define OUTPUT_SOURCES 2

/* All run from the loop; they may call output_close(). */
struct output_events {
	/* New output, with @len > 0; or the one event that says how much was dropped. */
	void (*on_output)(const struct exec_output *output, void *arg);
	void (*on_unread)(void *arg); /* there are more bytes for a poll */
	/* After output_drain(): no more events. @is_cut: a process still has an end open. */
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
	struct ring unread;       /* max 0: no polls */
	uint64_t unread_dropped;  /* before the first byte in it */
	size_t window, in_flight; /* of reported bytes; window 0: none */
	bool is_told;             /* on_output is called */
	unsigned int events_left;
	uint64_t bytes_left, dropped;
	bool is_merged, is_draining, is_closed;
	struct loop_timer quiet, last;
	const struct output_events *events;
	void *arg;
};

/* Keeps @loop, @events and the strings of @config. */
void output_init(struct output *output, struct loop *loop, const struct exec_config *config,
		 const struct output_events *events, void *arg);
/* Takes @fd, makes it non-blocking, and reads from it. */
void output_read(struct output *output, enum exec_stream stream, int fd, bool is_terminal);
/* The consumer has finished with @bytes of on_output. */
void output_consumed(struct output *output, size_t bytes);
/* The first @len bytes (at most unread.len) were polled. */
void output_polled(struct output *output, size_t len);
/* The command has ended: reads what is left, for a short time, and calls on_drained(), later. */
void output_drain(struct output *output);
/* Stops reading and reports no more events; what is kept stays. Idempotent. */
void output_close(struct output *output);
void output_done(struct output *output);
