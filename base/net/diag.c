#include "base/net/diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* A late reply to an earlier query may still be queued. */
static void drain(int netlink)
{
	char bytes[64];

	while (recv(netlink, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0 || errno == EINTR)
		;
}

static void set_end(const struct sockaddr *end, __be16 *ret_port, __be32 ret_addr[4])
{
	const struct sockaddr_in *v4 = (const void *)end;
	const struct sockaddr_in6 *v6 = (const void *)end;
	bool is_v4 = end->sa_family == AF_INET;

	*ret_port = is_v4 ? v4->sin_port : v6->sin6_port;
	memcpy(ret_addr, is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr,
	       is_v4 ? sizeof(v4->sin_addr) : sizeof(v6->sin6_addr));
}

static int ask(int netlink, const struct inet_diag_sockid *id, int family)
{
	const struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (uint8_t)family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0U,
			  .id = *id },
	};
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n = sendto(netlink, &request, sizeof(request), MSG_DONTWAIT,
			   (const struct sockaddr *)&kernel, sizeof(kernel));

	return n == (ssize_t)sizeof(request) ? 0 : n < 0 ? -errno : -EIO;
}

static int hear(int netlink, struct inet_diag_msg *ret)
{
	union {
		struct nlmsghdr head;
		char bytes[2048];
	} answer;
	ssize_t n = recv(netlink, &answer, sizeof(answer), MSG_DONTWAIT);
	struct nlmsgerr error;

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(answer.head) || answer.head.nlmsg_len > (size_t)n)
		return -EBADMSG;
	if (answer.head.nlmsg_type == NLMSG_ERROR &&
	    answer.head.nlmsg_len >= NLMSG_LENGTH(sizeof(error))) {
		memcpy(&error, NLMSG_DATA(&answer.head), sizeof(error));
		return error.error == -ENOENT ? -ESRCH : error.error < 0 ? error.error : -EIO;
	}
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*ret)))
		return -EBADMSG;
	memcpy(ret, NLMSG_DATA(&answer.head), sizeof(*ret));
	return 0;
}

int diag_tcp(int netlink, const struct sockaddr *theirs, const struct sockaddr *ours,
	     struct inet_diag_msg *ret)
{
	struct inet_diag_sockid id = { .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };

	set_end(theirs, &id.idiag_sport, id.idiag_src);
	set_end(ours, &id.idiag_dport, id.idiag_dst);
	drain(netlink);
	int r = ask(netlink, &id, theirs->sa_family);

	if (r == 0)
		r = hear(netlink, ret);
	return r == 0 && ret->id.idiag_sport != id.idiag_sport ? -EBADMSG : r;
}
