/* peer: which process is at the other end of a Unix socket. */
#pragma once

#include <sys/types.h>

struct peer {
	pid_t pid;
	uid_t uid;
};
/* Identifies the peer: 0, or -EACCES for another user, or for a process in another user, pid or
 * network namespace: a sandboxed command has our uid, but not our namespaces. A peer that cannot be
 * identified is refused. */
int peer_check(int socket, struct peer *ret);
