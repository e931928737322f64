#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

#define LOCK_PAUSE_MS 5

static int write_fresh(const struct replace *what, const void *bytes, size_t len)
{
	auto_close int fd = openat(what->folder, what->fresh,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, bytes, len);

	if (r == 0 && fchmod(fd, what->mode) < 0)
		r = -errno;
	if (r == 0 && what->is_durable && fsync(fd) < 0)
		r = -errno;
	return r;
}

int replace_file(const struct replace *what, const void *bytes, size_t len)
{
	(void)unlinkat(what->folder, what->fresh, 0); /* left by a writer that was killed */
	int r = write_fresh(what, bytes, len);

	if (r == 0 && renameat2(what->folder, what->fresh, what->folder, what->name,
				what->is_new ? RENAME_NOREPLACE : 0) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(what->folder, what->fresh, 0); /* this fails already */
		return r;
	}
	return what->is_durable && fsync(what->folder) < 0 ? -errno : 0;
}

int replace_lock(int fd, int how, int64_t limit_ms)
{
	int64_t until_ms = loop_clock_ms() + limit_ms;

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (loop_clock_ms() >= until_ms)
			return -EWOULDBLOCK;
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 0;
}
