/* init: the state that the parts of the sandbox's pid 1 share; see init_main.c for the order of
 * events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/init/read.h"
#include "exec/stages/capture.h"
#include "exec/stages/watch.h"
#include "exec/run/wire.h"

struct init {
	struct read_plan plan;
	int http, socks;      /* listeners, until they are sent to the gate */
	int capture, names;   /* see struct capture; the same */
	int captured;         /* 0, or -errno: why nothing is captured */
	int inner, inner_far; /* the channel on which sockets are requested, and the gate's end of
				 it */
	int door;             /* the listener of the Unix socket; -1: there is none */
	struct datagrams datagrams; /* until the sandbox ends: sent on request */
	int sockets;                /* for sock_diag(7), until it is sent to the gate */
	int pty, pty_far;           /* slave, and master until it is sent to the gate; -1: none */
	struct watch watch;         /* until the sandbox ends */
	long command;               /* pid of the command's first process */
	int listener; /* that reports the command's calls; -1: not created yet. Setting it wakes the
			 wall */
	int has_wall; /* the wall has its own copy of it */
	bool is_full; /* a fresh directory was found full */
	bool is_scoped;  /* Landlock blocks abstract sockets of others */
	bool is_probing; /* the calls that are made are the probe's, and no evidence */
	int64_t started_us;
	enum wire_step step; /* the current step, to report if it fails */
	const char *detail;  /* the path it works on, or "" */
};

#define INIT_FDS_MAX 6 /* per message */

/* Sends one message with @count descriptors (borrowed). 0 or -errno. */
int init_send(const struct wire_message *message, const int *fds, int count);
/* Reports that init->step failed (@type: WIRE_FAILED or WIRE_EXEC_FAILED), and ends the process:
 * pid 1, and with it the sandbox; or the command's process. */
_Noreturn void init_fail(const struct init *init, uint32_t type, int error);
