/* listener: the descriptor that tells of calls inside (seccomp_unotify(2)): the answer to one call.
 * The wall reads it (exec/init/wall.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is whoever made it still waiting, so that what was read of its memory was its? */
bool listener_is_waiting(int listener, uint64_t id);
/* It fails with @error (positive). Whoever died meanwhile needs no answer. */
void listener_refuse(int listener, uint64_t id, int error);
/* The kernel does what it would have done. Allows nothing: what follows is the kernel's decision,
 * and memory the call points to may be another by then. 0 or -errno. */
int listener_pass(int listener, uint64_t id);
