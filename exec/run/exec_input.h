/* exec_input: the input of a command: bytes wait here, up to a limit, until the command reads
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/loop.h"
#include "exec/run/ring.h"

/* Runs from the loop when there is room again after a write found none. */
typedef void (*exec_input_room_fn)(void *arg);

struct exec_input {
	struct loop *loop;
	struct ring waiting;
	int fd;        /* -1: not open yet, or closed */
	bool is_owned; /* of @fd; a pty's descriptor belongs to its reader */
	bool is_terminal, is_open, is_closing, is_added, is_short;
	char last; /* last byte that was queued */
	struct event writable;
	exec_input_room_fn on_room;
	void *arg;
};

/* Keeps @loop and @arg. @is_open: writing is allowed. */
void exec_input_init(struct exec_input *input, struct loop *loop, size_t max, bool is_open,
		     exec_input_room_fn on_room, void *arg);
/* Takes @fd (borrows it if it is a pty's master), makes it non-blocking, and writes the bytes that
 * wait. */
void exec_input_start(struct exec_input *input, int fd, bool is_terminal);
/* Returns how many bytes were taken; -EAGAIN or -EPIPE. */
ssize_t exec_input_write(struct exec_input *input, const void *bytes, size_t len);
/* Signals the end of file after the bytes that wait. */
void exec_input_finish(struct exec_input *input);
/* Nothing reads any more: drops the bytes that wait. Idempotent. */
void exec_input_close(struct exec_input *input);
void exec_input_done(struct exec_input *input);
