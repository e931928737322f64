/* init: the state that the parts of the sandbox's pid 1 share; see init_main.c for the order of
 * events. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/init/read.h"
#include "exec/stages/capture.h"
#include "exec/stages/watch.h"
#include "exec/run/wire.h"

/* An added command. */
struct into_slot {
	uint64_t into; /* its number; 0: the slot is free */
	long command;  /* as in struct init */
};

/* What the walls share, one for each command; futexes. */
struct walls {
	int listener;    /* that reports a command's calls, until a wall takes it; else -1. Setting
			    it wakes a wall */
	int offered;     /* the same, by the command that starts now; else -1 */
	int taken;       /* the one that a wall copied last */
	int idle, count; /* walls that wait for a listener; all */
	int sending;     /* one of them sends descriptors: see send_counted() */
};

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
	struct init *whole;         /* itself; for an added command: the init of the run */
	uint64_t into;              /* the number of an added command; 0: the run's own */
	struct into_slot added[WIRE_INTO_MAX];
	struct walls walls;
	bool is_full;    /* a fresh directory was found full */
	bool is_scoped;  /* Landlock blocks abstract sockets of others */
	bool is_probing; /* the calls that are made are the probe's, and no evidence */
	int64_t started_us;
	enum wire_step step; /* the current step, to report if it fails */
	const char *detail;  /* the path it works on, or "" */
};

/* map: a plan in init's memory. */
struct map {
	struct read_plan plan;
	void *bytes, *pointers; /* NULL: none */
	size_t bytes_len, pointers_len;
};

/* Maps and reads the plan in the sealed file @fd, and closes @fd. 0 or -errno; map_drop() it in
 * every case, if it is not used until the end. */
int map_plan(int fd, struct map *ret);
void map_drop(struct map *map);

#define INIT_FDS_MAX 6  /* per message */
#define INIT_SAFE_FD 16 /* above the descriptors that a command starts with */

/* Zeroed memory; NULL: there is none. */
void *init_room(size_t len);
/* start.S: starts a thread, or a process, with its own stack that calls @fn and exits. Its id or
 * -errno. @here: for CLONE_CHILD_CLEARTID. */
long __init_thread(unsigned long flags, void *stack, void (*fn)(void *arg), void *arg, int *here);

/* Sends one message with @count descriptors (borrowed). 0 or -errno. */
int init_send(const struct wire_message *message, const int *fds, int count);
/* Receives one message, if one is there, with its descriptors: above those of a command, closed on
 * exec. 0; -EAGAIN; or another -errno: no message of the gate. */
int init_receive(struct wire_message *ret, int ret_fds[INIT_FDS_MAX], int *ret_count);
/* Reports that init->step failed (@type: WIRE_FAILED or WIRE_EXEC_FAILED), and ends the process:
 * pid 1, and with it the sandbox; or the command's process. */
_Noreturn void init_fail(const struct init *init, uint32_t type, int error);
