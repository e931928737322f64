/* Whose end of a connection on loopback is it? The kernel's table of sockets says: sock_diag(7) at
 * once, for one pair of ports; /proc/net/tcp, where a kernel has no sock_diag. Only an established
 * end counts: one that was closed belongs to nobody, which both tables write as root. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "gateway/approvers/web.h"

#define PEER_ESTABLISHED 1 /* of enum in net/tcp_states.h, which the libraries do not have */

struct peer_pair {
	struct sockaddr_in theirs, ours;
};

struct peer_question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static int peer_pair_of(int socket, struct peer_pair *ret)
{
	socklen_t our_len = sizeof(ret->ours), their_len = sizeof(ret->theirs);

	if (getsockname(socket, (struct sockaddr *)&ret->ours, &our_len) < 0 ||
	    getpeername(socket, (struct sockaddr *)&ret->theirs, &their_len) < 0)
		return -errno;
	return 0;
}

static int peer_read(int netlink, uid_t *ret_uid)
{
	union {
		struct nlmsghdr head;
		char bytes[2048];
	} answer;
	struct inet_diag_msg found;
	ssize_t got = recv(netlink, &answer, sizeof(answer), MSG_DONTWAIT);

	if (got < (ssize_t)NLMSG_LENGTH(sizeof(found)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	memcpy(&found, NLMSG_DATA(&answer.head), sizeof(found));
	if (found.idiag_state != PEER_ESTABLISHED)
		return -ENOTCONN;
	*ret_uid = found.idiag_uid;
	return 0;
}

static int peer_by_diag(const struct peer_pair *pair, uid_t *ret_uid)
{
	struct peer_question question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = AF_INET,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0U,
			  .id = { .idiag_sport = pair->theirs.sin_port,
				  .idiag_dport = pair->ours.sin_port,
				  .idiag_src = { pair->theirs.sin_addr.s_addr },
				  .idiag_dst = { pair->ours.sin_addr.s_addr },
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	auto_close int netlink =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

	if (netlink < 0 ||
	    send(netlink, &question, sizeof(question), 0) != (ssize_t)sizeof(question))
		return -EIO; /* not errno: a short write leaves none */
	return peer_read(netlink, ret_uid);
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

bool web_peer_is_ours(int socket)
{
	struct peer_pair pair;
	uid_t uid = (uid_t)-1; /* nobody's */
	int r;

	/* Without both ends there is nothing to look for, in the table neither. */
	if (peer_pair_of(socket, &pair) < 0)
		return false;
	r = peer_by_diag(&pair, &uid);
	if (r < 0 && r != -ENOTCONN)
		r = peer_by_table(&pair, &uid);
	return r == 0 && (uid == geteuid() || uid == 0);
}
