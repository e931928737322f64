#include "base/net/local.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

static int address_of(int dir_fd, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int len =
		snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", dir_fd, name);

	return len < (int)sizeof(ret->sun_path) ? 0 : -ENAMETOOLONG;
}

/* The mode of the socket becomes the mode of its name. */
static int bind_and_listen(int fd, const struct sockaddr_un *address, int backlog)
{
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
	    listen(fd, backlog) < 0)
		return -errno;
	return 0;
}

int local_listen(int dir_fd, const char *name, int type, int backlog, bool is_new)
{
	auto_close int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	char hidden[32];

	if (fd < 0)
		return -errno;
	(void)snprintf(hidden, sizeof(hidden), ".%d.new", (int)getpid());
	int r = address_of(dir_fd, hidden, &address);

	(void)unlinkat(dir_fd, hidden,
		       0); /* left by a process that had our number and was killed */
	if (r == 0)
		r = bind_and_listen(fd, &address, backlog);
	if (r == 0 && renameat2(dir_fd, hidden, dir_fd, name, is_new ? RENAME_NOREPLACE : 0) < 0)
		r = -errno;
	if (r == 0)
		return fd_take(&fd);
	(void)unlinkat(dir_fd, hidden, 0); /* this fails already */
	return r;
}

int local_connect(int dir_fd, const char *name, int type, int limit_ms)
{
	struct timeval limit = { .tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000 };
	auto_close int fd =
		socket(AF_UNIX, type | SOCK_CLOEXEC | (limit_ms == 0 ? SOCK_NONBLOCK : 0), 0);
	struct sockaddr_un address;
	int r = fd < 0 ? -errno : address_of(dir_fd, name, &address);

	if (r < 0)
		return r;
	if (limit_ms > 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
			     setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0))
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return fd_take(&fd);
}
