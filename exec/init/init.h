/* init: the sandbox's pid 1. What its parts share; see init.c for the order of events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/init/read.h"
#include "exec/stages/watch.h"
#include "exec/wire.h"

struct init {
	struct read_plan plan;
	int http, socks;      /* listeners, until they are handed out */
	int inner, inner_far; /* the channel that asks for sockets, and the gate's end of it */
	int sockets;          /* sock_diag(7), until it is handed out */
	int pty, pty_far;     /* slave, and master until it is handed out; -1: none */
	struct watch watch;   /* until the sandbox's end */
	long command;         /* pid of the command's first process */
	int listener;   /* that tells of the command's calls; -1: not made yet. What waits for it
			   is woken */
	int has_wall;   /* the wall has its own copy of it */
	bool is_scoped; /* Landlock keeps abstract sockets of others away */
	int64_t started_us;
	enum wire_step step; /* being done, for the report when it fails */
	const char *detail;  /* the path it is about, or "" */
};

#define INIT_FDS_MAX 4 /* of one message */

/* Sends one message with @count descriptors (borrowed). 0 or -errno. */
int init_send(const struct wire_message *message, const int *fds, int count);
/* Reports what init->step could not do (@type: WIRE_FAILED or WIRE_EXEC_FAILED), and ends the
 * process: pid 1, and with it the sandbox, or the command's. */
_Noreturn void init_fail(const struct init *init, uint32_t type, int error);
