/* To add a stage: exec/stages/NAME.c with one function, declared here; exec/meson.build; a step in
 * enum wire_step (exec/run/wire.h), with a text for its failure in exec/notify/refusal.c; its place
 * in the order of exec/init/init_main.c. Its test is a hostile case with a signpost of its own.
 * Every stage returns 0 or -errno, and sets init->detail to what it failed at. */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

struct init;

/* Maps the own user and group id to the same ids. It runs before anything that creates files. */
int ids_map(struct init *init);
/* Sets lo up, and opens the two listeners, the inner channel, and the socket that tells which
 * process owns a socket. */
int egress_open(struct init *init);
/* Forbids nested user namespaces, and sets the host name and the session keyring. */
int namespaces_close(struct init *init);

/* Builds the command's view of the file system; in this order (see view.c for the reason). */
int view_build(struct init *init);
/* After watch_begin(): another program may have replaced or removed a path since it was found or
 * covered. Covers again what exists; what is gone is watched as an absent path. -ESTALE: it changes
 * again and again. */
int settle_covers(struct init *init);
/* Writes the gate's files into fresh directories. */
int files_write(struct init *init);
/* Creates the Unix socket of the gate in /run, and sends its listener to the worker through the
 * inner channel. */
int door_open(struct init *init);
/* Starts a new session, and opens the pty if one of 0–2 was a terminal. */
int terminal_open(struct init *init);
/* Opens a pty for an added command, @init: init->pty. */
int terminal_add(struct init *init, uint16_t rows, uint16_t columns);

/* Makes the abstract sockets of others unreachable for init and all of its descendants, if the
 * kernel supports that: init->is_scoped. */
int landlock_scope(struct init *init);

/* Removes everything that this thread of init may do and the command may not, except the
 * capabilities in @kept (bit N: capability N). */
int caps_drop(uint64_t kept);
/* init keeps it, because the kernel lets no process make one slower that has a capability more,
 * also if it has the same ids: the command would delay the watch of its covers. It is not used. */
#define INIT_CAPS (1ULL << CAP_NET_BIND_SERVICE)
/* Of the capabilities @kept, which it has, the thread has only @used in effect from now on. 0 or
 * -errno. */
int caps_have(uint64_t used, uint64_t kept);

/* Run in the command's process, just before its program. @init: for the writable roots. */
int landlock_restrict(struct init *init);
/* Loads the filter, and passes its listener to the wall. */
int filter_load(struct init *init);
