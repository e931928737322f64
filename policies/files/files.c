#include "policies/files/files_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"

#define FILES_LOCK_MS 5000 /* another writer needs a few */
#define FILES_OTHERS  (S_IWGRP | S_IWOTH)

int files_open_folder(const char *path, const char **ret_name, struct err *why)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder = NULL;

	if (!slash)
		folder = mem_strdup(".");
	else
		folder = mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(why, errno, "cannot open the folder");
	*ret_name = slash ? slash + 1 : path;
	return fd;
}

/* For kernels and seccomp filters without openat2(2): refuses every symbolic link. */
static int files_open_walking(int folder, const char *name, int flags)
{
	auto_close int at = fcntl(folder, F_DUPFD_CLOEXEC, 3);

	while (at >= 0) {
		size_t len = strcspn(name, "/");
		auto_free char *part = mem_strndup(name, len);
		bool is_last = name[len + strspn(name + len, "/")] == '\0';

		if (strcmp(part, "..") == 0)
			return -EXDEV;
		int next =
			openat(at, part[0] ? part : ".",
			       O_NOFOLLOW | O_CLOEXEC | (is_last ? flags : O_RDONLY | O_DIRECTORY));

		if (next < 0 || is_last)
			return next < 0 ? -errno : next;
		fd_close(at);
		at = next;
		name += len + strspn(name + len, "/");
	}
	return -errno;
}

int files_open_below(int folder, const char *name, int flags, struct err *why)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, folder, name, &how, sizeof(how));

	if (fd < 0)
		fd = -errno;
	if (fd == -ENOSYS || fd == -EPERM)
		fd = files_open_walking(folder, name, flags);
	if (fd == -EXDEV)
		return err_set(why, -EXDEV, "cannot open it: the path leads outside of its folder");
	if (fd == -ELOOP)
		return err_set(why, -ELOOP,
			       "cannot open it: it is a symbolic link, which may not be followed");
	if (fd < 0)
		return err_errno(why, (int)-fd, "cannot open");
	return (int)fd;
}

static int files_check_owner(const struct stat *status, const char *what, struct err *why)
{
	if (status->st_uid != geteuid() && status->st_uid != 0)
		return err_set(why, -EPERM, "%s belongs to another user (uid %u)", what,
			       status->st_uid);
	return 0;
}

int files_check_file(int fd, struct stat *ret, struct err *why)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot read its attributes");
	if (!S_ISREG(status.st_mode))
		return err_set(why, -EINVAL, "it is not a regular file");
	if (status.st_mode & FILES_OTHERS)
		return err_set(why, -EPERM, "other users can write it (mode %03o); run chmod go-w",
			       status.st_mode & 0777);
	*ret = status;
	return files_check_owner(&status, "it", why);
}

int files_check_folder(int fd, struct err *why)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot read the attributes of its folder");
	/* In a sticky folder (as /tmp) others can add files, but cannot replace ours. */
	if (status.st_mode & FILES_OTHERS && !(status.st_mode & S_ISVTX))
		return err_set(why, -EPERM,
			       "other users can write its folder (mode %03o); run chmod go-w",
			       status.st_mode & 0777);
	return files_check_owner(&status, "its folder", why);
}

int files_lock(int folder, struct err *why)
{
	int r = replace_lock(folder, LOCK_EX, FILES_LOCK_MS);

	if (r == -EWOULDBLOCK)
		return err_set(why, -EAGAIN, "another program holds the lock on the folder");
	return r < 0 ? err_errno(why, -r, "cannot lock the folder") : 0;
}
