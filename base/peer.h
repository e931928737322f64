/* peer: who is at the other end of a Unix socket. */
#pragma once

#include <sys/types.h>

struct peer {
	pid_t pid;
	uid_t uid;
};
/* Who connected: 0, or -EACCES for another user, and for anybody in another user, pid or network
 * namespace: a payload has our uid, but not our namespaces. What cannot be read is refused. */
int peer_check(int socket, struct peer *ret);
