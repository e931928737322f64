#include "exec/notify/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "exec/run/listener.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif
#define PAGE       4096U
#define STATUS_MAX 4096
#define TRIES_MAX  4 /* a lookup with ".." is repeated if a rename interferes */

static int read_link(const char *link, char path[PATH_MAX])
{
	ssize_t n = readlink(link, path, PATH_MAX);

	if (n < 0)
		return -errno;
	if (n == PATH_MAX)
		return -ENAMETOOLONG;
	path[n] = '\0';
	return path[0] == '/' ? 0 : -ENOENT; /* "pipe:[1]" */
}

int inside_enter(struct inside *inside, pid_t task, int listener, uint64_t id)
{
	char link[64];

	if (inside->root >= 0)
		return 0;
	(void)snprintf(link, sizeof(link), "/proc/%d/root", (int)task);
	int r = read_link(link, inside->prefix);

	if (r < 0)
		return r;
	if (strcmp(inside->prefix, "/") == 0)
		inside->prefix[0] = '\0';
	inside->root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (inside->root < 0)
		return -errno;
	if (listener_is_waiting(listener, id))
		return 0;
	fd_close(fd_take(&inside->root));
	return -ESRCH;
}

int inside_read(pid_t task, uint64_t address, void *bytes, size_t len)
{
	struct iovec ours = { .iov_base = bytes, .iov_len = len };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)address, .iov_len = len };

	if (len == 0)
		return 0;
	ssize_t n = process_vm_readv(task, &ours, 1, &theirs, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

/* Reads up to the end of each page, because the next page may not be mapped. */
ssize_t inside_read_string(pid_t task, uint64_t address, char *text, size_t size)
{
	size_t len = 0;

	while (len < size) {
		size_t part = PAGE - (size_t)((address + len) % PAGE);

		part = part < size - len ? part : size - len;
		int r = inside_read(task, address + len, text + len, part);

		if (r < 0)
			return r;
		const char *end = memchr(text + len, '\0', part);

		if (end)
			return end - text;
		len += part;
	}
	return -ENAMETOOLONG;
}

/* Removes the prefix up to the root inside. */
int inside_cut(const struct inside *inside, char path[PATH_MAX])
{
	size_t len = strlen(inside->prefix);

	if (strncmp(path, inside->prefix, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return -ENOENT;
	if (path[len] == '\0')
		(void)snprintf(path, PATH_MAX, "/");
	else
		memmove(path, path + len, strlen(path + len) + 1);
	return 0;
}

/* /proc/PID/fd belongs to root if the task is not dumpable, as init's child until it has executed a
 * program. pidfd_getfd(2) requires the right to trace instead, which we have as the owner of its
 * user namespace. PIDFD_THREAD needs Linux 6.9; before that only the first thread of a process is
 * found. */
int inside_descriptor(pid_t task, int number)
{
	char link[64];

	if (number < 0)
		return -EBADF;
	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)task, number);
	int fd = open(link, O_PATH | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return fd >= 0 ? fd : -EBADF;
	auto_close int thread = (int)syscall(SYS_pidfd_open, task, PIDFD_THREAD);
	auto_close int process =
		thread < 0 && errno == EINVAL ? (int)syscall(SYS_pidfd_open, task, 0) : -1;

	fd = (int)syscall(SYS_pidfd_getfd, thread < 0 ? process : thread, number, 0);
	return fd >= 0 ? fd : -EBADF;
}

static int read_directory(pid_t task, int directory, char path[PATH_MAX])
{
	char link[64];

	if (directory == AT_FDCWD) {
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)task);
		return read_link(link, path);
	}
	auto_close int fd = inside_descriptor(task, directory);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return fd < 0 ? fd : read_link(link, path);
}

int inside_absolute(const struct inside *inside, pid_t task, int directory, const char *name,
		    char path[PATH_MAX])
{
	if (name[0] == '/') {
		if ((size_t)snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return 0;
	}
	int r = read_directory(task, directory, path);

	if (r == 0)
		r = inside_cut(inside, path);
	if (r < 0)
		return r == -ENOENT && directory != AT_FDCWD ? -EBADF : r;
	size_t len = strlen(path);

	len = len == 1 ? 0 : len; /* "/" */
	if (name[0] == '\0')
		return 0;
	return (size_t)snprintf(path + len, PATH_MAX - len, "/%s", name) >= PATH_MAX - len
		       ? -ENAMETOOLONG
		       : 0;
}

int inside_open(const struct inside *inside, const char *path, bool follows)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW)),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -EAGAIN;

	for (int i = 0; i < TRIES_MAX && fd == -EAGAIN; i++) {
		fd = syscall(SYS_openat2, inside->root, path, &how, sizeof(how));
		fd = fd < 0 ? -errno : fd;
	}
	return (int)fd;
}

pid_t inside_number(pid_t task, const char *word)
{
	char path[64], text[STATUS_MAX];
	uint64_t number;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)task);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	char *at = strstr(text, word);

	if (!at)
		return -ESRCH;
	at += strlen(word);
	at[strcspn(at, "\n")] = '\0';
	size_t len = strlen(at);

	while (len > 0 && at[len - 1] != ' ' && at[len - 1] != '\t')
		len--;
	if (text_to_u64(at + len, strlen(at + len), INT_MAX, &number) < 0 || number == 0)
		return -ESRCH;
	return (pid_t)number;
}

pid_t inside_thread(pid_t process, pid_t inner)
{
	char path[64];
	pid_t found = -ESRCH;
	const struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	DIR *folder = opendir(path);

	while (folder && found < 0 && (entry = readdir(folder)) != NULL) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0 && inside_number(thread, "\nNSpid:") == inner)
			found = thread;
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

static void cut_suffix(char path[PATH_MAX], const char *suffix)
{
	size_t len = strlen(path), more = strlen(suffix);

	if (len > more && strcmp(path + len - more, suffix) == 0)
		path[len - more] = '\0';
}

int inside_name(const struct inside *inside, int fd, char path[PATH_MAX])
{
	struct stat what;
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int r = read_link(link, path);

	if (r < 0)
		return r;
	/* The file that covers a hidden path has been unlinked: its name is that of the mount. */
	if (fstat(fd, &what) == 0 && what.st_nlink == 0)
		cut_suffix(path, " (deleted)");
	return inside_cut(inside, path);
}

void inside_program(pid_t task, char *name, size_t size)
{
	char link[64], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)task);
	const char *slash = read_link(link, path) == 0 ? strrchr(path, '/') : NULL;

	(void)snprintf(name, size, "%s", slash ? slash + 1 : "");
}
