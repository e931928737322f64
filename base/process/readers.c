#include "base/process/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define LOOKS_MAX 4096 /* descriptors: the command may have many processes */

/* "pipe:[INODE]", or the path of a named one. */
struct readers {
	char pipe[PATH_MAX];
	unsigned int looks;
};

/* The file behind a link is not asked: its file system may be one that does not answer. */
static bool readers_link(int folder, const char *name, char ret[PATH_MAX])
{
	ssize_t len = readlinkat(folder, name, ret, PATH_MAX - 1);

	ret[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* The mode of a link in /proc/PID/fd says whether it is open for reading. */
static bool readers_has(struct readers *readers, int folder, const char *name)
{
	char target[PATH_MAX];
	struct stat link;

	return ++readers->looks > LOOKS_MAX ||
	       (fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
		(link.st_mode & S_IRUSR) && readers_link(folder, name, target) &&
		strcmp(target, readers->pipe) == 0);
}

static bool readers_is_one(struct readers *readers, int pid)
{
	char path[64];
	bool is_one = false;
	const struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *folder = opendir(path);

	while (folder && !is_one && (entry = readdir(folder)) != NULL)
		is_one = entry->d_name[0] != '.' &&
			 readers_has(readers, dirfd(folder), entry->d_name);
	if (folder)
		(void)closedir(folder);
	return is_one;
}

bool readers_are_here(int fd)
{
	DIR *processes = NULL;
	bool is_here = false;
	const struct dirent *entry;
	struct readers readers = { 0 };
	struct stat pipe;
	char own[64];
	uint64_t pid;

	if (fstat(fd, &pipe) < 0 || !S_ISFIFO(pipe.st_mode))
		return false;
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (!readers_link(AT_FDCWD, own, readers.pipe))
		return true;
	processes = opendir("/proc");
	if (!processes)
		return true;
	while (!is_here && (entry = readdir(processes)) != NULL)
		is_here = text_to_u64(entry->d_name, strlen(entry->d_name), INT32_MAX, &pid) == 0 &&
			  (pid_t)pid != getpid() && getsid((pid_t)pid) == getsid(0) &&
			  readers_is_one(&readers, (int)pid);
	(void)closedir(processes);
	return is_here;
}
