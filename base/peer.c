#include "base/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef SO_PEERPIDFD /* since Linux 6.5; the headers may be older than the kernel */
#define SO_PEERPIDFD 77
#endif

/* A descriptor for exactly the process that connected. An older kernel has only the number, which
 * may belong to another process by now: the caller therefore checks that the peer still holds the
 * connection. */
static int peer_pidfd(int socket, pid_t pid)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool peer_shares_namespace(pid_t pid, const char *kind)
{
	char path[64];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &ours) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	if (stat(path, &theirs) < 0)
		return false;
	return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* The process and its connection still exist, so the number meant that process when it was read. */
static bool peer_is_there(int pidfd, int socket)
{
	struct pollfd watched[] = { { .fd = pidfd, .events = POLLIN }, { .fd = socket } };

	return poll(watched, 2, 0) >= 0 && watched[0].revents == 0 &&
	       !(watched[1].revents & (POLLHUP | POLLERR));
}

int peer_check(int socket, struct peer *ret)
{
	static const char *const kinds[] = { "user", "pid", "net" };
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -EACCES;
	if (peer.uid != geteuid() && peer.uid != 0)
		return -EACCES;
	if (peer.pid <= 0) /* the peer is in a pid namespace that is not visible from here */
		return -EACCES;

	auto_close int pidfd = peer_pidfd(socket, peer.pid);
	if (pidfd < 0)
		return -EACCES;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!peer_shares_namespace(peer.pid, kinds[i]))
			return -EACCES;
	}
	if (!peer_is_there(pidfd, socket))
		return -EACCES;
	*ret = (struct peer){ .pid = peer.pid, .uid = peer.uid };
	return 0;
}
