/* job_input: what is written to a command waits here, up to a limit, until the command reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/loop.h"
#include "exec/ring.h"

/* Runs from the loop: there was no room and now there is. */
typedef void (*job_input_room_fn)(void *arg);

struct job_input {
	struct loop *loop;
	struct ring waiting;
	int fd;        /* -1: not there yet, or no more */
	bool is_owned; /* the descriptor; a pty's is its reader's */
	bool is_terminal, is_open, is_closing, is_added, is_short;
	char last; /* byte that was queued */
	struct event writable;
	job_input_room_fn on_room;
	void *arg;
};

/* Keeps @loop and @arg. @is_open: something may be written. */
void job_input_init(struct job_input *input, struct loop *loop, size_t max, bool is_open,
		    job_input_room_fn on_room, void *arg);
/* Takes @fd (a pty's master is borrowed), non-blocking from now on, and writes what waits. */
void job_input_start(struct job_input *input, int fd, bool is_terminal);
/* How many were taken; -EAGAIN or -EPIPE. */
ssize_t job_input_write(struct job_input *input, const void *bytes, size_t len);
/* The end of file after what waits. */
void job_input_finish(struct job_input *input);
/* Nobody reads any more: what waits is gone. Idempotent. */
void job_input_close(struct job_input *input);
void job_input_done(struct job_input *input);
