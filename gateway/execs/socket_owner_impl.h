/* socket_owner: what the kernel says about one socket and about one process; for
 * socket_owner_scan.c. */
#pragma once

#include "gateway/execs/socket_owner.h"

struct socket_owner {
	pid_t init;
	int sockets, proc;
};

/* The inode of a socket: 0, or -ESRCH: there is no such socket (any more). */
int socket_owner_inode(const struct socket_owner *who, const struct socket_owner_want *want,
		       uint32_t *ret_inode);
/* The identity of the file that @pid runs. 0 or -errno. */
int socket_owner_stat(const struct socket_owner *who, pid_t pid, struct socket_owner_file *ret);
/* Its path, which counts only if it leads, on the host, to the same file. */
void socket_owner_program(const struct socket_owner *who, pid_t pid,
			  const struct socket_owner_file *runs, struct socket_owner_found *ret);
