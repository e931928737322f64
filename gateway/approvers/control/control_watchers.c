#include "gateway/approvers/control/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

/* A live watcher holds an exclusive lock on the file named after its pid; the kernel releases it
 * when the process dies, so a file without a lock means nothing. */
static bool watcher_is_live(int dir_fd, const char *name)
{
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static bool watcher_is_out(const struct control_watchers *watchers, pid_t pid)
{
	if (watchers->out_count == CONTROL_WATCHERS_MAX)
		return true; /* above the limit, watchers are not told apart */
	for (size_t i = 0; i < watchers->out_count; i++) {
		if (watchers->out[i] == pid)
			return true;
	}
	return false;
}

/* The live watchers that may still connect; at most @max. */
static size_t watchers_list(const struct control_watchers *watchers, pid_t *ret_pids, size_t max)
{
	int fd = openat(watchers->dir_fd, "watchers",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t count = 0, seen = 0;
	struct dirent *entry;

	if (!dir) {
		fd_close(fd);
		return 0;
	}
	while (count < max && seen < CONTROL_WATCHERS_MAX && (entry = readdir(dir))) {
		uint64_t pid;

		if (text_to_u64(entry->d_name, strlen(entry->d_name), INT32_MAX, &pid) < 0)
			continue;
		seen++;
		if (!watcher_is_out(watchers, (pid_t)pid) && watcher_is_live(fd, entry->d_name))
			ret_pids[count++] = (pid_t)pid;
	}
	(void)closedir(dir); /* it was only read */
	return count;
}

bool control_watchers_are_awaited(const struct control_watchers *watchers)
{
	pid_t first;

	return watchers_list(watchers, &first, 1) > 0;
}

void control_watchers_leave(struct control_watchers *watchers, pid_t pid)
{
	if (!watcher_is_out(watchers, pid))
		watchers->out[watchers->out_count++] = pid;
}

void control_watchers_give_up(struct control_watchers *watchers)
{
	pid_t live[CONTROL_WATCHERS_MAX];
	size_t count = watchers_list(watchers, live, CONTROL_WATCHERS_MAX);

	for (size_t i = 0; i < count; i++)
		control_watchers_leave(watchers, live[i]);
}

void control_watchers_join(struct control_watchers *watchers, pid_t pid)
{
	for (size_t i = 0; i < watchers->out_count; i++) {
		if (watchers->out[i] == pid)
			watchers->out[i] = watchers->out[--watchers->out_count];
	}
}
