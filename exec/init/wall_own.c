#include "exec/init/sys.h"
#include "exec/init/init.h"
#include "exec/init/wall_impl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>

/* Which sockets are the command's own: those that are bound in its network namespace, which nobody
 * else is in. The kernel lists them with the device and the inode they are bound to. On the host's
 * network a process of the command has to hold the socket, too. */

#define TCP_ESTABLISHED 1 /* states of sock_diag(7) for Unix sockets */
#define TCP_CLOSE       7
#define TCP_LISTEN      10
#define HELD_MAX        65536 /* descriptors that are looked at */
#define DIRENT_NAME     19    /* struct linux_dirent64 */

struct found {
	uint64_t inode; /* of the bound path: the kernel says its low half */
	uint32_t device;
	bool is_own;
	uint32_t socket; /* its number in sockfs */
};

/* As the kernel has it inside, and in its answer. */
static uint32_t device_of(uint64_t given)
{
	uint32_t major = (uint32_t)((given >> 8) & 0xfff),
		 minor = (uint32_t)((given & 0xff) | ((given >> 12) & 0xfff00));

	return major << 20 | minor;
}

static void look_at(const struct nlmsghdr *head, struct found *found)
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
			    bound.udiag_vfs_dev == found->device) {
				found->is_own = true;
				found->socket = message->udiag_ino;
			}
		}
		if (size >= left)
			return;
		left -= size;
		at += size;
	}
}

/* 1: more follows; 0: that was all, or -errno. */
static int look_at_all(struct wall *wall, size_t len, struct found *found)
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

static int list(struct wall *wall, int type, struct found *found)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req what;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			  .nlmsg_seq = ++wall->sequence },
		/* Whoever accepted a connection has the listener's name, too: not of interest. */
		.what = { .sdiag_family = AF_UNIX,
			  .udiag_states = 1U << TCP_CLOSE | 1U << TCP_LISTEN |
					  (type == SOCK_DGRAM ? 1U << TCP_ESTABLISHED : 0),
			  .udiag_show = UDIAG_SHOW_VFS },
	};
	long r = sys(sendto, wall->diag, &request, sizeof(request), MSG_NOSIGNAL, NULL, 0);

	while (r > 0) {
		r = sys(recvfrom, wall->diag, wall->data, sizeof(wall->data), 0, NULL, NULL);
		if (r > 0)
			r = look_at_all(wall, (size_t)r, found);
		if (r == 0)
			return 0;
	}
	return r < 0 ? (int)r : -EBADMSG;
}

/* Some file systems (btrfs) tell stat(2) another device than they have: what is mounted there says
 * which. 0: not known. */
