/* session_place: finds and reaches a session. A session is a gate that several runs share: its
 * process (the holder) has the policy, the questions, the grants and the records; each run has its
 * sandbox and its worker, and joins over a socket. Private to session*.c and run_join*.c.
 * docs/decisions/0025 gives the reasons. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct session_state;

/* A session's name is part of a socket's name: letters, digits, _ . and -, but neither of the last
 * two at its start. */
bool session_place_is_name(const char *name);

/* The folder of control sockets, which no sandbox can see: session_place_open() fills it, and
 * session_place_done() closes it. Strings are owned. */
struct session_place {
	int dir_fd;
	char *dir, *name;
};
#define SESSION_NOWHERE ((struct session_place){ .dir_fd = -1 })
int session_place_open(const char *name, struct session_place *ret, struct err *why);
void session_place_done(struct session_place *place);
/* The names that have a socket there; returned owned. */
int session_place_list(const struct session_place *place, char ***ret_names, struct err *why);
/* The process that has the lock holds the session, until it ends: a descriptor, or -EBUSY. */
int session_place_lock(const struct session_place *place, struct err *why);
/* The pid of the holder; 0: there is none. */
pid_t session_place_holder(const struct session_place *place);
/* A listening socket, renamed into place once it listens; replaces one that an ended holder left.
 * The caller must have the lock. */
int session_place_bind(const struct session_place *place, struct err *why);
/* The socket that a service manager passed to us, if it is the one for this session; else -errno.
 * *@ret -1: none was passed. */
int session_place_given(const struct session_place *place, int *ret, struct err *why);
void session_place_unbind(const struct session_place *place);
/* A connection to the holder, which is a process of ours; both have greeted, and waits are limited.
 * -ENOENT: the session has no holder. */
int session_place_connect(const struct session_place *place, struct err *why);
/* The state that the holder reports. -ENOENT: the session has no holder. Does not start one through
 * a service manager. */
int session_place_look(const struct session_place *place, struct session_state *ret,
		       struct err *why);
/* The same by name; -ENOENT also if @name cannot be a session. */
int session_place_find(const char *name, struct session_state *ret, struct err *why);
