#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <sys/ioctl.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

void wall_task_name(char *text, const char *before, int number, const char *rest)
{
	char digits[12];
	size_t count = 0;

	while (*before)
		*text++ = *before++;
	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (count > 0)
		*text++ = digits[--count];
	while ((*text++ = *rest++) != '\0')
		;
}

/* Reads a whole file of /proc into wall->data, as a string. */
static const char *read_status(struct wall *wall, int task)
{
	char path[64];
	size_t len = 0;
	long n = 1;

	wall_task_name(path, "/proc/", task, "/status");
	long fd = sys(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && n > 0 && len < sizeof(wall->data) - 1) {
		n = sys(read, fd, wall->data + len, sizeof(wall->data) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		(void)sys(close, fd);
	wall->data[len] = '\0';
	return wall->data;
}

/* The number after @word at the start of a line; 0: not found. */
static uint64_t number_of(const char *text, const char *word, unsigned int base)
{
	uint64_t value = 0;

	for (; *text; text++) {
		const char *at = text, *want = word;

		while (*want && *at == *want)
			at++, want++;
		if (*want == '\0') {
			for (; *at == '\t' || *at == ' '; at++)
				;
			for (;; at++) {
				unsigned int digit =
					*at >= '0' && *at <= '9'   ? (unsigned int)(*at - '0')
					: *at >= 'a' && *at <= 'f' ? (unsigned int)(*at - 'a') + 10
								   : base;
				if (digit >= base)
					return value;
				value = value * base + digit;
			}
		}
		while (*text && *text != '\n')
			text++;
		if (*text == '\0')
			break;
	}
	return 0;
}

/* Only the first thread of a process has a pidfd of the older kind: this is faster than the file.
 */
int wall_task_process(struct wall *wall, struct wall_call *call)
{
	long fd = call->process == 0 ? sys(pidfd_open, call->task, 0) : -1;

	if (fd >= 0) {
		call->process = call->task;
		(void)sys(close, fd);
	} else if (call->process == 0) {
		call->process = (int)number_of(read_status(wall, call->task), "Tgid:", 10);
	}
	return call->process;
}

/* Without the others again, the wall must not go on. */
bool wall_task_caps(uint64_t caps)
{
	if (caps_have(WALL_CAPS_USED | caps, WALL_CAPS) == 0)
		return true;
	if (caps == 0)
		sys_exit(1);
	return false;
}

bool wall_task_is_interrupted(struct wall *wall, const struct wall_call *call)
{
	const char *text = read_status(wall, call->task);
	uint64_t pending = number_of(text, "SigPnd:", 16) | number_of(text, "ShdPnd:", 16);

	return (pending & ~number_of(text, "SigBlk:", 16) & ~number_of(text, "SigIgn:", 16)) != 0;
}

/* A thread may have a descriptor table of its own; before Linux 6.9 only that of the first thread
 * is accessible. */
int wall_task_pidfd(struct wall *wall, struct wall_call *call)
{
	long fd = wall->is_flagged ? sys(pidfd_open, call->task, PIDFD_THREAD) : -EINVAL;

	if (fd != -EINVAL)
		return (int)fd;
	fd = sys(pidfd_open, call->task, 0);
	if (fd == -EINVAL || fd == -ENOENT)
		fd = sys(pidfd_open, wall_task_process(wall, call), 0);
	return (int)fd;
}

/* Many calls in a row are made by one task, and a new pidfd takes 2 µs. */
static bool take_spare(struct wall *wall, struct wall_call *call)
{
	if (wall->spare_pidfd < 0 || wall->spare_task != call->task)
		return false;
	call->pidfd = wall->spare_pidfd;
	call->process = wall->spare_process;
	wall->spare_pidfd = -1;
	return true;
}

/* Keeps @pidfd, which refers to this one task, for its next call; before PIDFD_THREAD it refers to
 * the process, and the task's number may be that of another one's thread by then. */
static void keep_spare(struct wall *wall, int task, int pidfd, int process)
{
	if (!wall->is_flagged) {
		(void)sys(close, pidfd);
		return;
	}
	if (wall->spare_pidfd >= 0)
		(void)sys(close, wall->spare_pidfd);
	wall->spare_task = task;
	wall->spare_pidfd = pidfd;
	wall->spare_process = process;
}

int wall_task_open(struct wall *wall, struct wall_call *call)
{
	bool is_spare = take_spare(wall, call);
	long fd = is_spare ? wall_task_fd(call, (int)call->args[0]) : -ESRCH;

	/* Else another task has the number of one that has ended. */
	if (fd == -ESRCH) {
		if (is_spare)
			(void)sys(close, call->pidfd);
		call->process = 0;
		call->pidfd = wall_task_pidfd(wall, call);
		fd = call->pidfd < 0 ? call->pidfd : wall_task_fd(call, (int)call->args[0]);
	}
	if (fd < 0)
		return (int)fd;
	call->fd = (int)fd;
	call->type = wall_task_option(call->fd, SO_TYPE);
	return call->type < 0 ? call->type : 0;
}

void wall_task_close(struct wall *wall, struct wall_call *call)
{
	if (call->fd >= 0)
		(void)sys(close, call->fd);
	if (call->pidfd >= 0)
		keep_spare(wall, call->task, call->pidfd, call->process);
	call->fd = call->pidfd = -1;
}

/* A task that cannot be inspected cannot be judged. */
long wall_task_fd(const struct wall_call *call, int fd)
{
	long copy = sys(pidfd_getfd, call->pidfd, fd, 0);

	return copy == -EPERM ? -EACCES : copy;
}

static long move(long result, size_t len)
{
	if (result == -EPERM)
		return -EACCES;
	return result < 0 ? result : (size_t)result == len ? 0 : -EFAULT;
}

long wall_task_read(const struct wall_call *call, uint64_t from, void *to, size_t len)
{
	struct iovec ours = { .iov_base = to, .iov_len = len };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)from, .iov_len = len };

	return len == 0 ? 0 : move(sys(process_vm_readv, call->task, &ours, 1, &theirs, 1, 0), len);
}

long wall_task_write(const struct wall_call *call, uint64_t to, const void *from, size_t len)
{
	struct iovec ours = { .iov_base = (void *)(uintptr_t)from, .iov_len = len };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)to, .iov_len = len };

	return move(sys(process_vm_writev, call->task, &ours, 1, &theirs, 1, 0), len);
}

/* The kernel waits for a lock here: a stop of init, as by a debugger, ends that wait. */
long wall_task_ask(const struct wall *wall, unsigned long what, const void *arg)
{
	long r;

	do
		r = sys(ioctl, wall->listener, what, arg);
	while (r == -EINTR);
	return r;
}

bool wall_task_is_waiting(const struct wall *wall, const struct wall_call *call)
{
	return wall_task_ask(wall, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}

int wall_task_option(int fd, int option)
{
	int value = 0;
	uint32_t len = sizeof(value);
	long r = sys(getsockopt, fd, SOL_SOCKET, option, &value, &len);

	return r < 0 ? (int)r : value;
}
