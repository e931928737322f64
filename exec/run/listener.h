/* listener: answers one call on the descriptor that reports calls inside (seccomp_unotify(2)). The
 * wall reads it (exec/init/wall.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the task that made the call still wait, so that the memory we read was its own? */
bool listener_is_waiting(int listener, uint64_t id);
/* The call fails with @error (positive). If the task has died meanwhile, no answer is needed. */
void listener_refuse(int listener, uint64_t id, int error);
/* The kernel executes the call as usual. This is not a permission: the kernel still decides, and
 * memory that the call points to may have changed by then. 0 or -errno. */
int listener_pass(int listener, uint64_t id);
