/* listener: the descriptor that tells of calls inside (seccomp_unotify(2)): one call, its answer.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* The caller and we are never busy at once: the kernel may keep both on one processor. Linux 6.6;
 * elsewhere nothing. */
void listener_prefer_sync(int listener);
/* The next call, without waiting: 1, 0 (none now), or -errno (nobody is left to tell of). */
int listener_read(int listener, struct seccomp_notif *ret);
/* Is whoever made it still waiting, so that what was read of its memory was its? */
bool listener_is_waiting(int listener, uint64_t id);
/* It fails with @error (positive). Whoever died meanwhile needs no answer. */
void listener_refuse(int listener, uint64_t id, int error);
/* The kernel does what it would have done. Allows nothing: what follows is the kernel's decision,
 * and memory the call points to may be another by then. 0 or -errno. */
int listener_pass(int listener, uint64_t id);
