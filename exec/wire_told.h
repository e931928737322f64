/* wire_told: what the wall of a sandbox tells the gate of: the calls that are not the wall's to
 * answer, one a message, each with a pidfd of the task: its number is another outside. Of a kernel
 * without PIDFD_THREAD it may be its process's. Used by init, too. */
#pragma once

#include <linux/seccomp.h>
#include <stdint.h>

/* A call that somebody else than the wall answers. */
struct wire_told {
	struct seccomp_notif request;
	int32_t error; /* what the wall says to it already, if not 0: it is told, and answered so */
	uint32_t zero;
	char path[4096]; /* of a socket that the wall refused, NUL-terminated, or ""; sent as far as
			    it goes */
};
