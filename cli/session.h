/* session: a gate that several runs share. Its process (the holder) has the policy, the questions,
 * the grants and the records; each run has its sandbox and its worker, and joins over a socket.
 * Private to session*.c and run_join*.c. docs/decisions/0120 says why. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/session_wire.h"

struct err;

/* Names a socket, so: letters, digits, _ . and -, and none of the last two in front. */
bool session_place_is_name(const char *name);

/* The folder of control sockets, which no sandbox sees: session_place_open() fills it, and done()
 * closes. Texts are owned. */
struct session_place {
	int dir_fd;
	char *dir, *name;
};
#define SESSION_NOWHERE ((struct session_place){ .dir_fd = -1 })
int session_place_open(const char *name, struct session_place *ret, struct err *why);
void session_place_done(struct session_place *place);
/* Names that have a socket there; returned owned. */
int session_place_list(const struct session_place *place, char ***ret_names, struct err *why);
/* Who has the lock holds the session, until it dies: a descriptor, or -EBUSY. */
int session_place_lock(const struct session_place *place, struct err *why);
/* Is there a holder? Its pid, or 0. */
pid_t session_place_holder(const struct session_place *place);
/* A listening socket, moved into place when it listens; what a dead holder left is replaced. Only
 * with the lock. */
int session_place_bind(const struct session_place *place, struct err *why);
/* The one that a service manager made and handed over, if it is the one for here: else -errno.
 * *@ret -1: none was. */
int session_place_given(const struct session_place *place, int *ret, struct err *why);
void session_place_unbind(const struct session_place *place);
/* Connected to the holder, who is ours, and greeted both ways; waits are limited. -ENOENT: nobody
 * holds it. */
int session_place_connect(const struct session_place *place, struct err *why);
/* What its holder says of it. -ENOENT: nobody holds it. Does not wake one that a service manager
 * would start. */
int session_place_look(const struct session_place *place, struct session_state *ret,
		       struct err *why);
/* The same by name; also -ENOENT where that can be none. */
int session_place_find(const char *name, struct session_state *ret, struct err *why);
