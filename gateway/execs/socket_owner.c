#include "gateway/execs/socket_owner.h"
#include "gateway/execs/socket_owner_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inside_net.h"
#include "base/mem.h"
#include "base/net/diag.h"
#include "base/text.h"

#define WHO_NAME_MAX  16 /* TASK_COMM_LEN */
#define WHO_DEPTH_MAX 64
#define WHO_STAT_MAX  512 /* of /proc/PID/stat, enough for the parent */

static struct socket_owner_file socket_owner_file_of(const struct statx *info)
{
	return (struct socket_owner_file){ makedev(info->stx_dev_major, info->stx_dev_minor),
					   info->stx_ino, info->stx_ctime.tv_sec,
					   info->stx_ctime.tv_nsec };
}

struct socket_owner *socket_owner_new(pid_t init, int sockets)
{
	struct socket_owner *who = mem_new(sizeof(*who));

	who->init = init;
	who->sockets = sockets;
	who->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC); /* -1: every search fails */
	return who;
}

void socket_owner_free(struct socket_owner *who)
{
	if (!who)
		return;
	fd_close(who->sockets);
	fd_close(who->proc);
	free(who);
}

/* Where the connection of @want begins, and where it leads. */
static void ends_of(const struct socket_owner_want *want, struct addr *ret_from,
		    struct addr *ret_to)
{
	static const struct addr loopback = { AF_INET, { 127, 0, 0, 1 } };
	static const struct addr own_4 = { AF_INET, INSIDE_NET_OWN_4 };
	static const struct addr own_6 = { AF_INET6, INSIDE_NET_OWN_6 };

	*ret_from = *ret_to = loopback;
	if (want->reached.family == 0)
		return;
	*ret_from = want->reached.family == AF_INET ? own_4 : own_6;
	*ret_to = want->reached;
}

int socket_owner_inode(const struct socket_owner *who, const struct socket_owner_want *want,
		       uint32_t *ret_inode)
{
	struct sockaddr_storage theirs, ours;
	struct inet_diag_msg found;
	struct addr from, to;

	ends_of(want, &from, &to);
	(void)addr_to_sockaddr(&from, want->peer_port, &theirs);
	(void)addr_to_sockaddr(&to, want->port, &ours);
	int r = diag_tcp(who->sockets, (const struct sockaddr *)&theirs,
			 (const struct sockaddr *)&ours, &found);

	if (r < 0)
		return r;
	*ret_inode = found.idiag_inode;
	return found.idiag_inode != 0 ? 0 : -ESRCH; /* closed: no process holds it */
}

int socket_owner_stat(const struct socket_owner *who, pid_t pid, struct socket_owner_file *ret)
{
	char path[32];
	struct statx info;

	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	if (statx(who->proc, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_CTIME, &info) < 0)
		return -errno;
	*ret = socket_owner_file_of(&info);
	return 0;
}

/* Opens the path as the host sees it, using only what the kernel has cached: a file system with an
 * unresponsive server would block the loop, so files on it count as not known. */
static int socket_owner_look(const char *path, struct socket_owner_file *ret)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS };
	struct statx info;
	int fd = -1;

	/* The kernel also returns EAGAIN if something was renamed meanwhile. */
	for (int tries = 0; fd < 0 && tries < 3; tries++)
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	int r = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_CTIME, &info);

	fd_close(fd);
	if (r < 0)
		return -EIO;
	*ret = socket_owner_file_of(&info);
	return 0;
}

void socket_owner_program(const struct socket_owner *who, pid_t pid,
			  const struct socket_owner_file *runs, struct socket_owner_found *ret)
{
	char *out = ret->program;
	char path[32];
	struct socket_owner_file here = { 0 };

	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	ssize_t n = readlinkat(who->proc, path, out, SOCKET_OWNER_PROGRAM_MAX - 1);

	if (n <= 0 || n == SOCKET_OWNER_PROGRAM_MAX - 1) {
		out[0] = '\0';
		return;
	}
	out[n] = '\0';
	if (out[0] != '/' || socket_owner_look(out, &here) < 0 || here.device != runs->device ||
	    here.inode != runs->inode) {
		out[0] = '\0';
		return;
	}
	ret->file = here;
}

/* Reads its name, visible, and its parent. proc(5): "12 (name) S 1 ..."; the name may contain any
 * character. */
static pid_t socket_owner_read_parent(const struct socket_owner *who, pid_t pid,
				      char out[WHO_NAME_MAX * 4 + 1])
{
	char path[32], text[WHO_STAT_MAX];

	(void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
	auto_close int fd = openat(who->proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t parent;

	if (!name || !end || end < name || strlen(end) < 5)
		return -1;
	(void)text_visible(out, WHO_NAME_MAX * 4 + 1, name + 1, (size_t)(end - name - 1));
	if (text_to_u64(end + 4, strcspn(end + 4, " "), INT32_MAX, &parent) < 0)
		return -1;
	return (pid_t)parent;
}

void socket_owner_chain(const struct socket_owner *who, pid_t pid, char out[SOCKET_OWNER_CHAIN_MAX])
{
	char chain[SOCKET_OWNER_CHAIN_MAX];

	out[0] = '\0';
	for (unsigned int depth = 0; depth < WHO_DEPTH_MAX && pid > 0 && pid != who->init;
	     depth++) {
		char name[WHO_NAME_MAX * 4 + 1];

		pid = socket_owner_read_parent(who, pid, name);
		if (pid <= 0) {
			out[0] = '\0'; /* it has ended, and the pid may be another process's now */
			return;
		}
		int n = snprintf(chain, sizeof(chain), "%s%s%s", name, out[0] ? " > " : "", out);

		if (n < 0 || n >= SOCKET_OWNER_CHAIN_MAX)
			return;
		memcpy(out, chain, (size_t)n + 1);
	}
}

void socket_owner_file_text(const struct socket_owner_file *file,
			    char out[SOCKET_OWNER_FILE_TEXT_MAX])
{
	static const struct socket_owner_file unknown;

	out[0] = '\0';
	if (!socket_owner_file_equal(file, &unknown))
		(void)snprintf(out, SOCKET_OWNER_FILE_TEXT_MAX,
			       "%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64, file->device,
			       file->inode, file->changed_s, file->changed_ns);
}

int socket_owner_file_read(const char *text, struct socket_owner_file *ret)
{
	uint64_t values[4] = { 0 };
	size_t count = 0;

	*ret = (struct socket_owner_file){ 0 };
	if (!*text)
		return 0;
	for (const char *at = text; count < ARRAY_SIZE(values); count++) {
		size_t len = strcspn(at, ":");
		uint64_t most = count < 2 ? UINT64_MAX : INT64_MAX;

		if (text_to_u64(at, len, most, &values[count]) < 0)
			return -EINVAL;
		if ((at[len] == ':') != (count + 1 < ARRAY_SIZE(values)))
			return -EINVAL;
		at += len + 1; /* beyond the end only when the loop ends */
	}
	*ret = (struct socket_owner_file){ values[0], values[1], (int64_t)values[2],
					   (int64_t)values[3] };
	return 0;
}
