#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>

#define TCP_ESTABLISHED 1 /* socket states of sock_diag(7), for Unix sockets */
#define TCP_CLOSE       7
#define TCP_LISTEN      10

static void note(struct wall_found *found, const struct unix_diag_msg *message)
{
	if (found->count < WALL_FOUND_MAX)
		found->list[found->count++] = message->udiag_ino;
}

static void look_at(const struct nlmsghdr *head, struct wall_found *found)
{
	const struct unix_diag_msg *message = (const void *)(head + 1);
	size_t left = head->nlmsg_len - sizeof(*head);

	if (left < sizeof(*message))
		return;
	left -= NLMSG_ALIGN(sizeof(*message));
	const char *at = (const char *)message + NLMSG_ALIGN(sizeof(*message));

	while (left >= sizeof(struct nlattr)) {
		const struct nlattr *attribute = (const void *)at;
		size_t size = NLA_ALIGN(attribute->nla_len);
		struct unix_diag_vfs bound;

		if (attribute->nla_len < sizeof(*attribute) || attribute->nla_len > left)
			return;
		if (attribute->nla_type == UNIX_DIAG_VFS &&
		    attribute->nla_len >= NLA_HDRLEN + sizeof(bound)) {
			memcpy(&bound, at + NLA_HDRLEN, sizeof(bound));
			if (bound.udiag_vfs_ino == (uint32_t)found->inode &&
			    bound.udiag_vfs_dev == found->device)
				note(found, message);
		}
		if (size >= left)
			return;
		left -= size;
		at += size;
	}
}

/* 1: more messages follow; 0: that was the last, or -errno. */
static int look_at_all(struct wall *wall, size_t len, struct wall_found *found)
{
	const char *at = wall->data;

	while (len >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *head = (const void *)at;
		size_t size = NLMSG_ALIGN(head->nlmsg_len);

		if (head->nlmsg_len < sizeof(*head) || head->nlmsg_len > len)
			return -EBADMSG;
		if (head->nlmsg_seq == wall->sequence) {
			if (head->nlmsg_type == NLMSG_DONE)
				return 0;
			if (head->nlmsg_type == NLMSG_ERROR)
				return -EBADMSG;
			look_at(head, found);
		}
		if (size >= len)
			break;
		len -= size;
		at += size;
	}
	return 1;
}

int wall_diag_list(struct wall *wall, int type, struct wall_found *found)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req what;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			  .nlmsg_seq = ++wall->sequence },
		.what = { .sdiag_family = AF_UNIX,
			  /* An accepted connection has the listener's name as well; it is not
			   * needed. */
			  .udiag_states = 1U << TCP_CLOSE | 1U << TCP_LISTEN |
					  (type == SOCK_DGRAM ? 1U << TCP_ESTABLISHED : 0),
			  .udiag_show = UDIAG_SHOW_VFS },
	};
	long r = sys(sendto, wall->diag, &request, sizeof(request), MSG_NOSIGNAL, NULL, 0);

	found->count = 0;
	while (r > 0) {
		r = sys(recvfrom, wall->diag, wall->data, sizeof(wall->data), 0, NULL, NULL);
		if (r > 0)
			r = look_at_all(wall, (size_t)r, found);
		if (r == 0)
			return 0;
	}
	return r < 0 ? (int)r : -EBADMSG;
}
