/* wall: a thread of init that makes every call of the command that can address a socket. The filter
 * stops connect(2) and the sends that may carry a name; the wall copies the descriptor and the name
 * once, judges the inode behind the name, and makes the call itself with what it judged. The kernel
 * never continues such a call, so nothing that changes meanwhile counts. docs/decisions/0210. */
#pragma once

struct init;

/* Starts the thread, before init gives its capabilities up: it keeps the one that lets it copy
 * descriptors of tasks that cannot be dumped. 0 or -errno. */
int wall_start(struct init *init);
/* In the command's process, which still has init's memory and descriptors: @listener is the
 * filter's. */
void wall_hand_over(struct init *init, int listener);
/* When the command's process has been started: until the wall has its own copy of the listener. */
void wall_wait(struct init *init);
