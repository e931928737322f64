#include "exec/init/sys.h"
#include "exec/init/init.h"
#include "exec/init/wall_impl.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "exec/exec_egress.h"

/* The command's own sockets are those that are bound in its network namespace, which has no other
 * processes. The kernel lists them with the device and the inode they are bound to. On the host's
 * network a process of the command must have the socket open, too. */

#define HELD_MAX    65536 /* descriptors that are checked */
#define DIRENT_NAME 19    /* struct linux_dirent64 */
#define EXT4_MAGIC  0xef53
#define TMPFS_MAGIC 0x01021994
#define BTRFS_MAGIC 0x9123683e
#define XFS_MAGIC   0x58465342
#define OVER_MAGIC  0x794c7630 /* overlayfs */

#ifndef SIOCUNIXFILE
#define SIOCUNIXFILE 0x89e0 /* Linux 4.12: opens the file that a socket is bound to */
#endif

/* Converts a device number to the kernel's internal form, which its answer has. */
static uint32_t device_of(uint64_t given)
{
	uint32_t major = (uint32_t)((given >> 8) & 0xfff),
		 minor = (uint32_t)((given & 0xff) | ((given >> 12) & 0xfff00));

	return major << 20 | minor;
}

/* Some file systems (btrfs) return another device in stat(2) than their own: the mount table has
 * the right one. 0: not known. */
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

/* Calls @fn for each number that is a name in a folder of /proc, until it returns true. */
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
	int left, process, fd;
};

static bool holds(int number, int at, void *arg)
{
	struct holder *holder = arg;
	char name[16], link[64];

	if (holder->left-- <= 0)
		return true;
	wall_task_name(name, "", number, "");
	long n = sys(readlinkat, at, name, link, sizeof(link));

	holder->fd = number;
	return n > 0 && is_socket(link, (size_t)n, holder->socket);
}

static bool is_holder(int process, int at, void *arg)
{
	struct holder *holder = arg;
	char folder[64];

	(void)at;
	holder->process = process;
	wall_task_name(folder, "/proc/", process, "/fd");
	return each(folder, holds, arg);
}

static bool find_holder(uint32_t socket, struct holder *ret)
{
	*ret = (struct holder){ .socket = socket, .left = HELD_MAX };
	return each("/proc", is_holder, ret) && ret->left > 0;
}

/* A copy of @socket from the process inside that has it. That process may have another file at this
 * number by now. -1: it cannot be copied. */
