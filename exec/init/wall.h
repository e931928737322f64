/* wall: a thread of init that makes every call of the command that can address a socket. The filter
 * stops connect(2) and the sends that may carry an address. The wall copies the descriptor and the
 * address once, judges the inode that the address leads to, and makes the call itself with what it
 * judged. The kernel never continues such a call, so changes made meanwhile have no effect.
 * docs/decisions/0033. */
#pragma once

#include <stdbool.h>

struct init;

/* Starts the thread, before init drops its capabilities: the thread keeps the one that allows it to
 * copy descriptors of tasks that are not dumpable. Every command has a wall of its own; one is
 * always there for the next. 0 or -errno. */
int wall_start(struct init *init);
/* A wall waits for a command. */
bool wall_is_free(const struct init *init);
/* Called in the command's process, which still shares init's memory and descriptors: @listener is
 * the filter's. */
void wall_hand_over(struct init *init, int listener);
/* Called after the command's process has started: waits until the wall has its own copy of the
 * listener, and closes that of init. */
void wall_wait(struct init *init);
/* For what belongs to the process, and so to all walls. */
void wall_lock(struct init *init, bool is_on);
