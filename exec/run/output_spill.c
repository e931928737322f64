#include "exec/run/output_spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Refuses a directory that others may enter: they could create files with our names, or read
 * ours. */
static int open_dir(const char *path)
{
	struct stat what;
	auto_close int dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 || fstat(dir, &what) < 0)
		return -errno;
	if (what.st_uid != geteuid() || (what.st_mode & 077) != 0)
		return -EPERM;
	return fd_take(&dir);
}

static int open_file(const struct output_spill *spill, int dir)
{
	char name[NAME_MAX + 1];
	int len, fd;

	if (!spill->name) {
		fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		return fd < 0 ? -errno : fd;
	}
	len = snprintf(name, sizeof(name), "%s.%s", spill->name, spill->suffix);
	if (len < 0 || (size_t)len >= sizeof(name))
		return -ENAMETOOLONG;
	for (const char *c = name; *c; c++)
		if (*c == '/')
			return -EINVAL;
	fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, so the limit is applied here. */
static void apply_rlimit(struct output_spill *spill)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < spill->max)
		spill->max = limit.rlim_cur;
}

static int make(struct output_spill *spill)
{
	auto_close int dir = open_dir(spill->dir);

	if (dir < 0)
		return dir;
	int fd = open_file(spill, dir);

	if (fd < 0)
		return fd;
	spill->fd = fd;
	apply_rlimit(spill);
	return 0;
}

void output_spill_add(struct output_spill *spill, const char *bytes, size_t len)
{
	if (!spill->dir || spill->error)
		return;
	if (spill->fd < 0) {
		spill->error = make(spill);
		if (spill->error)
			return;
	}
	while (len > 0 && !spill->error) {
		uint64_t left = spill->max - spill->bytes;
		ssize_t n = left > 0 ? write(spill->fd, bytes, len < left ? len : left) : 0;

		if (n > 0) {
			spill->bytes += (size_t)n;
			bytes += n;
			len -= (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			spill->error = n == 0 ? -EFBIG : -errno;
		}
	}
}

void output_spill_done(struct output_spill *spill)
{
	fd_close(spill->fd);
	spill->fd = -1;
}