static long copy_of(const struct wall *wall, uint32_t socket)
{
	struct holder holder;
	uint64_t cookie = 0;
	uint32_t len = sizeof(cookie);
	struct stat what;

	if (!find_holder(socket, &holder))
		return -1;
	long pidfd = sys(pidfd_open, holder.process, 0);
	long fd = pidfd < 0 ? pidfd : sys(pidfd_getfd, pidfd, holder.fd, 0);

	if (pidfd >= 0)
		(void)sys(close, pidfd);
	if (fd < 0)
		return -1;
	if (sys(fstat, fd, &what) == 0 && (uint32_t)what.st_ino == socket &&
	    sys(getsockopt, fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 &&
	    cookie == wall->cookie)
		return fd;
	(void)sys(close, fd);
	return -1;
}

/* The kernel's list has the lower half of an inode number; the socket itself refers to the file. To
 * ask it needs a capability in its network namespace, which the wall enables for this moment. */
static bool is_bound_to(const struct wall *wall, uint32_t socket, const struct stat *what)
{
	long fd = copy_of(wall, socket), file = -1;
	struct stat bound;
	bool is_it = false;

	if (fd < 0)
		return false;
	if (wall_task_caps(WALL_CAP_BOUND))
		file = sys(ioctl, fd, SIOCUNIXFILE, 0);
	(void)wall_task_caps(0);
	if (file >= 0) {
		is_it = sys(fstat, file, &bound) == 0 && bound.st_dev == what->st_dev &&
			bound.st_ino == what->st_ino;
		(void)sys(close, file);
	}
	(void)sys(close, fd);
	return is_it;
}

/* Inode numbers of this file system have 32 bits: the kernel's list has all of them. */
static bool has_short_numbers(int at)
{
	struct statfs fs;

	return sys(fstatfs, at, &fs) == 0 && fs.f_type == EXT4_MAGIC;
}

/* Inode numbers of these are assigned in order: it would take four thousand million files to get a
 * number with a given lower half. */
static bool has_numbers_in_turn(int at)
{
	struct statfs fs;

	return sys(fstatfs, at, &fs) == 0 &&
	       (fs.f_type == EXT4_MAGIC || fs.f_type == TMPFS_MAGIC || fs.f_type == BTRFS_MAGIC);
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

/* Is any socket bound to it? Tested by connecting a datagram socket: the other side does not
 * notice, and all other types refuse it as the wrong type. */
static bool is_alive(int at)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	long fd = sys(socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	wall_task_name(name.sun_path, "", at, "");
	long r = sys(connect, fd, &name, sizeof(name));

	(void)sys(close, fd);
	return r != -ECONNREFUSED;
}

static bool is_known(const struct wall *wall, const struct stat *what)
{
	for (size_t i = 0; i < WALL_KNOWN_MAX; i++) {
		const struct wall_known *known = &wall->known[i];

		if (known->fd > 0 && known->device == what->st_dev && known->inode == what->st_ino)
			return true;
	}
	return false;
}

/* Only on file systems of this machine: a server may use a number again while we have its file
 * open. */
static void remember(struct wall *wall, int at, const struct stat *what)
{
	struct wall_known *known = &wall->known[wall->known_next % WALL_KNOWN_MAX];
	struct statfs fs;

	if (!has_numbers_in_turn(at) &&
	    (sys(fstatfs, at, &fs) < 0 || (fs.f_type != XFS_MAGIC && fs.f_type != OVER_MAGIC)))
		return;
	long fd = sys(fcntl, at, F_DUPFD_CLOEXEC, 1);

	if (fd < 0)
		return;
	if (known->fd > 0)
		(void)sys(close, known->fd);
	*known = (struct wall_known){ what->st_dev, what->st_ino, (int)fd };
	wall->known_next++;
}

/* Is one of the candidates really the one? */
static bool is_any_own(struct wall *wall, int at, const struct stat *what,
		       const struct wall_found *found)
{
	struct holder holder;
	bool is_sure = wall->has_network && has_short_numbers(at);

	for (size_t i = 0; i < found->count; i++) {
		uint32_t socket = found->list[i];

		if (!wall->has_network) {
			/* Only the owner of the network namespace may ask what a socket is bound
			 * to. */
			if (what->st_ino >> 32 == 0 && has_numbers_in_turn(at) &&
			    find_holder(socket, &holder))
				return true;
		} else if (is_sure || is_bound_to(wall, socket, what)) {
			remember(wall, at, what);
			return true;
		}
	}
	return false;
}

int wall_own_judge(struct wall *wall, int at, const struct stat *what, int type)
{
	struct wall_found found = { .inode = what->st_ino, .device = device_of(what->st_dev) };

	if (is_granted(wall, what) || (wall->has_network && is_known(wall, what)))
		return 0;
	int r = wall_diag_list(wall, type, &found);

	if (r == 0 && found.count == 0 && found.device >> 20 == 0) {
		uint32_t device = device_of_mount(wall, at);

		if (device != 0 && device != found.device) {
			found.device = device;
			r = wall_diag_list(wall, type, &found);
		}
	}
	if (r == 0 && is_any_own(wall, at, what, &found))
		return 0;
	return is_alive(at) ? -EACCES : -ECONNREFUSED;
}

/* Keeps the file open, so that its inode number is not reused. */
static void add_grant(struct wall *wall, const char *path, bool is_by_name)
{
	struct wall_grant *grant = &wall->grants[wall->grant_count];
	struct stat what;
	long fd = sys(openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || sys(fstat, fd, &what) < 0)
		return; /* gone by now */
	grant->device = what.st_dev;
	grant->inode = what.st_ino;
	grant->path = is_by_name ? path : NULL;
	wall->grant_count++;
}

int wall_own_init(struct wall *wall)
{
	char **grants = wall->init->plan.lists[WIRE_GRANTED];

	/* The worker has it open, so no process inside does. */
	if (wall->init->plan.head->flags & WIRE_DOOR)
		add_grant(wall, EXEC_DOOR, false);
	for (size_t i = 0; grants[i] && wall->grant_count < WALL_GRANTS_MAX; i++)
		add_grant(wall, grants[i] + 1, grants[i][0] == WIRE_GRANT_NAME);
	long fd = sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	wall->diag = (int)fd;
	return fd < 0 ? (int)fd : 0;
}
