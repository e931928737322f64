/* Finds the user at the other end of a loopback connection in the kernel's table of sockets: with
 * sock_diag(7), which looks up one pair of ports; or in /proc/net/tcp if the kernel has no
 * sock_diag. Only an established connection counts, because both tables show a closed one as
 * root's. */
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/net/diag.h"
#include "base/page/page.h"

#define PEER_ESTABLISHED 1 /* of an enum in net/tcp_states.h, which is not a user-space header */

struct peer_pair {
	struct sockaddr_in theirs, ours;
};

static int peer_pair_of(int socket, struct peer_pair *ret)
{
	socklen_t our_len = sizeof(ret->ours), their_len = sizeof(ret->theirs);

	if (getsockname(socket, (struct sockaddr *)&ret->ours, &our_len) < 0 ||
	    getpeername(socket, (struct sockaddr *)&ret->theirs, &their_len) < 0)
		return -errno;
	return 0;
}

static int peer_by_diag(const struct peer_pair *pair, uid_t *ret_uid)
{
	auto_close int netlink =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	struct inet_diag_msg found = { 0 };
	int r = netlink < 0 ? -errno
			    : diag_tcp(netlink, (const struct sockaddr *)&pair->theirs,
				       (const struct sockaddr *)&pair->ours, &found);

	if (r < 0)
		return r;
	*ret_uid = found.idiag_uid;
	return found.idiag_state == PEER_ESTABLISHED ? 0 : -ENOTCONN;
}

static int peer_by_table(const struct peer_pair *pair, uid_t *ret_uid)
{
	unsigned int their_addr, their_port, our_addr, our_port, state, uid;
	FILE *table = fopen("/proc/net/tcp", "re");
	int r = -ENOENT;
	char line[256];

	if (!table)
		return -errno;
	while (r == -ENOENT && fgets(line, sizeof(line), table)) {
		if (sscanf(line, " %*u: %8X:%4X %8X:%4X %2X %*8X:%*8X %*2X:%*8X %*8X %u",
			   &their_addr, &their_port, &our_addr, &our_port, &state, &uid) != 6)
			continue;
		if (their_addr != pair->theirs.sin_addr.s_addr ||
		    their_port != ntohs(pair->theirs.sin_port) ||
		    our_addr != pair->ours.sin_addr.s_addr ||
		    our_port != ntohs(pair->ours.sin_port))
			continue;
		*ret_uid = uid;
		r = state == PEER_ESTABLISHED ? 0 : -ENOTCONN;
	}
	(void)fclose(table); /* it was only read */
	return r;
}

bool page_peer_is_ours(int socket)
{
	struct peer_pair pair;
	uid_t uid = (uid_t)-1; /* no user */
	int r;

	/* Without both addresses, the table cannot be searched either. */
	if (peer_pair_of(socket, &pair) < 0)
		return false;
	r = peer_by_diag(&pair, &uid);
	if (r < 0 && r != -ENOTCONN)
		r = peer_by_table(&pair, &uid);
	return r == 0 && (uid == geteuid() || uid == 0);
}