static uint32_t device_of_mount(struct wall *wall, int at)
{
	struct statx what;
	size_t len = 0;
	long n = sys(statx, at, "", AT_EMPTY_PATH, STATX_MNT_ID, &what);
	long fd = n < 0 ? n : sys(openat, AT_FDCWD, "/proc/thread-self/mountinfo", O_RDONLY);

	if (fd < 0 || !(what.stx_mask & STATX_MNT_ID))
		return 0;
	while (len < sizeof(wall->data) - 1) {
		n = sys(read, fd, wall->data + len, sizeof(wall->data) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	(void)sys(close, fd);
	wall->data[len] = '\0';
	/* "ID PARENT MAJOR:MINOR …" */
	for (const char *c = wall->data; *c; c++) {
		uint64_t numbers[4] = { 0 };

		for (int i = 0; i < 4 && *c; i++, c += *c ? 1 : 0)
			for (; *c >= '0' && *c <= '9'; c++)
				numbers[i] = numbers[i] * 10 + (uint64_t)(*c - '0');
		if (numbers[0] == what.stx_mnt_id)
			return (uint32_t)(numbers[2] << 20 | numbers[3]);
		while (*c && *c != '\n')
			c++;
		if (*c == '\0')
			break;
	}
	return 0;
}

/* "socket:[NUMBER]" */
static bool is_socket(const char *link, size_t len, uint32_t number)
{
	static const char head[] = "socket:[";
	uint64_t value = 0;

	if (len < sizeof(head))
		return false;
	for (size_t i = 0; i < sizeof(head) - 1; i++)
		if (link[i] != head[i])
			return false;
	for (size_t i = sizeof(head) - 1; i < len && link[i] >= '0' && link[i] <= '9'; i++)
		value = value * 10 + (uint64_t)(link[i] - '0');
	return value == number;
}

/* Calls @fn for the numbers in a folder of /proc, until it says true. */
static bool each(const char *folder, bool (*fn)(int number, int at, void *arg), void *arg)
{
	_Alignas(8) char room[2048];
	long fd = sys(openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;
	long n = fd < 0 ? fd : 1;

	while (n > 0 && !found) {
		n = sys(getdents64, fd, room, sizeof(room));
		for (long at = 0; at < n && !found;) {
			uint16_t size;
			int number = 0;

			memcpy(&size, room + at + 16, sizeof(size));
			const char *name = room + at + DIRENT_NAME;

			for (; *name >= '0' && *name <= '9'; name++)
				number = number * 10 + (*name - '0');
			if (*name == '\0')
				found = fn(number, (int)fd, arg);
			at += size;
		}
	}
	if (fd >= 0)
		(void)sys(close, fd);
	return found;
}

struct holder {
	uint32_t socket;
	int left;
};

static bool holds(int number, int at, void *arg)
{
	struct holder *holder = arg;
	char name[16], link[64];

	if (holder->left-- <= 0)
		return true;
	wall_task_name(name, "", number, "");
	long n = sys(readlinkat, at, name, link, sizeof(link));

	return n > 0 && is_socket(link, (size_t)n, holder->socket);
}

static bool is_holder(int process, int at, void *arg)
{
	char folder[64];

	(void)at;
	wall_task_name(folder, "/proc/", process, "/fd");
	return each(folder, holds, arg);
}

static bool is_held(uint32_t socket)
{
	struct holder holder = { .socket = socket, .left = HELD_MAX };

	return each("/proc", is_holder, &holder) && holder.left > 0;
}

static bool is_granted(const struct wall *wall, const struct stat *what)
{
	for (size_t i = 0; i < wall->grant_count; i++) {
		const struct wall_grant *grant = &wall->grants[i];
		struct stat now = { .st_dev = grant->device, .st_ino = grant->inode };
		long fd = -1;

		if (grant->path) {
			fd = sys(openat, AT_FDCWD, grant->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
			if (fd < 0 || sys(fstat, fd, &now) < 0)
				now.st_ino = 0;
			if (fd >= 0)
				(void)sys(close, fd);
		}
		if (now.st_ino == what->st_ino && now.st_dev == what->st_dev)
			return true;
	}
	return false;
}

/* Is it bound at all? Asked by a socket of the datagram kind, of which the other end sees nothing,
 * and which is of the wrong kind for all others. */
static bool is_alive(int at)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	long fd = sys(socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	wall_task_name(name.sun_path, "/proc/thread-self/fd/", at, "");
	long r = sys(connect, fd, &name, sizeof(name));

	(void)sys(close, fd);
	return r != -ECONNREFUSED;
}

int wall_own_judge(struct wall *wall, int at, const struct stat *what, int type)
{
	struct found found = { .inode = what->st_ino, .device = device_of(what->st_dev) };

	if (is_granted(wall, what))
		return 0;
	int r = list(wall, type, &found);

	if (r == 0 && !found.is_own && found.device >> 20 == 0) {
		uint32_t device = device_of_mount(wall, at);

		if (device != 0 && device != found.device) {
			found.device = device;
			r = list(wall, type, &found);
		}
	}
	/* More of the number than the kernel tells: it may be another's. */
	bool is_own = r == 0 && found.is_own && what->st_ino >> 32 == 0;

	if (is_own && !wall->has_network)
		is_own = is_held(found.socket);
	return is_own ? 0 : is_alive(at) ? -EACCES : -ECONNREFUSED;
}

int wall_own_init(struct wall *wall)
{
	char **grants = wall->init->plan.lists[WIRE_GRANTED];

	for (size_t i = 0; grants[i] && i < WALL_GRANTS_MAX; i++) {
		struct wall_grant *grant = &wall->grants[wall->grant_count];
		struct stat what;
		/* Kept open, so that nothing else gets its number. */
		long fd = sys(openat, AT_FDCWD, grants[i] + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0 || sys(fstat, fd, &what) < 0)
			continue; /* gone meanwhile */
		grant->device = what.st_dev;
		grant->inode = what.st_ino;
		grant->path = grants[i][0] == WIRE_GRANT_NAME ? grants[i] + 1 : NULL;
		wall->grant_count++;
	}
	long fd = sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	wall->diag = (int)fd;
	return fd < 0 ? (int)fd : 0;
}
