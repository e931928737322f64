/* who: what the kernel says of one socket and of one process; for who_scan.c. */
#pragma once

#include "gateway/who.h"

struct who {
	pid_t init;
	int sockets, proc;
};

/* Whose socket it is: 0, or -ESRCH: nobody's (any more). */
int who_inode(const struct who *who, uint16_t peer_port, uint16_t port, uint32_t *ret_inode);
/* The file that @pid runs. 0 or -errno. */
int who_stat(const struct who *who, pid_t pid, struct who_file *ret);
/* Its path, which counts only if it leads, here, to the very file that runs there. */
void who_program(const struct who *who, pid_t pid, const struct who_file *runs,
		 struct who_found *ret);
