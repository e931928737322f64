/* To add a stage: a file of its own with one function, a line here, a step in wire.h (so that its
 * failure has words in refusal.c), and its place in init.c's order. Every stage returns 0 or
 * -errno, and names in init->detail what it failed at. */
#pragma once

#include <stdint.h>

struct init;

/* Own user and group id onto the same ids. Before anything that creates files. */
int ids_map(struct init *init);
/* lo up, the two listeners, the inner channel, the socket that tells whose sockets are. */
int egress_open(struct init *init);
/* No user namespaces below, host name, session keyring. */
int namespaces_close(struct init *init);

/* The command's view of the file system, in this order (see view.c for why). */
int view_build(struct init *init);
/* What the gate puts into fresh directories. */
int files_write(struct init *init);
/* The socket of the door in /run, whose listener goes to the worker by the inner channel. */
int door_open(struct init *init);
/* New session; the pty, when one of 0–2 was a terminal. */
int terminal_open(struct init *init);

/* Abstract sockets of others are out of reach for init and for all that comes of it, where the
 * kernel can do that: init->is_scoped. */
int landlock_scope(struct init *init);

/* Everything this thread of init may do that the command may not goes away here, but what is in
 * @kept (bit N: capability N). */
int caps_drop(uint64_t kept);

/* In the command's process, last things before its program. @init: for the writable roots. */
int landlock_restrict(struct init *init);
/* The filter, whose listener goes to the wall. */
int filter_load(struct init *init);
