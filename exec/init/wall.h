/* wall: a thread of init that makes every call of the command that can address a socket. The filter
 * stops connect(2) and the sends that may carry an address. The wall copies the descriptor and the
 * address once, judges the inode that the address leads to, and makes the call itself with what it
 * judged. The kernel never continues such a call, so changes made meanwhile have no effect.
 * docs/decisions/0033. */
#pragma once

struct init;

/* Starts the thread, before init drops its capabilities: the thread keeps the one that allows it to
 * copy descriptors of tasks that are not dumpable. 0 or -errno. */
int wall_start(struct init *init);
/* Called in the command's process, which still shares init's memory and descriptors: @listener is
 * the filter's. */
void wall_hand_over(struct init *init, int listener);
/* Called after the command's process has started: waits until the wall has its own copy of the
 * listener. */
void wall_wait(struct init *init);
