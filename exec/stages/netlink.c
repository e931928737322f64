#include "exec/stages/netlink.h"

#include "exec/init/sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

/* Returns @size zeroed bytes at the end, NULL: they do not fit. */
static void *grow(struct netlink_batch *batch, size_t size)
{
	size_t room = NLMSG_ALIGN(size);
	char *at = batch->bytes + batch->len;

	if (room > sizeof(batch->bytes) - batch->len) {
		batch->error = -ENOBUFS;
		return NULL;
	}
	memset(at, 0, room);
	batch->len += room;
	if (batch->sent > 0) {
		struct nlmsghdr *head = (void *)(batch->bytes + batch->message);

		head->nlmsg_len = (uint32_t)(batch->len - batch->message);
	}
	return at;
}

void netlink_add(struct netlink_batch *batch, uint16_t type, uint16_t flags, const void *body,
		 size_t size)
{
	batch->message = batch->len;
	batch->sent++;

	struct nlmsghdr *head = grow(batch, NLMSG_LENGTH(size));

	if (!head)
		return;
	head->nlmsg_type = type;
	head->nlmsg_flags = NLM_F_REQUEST | flags;
	head->nlmsg_seq = batch->sent;
	memcpy(NLMSG_DATA(head), body, size);
}

/* Where the value goes; NULL: it does not fit. */
static void *put_head(struct netlink_batch *batch, uint16_t type, size_t size)
{
	struct nlattr *attribute = grow(batch, NLA_HDRLEN + size);

	if (!attribute)
		return NULL;
	attribute->nla_type = type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + size);
	return (char *)attribute + NLA_HDRLEN;
}

void netlink_put(struct netlink_batch *batch, uint16_t type, const void *value, size_t size)
{
	void *at = put_head(batch, type, size);

	if (at)
		memcpy(at, value, size);
}

void netlink_put_u32(struct netlink_batch *batch, uint16_t type, uint32_t value)
{
	uint32_t wire = htonl(value);

	netlink_put(batch, type, &wire, sizeof(wire));
}

void netlink_put_text(struct netlink_batch *batch, uint16_t type, const char *text)
{
	netlink_put(batch, type, text, sys_length(text) + 1);
}

size_t netlink_begin(struct netlink_batch *batch, uint16_t type)
{
	size_t begun = batch->len;

	(void)put_head(batch, type | NLA_F_NESTED, 0);
	return begun;
}

void netlink_end(struct netlink_batch *batch, size_t begun)
{
	struct nlattr *attribute = (void *)(batch->bytes + begun);

	if (batch->error == 0)
		attribute->nla_len = (uint16_t)(batch->len - begun);
}

/* Reads answers until the one to message @last, or an error. */
static int hear(int fd, uint32_t last)
{
	for (;;) {
		_Alignas(8) char bytes[NETLINK_BYTES];
		long n = sys(recvfrom, fd, bytes, sizeof(bytes), 0, NULL, NULL);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		for (size_t at = 0; at + NLMSG_LENGTH(sizeof(struct nlmsgerr)) <= (size_t)n;) {
			const struct nlmsghdr *head = (const void *)(bytes + at);
			const struct nlmsgerr *answer = NLMSG_DATA(head);

			if (head->nlmsg_type != NLMSG_ERROR ||
			    head->nlmsg_len < NLMSG_LENGTH(sizeof(*answer)))
				return -EBADMSG;
			if (answer->error != 0 || head->nlmsg_seq == last)
				return answer->error;
			at += NLMSG_ALIGN(head->nlmsg_len);
		}
	}
}

int netlink_send(struct netlink_batch *batch, int protocol)
{
	long fd = batch->error ? batch->error
			       : sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return (int)fd;
	long r = sys(sendto, fd, batch->bytes, batch->len, 0, NULL, 0);

	if (r >= 0)
		r = hear((int)fd, batch->sent);
	(void)sys(close, fd);
	return (int)r;
}
