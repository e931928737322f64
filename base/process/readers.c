#include "base/process/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

/* The mode of a link in /proc/PID/fd says whether it is open for reading. */
static bool readers_has(int folder, const char *name, const struct stat *pipe)
{
	struct stat link, file;

	return fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && (link.st_mode & S_IRUSR) &&
	       fstatat(folder, name, &file, 0) == 0 && file.st_ino == pipe->st_ino &&
	       file.st_dev == pipe->st_dev;
}

static bool readers_is_one(int pid, const struct stat *pipe)
{
	char path[64];
	bool is_one = false;
	const struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *folder = opendir(path);

	while (folder && !is_one && (entry = readdir(folder)) != NULL)
		is_one = entry->d_name[0] != '.' && readers_has(dirfd(folder), entry->d_name, pipe);
	if (folder)
		(void)closedir(folder);
	return is_one;
}

bool readers_are_here(int fd)
{
	DIR *processes = NULL;
	bool is_here = false;
	const struct dirent *entry;
	struct stat pipe;
	uint64_t pid;

	if (fstat(fd, &pipe) < 0 || !S_ISFIFO(pipe.st_mode))
		return false;
	processes = opendir("/proc");
	if (!processes)
		return true;
	while (!is_here && (entry = readdir(processes)) != NULL)
		is_here = text_to_u64(entry->d_name, strlen(entry->d_name), INT32_MAX, &pid) == 0 &&
			  (pid_t)pid != getpid() && getsid((pid_t)pid) == getsid(0) &&
			  readers_is_one((int)pid, &pipe);
	(void)closedir(processes);
	return is_here;
}
