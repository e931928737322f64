/* wire_told: what the wall of a sandbox reports to the gate: the calls that the wall does not
 * answer itself, one per message, each with a pidfd of the task, because its pid is different
 * outside. On a kernel without PIDFD_THREAD it may be the pidfd of its process. Used by init,
 * too. */
#pragma once

#include <linux/seccomp.h>
#include <stdint.h>

/* A call that the wall does not answer itself. */
struct wire_told {
	struct seccomp_notif request;
	int32_t error; /* if not 0: the wall has decided on this error; it is reported, and used as
			  the answer */
	uint32_t is_probe; /* 1: a call of the sandbox's probe: it is answered, and no evidence */
	char path[4096]; /* of a socket that the wall refused, NUL-terminated, or ""; only the used
			    part is sent */
};
