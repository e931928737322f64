#include "cli/approve/approve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/replace.h"

#define LOCK_FILES_MAX 256 /* checked in one cleanup */
#define LOCK_MS        5000

/* A file that can be locked belongs to a watcher that has ended, and is removed. A process that is
 * about to lock its new file detects the removal: see lock_try(). */
static void lock_tidy(int folder_fd)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir)
		return fd_close(fd);
	for (int i = 0; i < LOCK_FILES_MAX && (entry = readdir(dir)); i++) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
			continue;
		auto_close int file =
			openat(folder_fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(folder_fd, entry->d_name, 0); /* may be gone already */
	}
	(void)closedir(dir); /* was only read */
}

/* -ESTALE: the file was removed before it was locked. */
static int lock_try(int folder_fd, const char *name, struct err *why)
{
	auto_close int fd =
		openat(folder_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat mine, there;

	if (fd < 0)
		return err_errno(why, errno, "cannot make the watcher's file");
	int r = replace_lock(fd, LOCK_EX, LOCK_MS);

	if (r < 0)
		return err_errno(why, -r, "cannot lock the watcher's file");
	if (fstat(fd, &mine) < 0)
		return err_errno(why, errno, "cannot read the attributes of the watcher's file");
	if (fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
		return err_set(why, -ESTALE, "the watcher's file was removed");
	return fd_take(&fd);
}

static int lock_folder(int dir_fd, struct err *why)
{
	if (mkdirat(dir_fd, "watchers", 0700) < 0 && errno != EEXIST)
		return err_errno(why, errno, "cannot make the folder of watchers");
	int fd = openat(dir_fd, "watchers", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_errno(why, errno, "cannot open the folder of watchers") : fd;
}

int approve_lock_take(int dir_fd, struct err *why)
{
	auto_close int folder_fd = lock_folder(dir_fd, why);
	char name[16];
	int r = -ESTALE;

	if (folder_fd < 0)
		return folder_fd;
	lock_tidy(folder_fd);
	(void)snprintf(name, sizeof(name), "%d", (int)getpid());
	for (int i = 0; i < 8 && r == -ESTALE; i++)
		r = lock_try(folder_fd, name, why);
	return r;
}

void approve_lock_drop(int dir_fd, int lock_fd)
{
	char name[32];

	if (lock_fd < 0)
		return;
	(void)snprintf(name, sizeof(name), "watchers/%d", (int)getpid());
	(void)unlinkat(dir_fd, name, 0); /* a later watcher removes it */
	fd_close(lock_fd);
}
