#include "cli/audit/send/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process/child.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/view/reach.h"
#include "cli/view/trusted.h"

extern char **environ;

struct tool {
	const char *name;
	struct child child;
	const char *input;
	size_t left;
	char *said, *errors; /* TOOL_SAID_MAX and NUL */
	size_t said_len, errors_len;
};

char *tool_find(const char *name, struct err *why)
{
	auto_free char *state = cli_state_dir(), *cwd = realpath(".", NULL);
	struct reach *reach = reach_open(state, NULL);
	auto_free char *path = trusted_path(getenv("PATH"), cwd, reach);
	char *found = trusted_find(path, name, cwd, reach);

	reach_close(reach);
	if (!found)
		err_write(why, "%s is not installed, or not in a folder of PATH", name);
	return found;
}

static void tool_give(struct tool *self)
{
	ssize_t n = send(self->child.input, self->input, self->left, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0) {
		self->input += n;
		self->left -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		self->left = 0; /* it reads no more; its status says why */
	}
	if (self->left == 0)
		child_close_input(&self->child);
}

/* Reads what is there; what has no room is dropped. Closes @fd at its end. */
static void tool_hear(int *fd, char *text, size_t *len)
{
	char dropped[4096];
	bool is_full = *len == TOOL_SAID_MAX;
	ssize_t n = is_full ? read(*fd, dropped, sizeof(dropped))
			    : read(*fd, text + *len, TOOL_SAID_MAX - *len);

	if (n > 0 && !is_full)
		*len += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		fd_close(fd_take(fd));
}

/* 0: it has closed its output, and ended. */
static int tool_talk(struct tool *self, int64_t limit_ms, struct err *why)
{
	int64_t until = loop_clock_ms() + limit_ms;
	struct child *child = &self->child;
	auto_close int pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);

	if (pidfd < 0)
		return err_errno(why, errno, "cannot wait for %s", self->name);
	for (bool has_ended = false; !has_ended || child->output >= 0 || child->errors >= 0;) {
		struct pollfd fds[] = { { child->input, POLLOUT, 0 },
					{ child->output, POLLIN, 0 },
					{ child->errors, POLLIN, 0 },
					{ has_ended ? -1 : pidfd, POLLIN, 0 } };
		int64_t left_ms = until - loop_clock_ms();

		if (left_ms <= 0)
			return err_set(why, -ETIMEDOUT, "%s took more than %lld s", self->name,
				       (long long)limit_ms / 1000);
		if (poll(fds, ARRAY_SIZE(fds), (int)left_ms) < 0 && errno != EINTR)
			return err_errno(why, errno, "cannot wait for %s", self->name);
		if (fds[0].revents)
			tool_give(self);
		if (fds[1].revents)
			tool_hear(&child->output, self->said, &self->said_len);
		if (fds[2].revents)
			tool_hear(&child->errors, self->errors, &self->errors_len);
		has_ended |= fds[3].revents != 0;
	}
	return 0;
}

static int tool_status(struct tool *self, struct err *why)
{
	siginfo_t info = { 0 };
	int r;

	do
		r = waitid(P_PID, (id_t)self->child.pid, &info, WEXITED);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_errno(why, errno, "cannot wait for %s", self->name);
	self->child.pid = 0;
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	self->errors[strcspn(self->errors, "\n")] = '\0';
	auto_free char *shown = text_visible_dup(self->errors);

	if (shown[0])
		return err_set(why, -EIO, "%s", shown);
	return err_set(why, -EIO, "%s ended with status %d", self->name, info.si_status);
}

int tool_run(const char *path, const char *const *argv, const char *input, size_t len,
	     int64_t limit_ms, char **ret_said, struct err *why)
{
	struct loop *loop = loop_new();
	auto_free char *said = mem_new(TOOL_SAID_MAX + 1);
	auto_free char *errors = mem_new(TOOL_SAID_MAX + 1);
	struct tool self = { .name = argv[0],
			     .child = CHILD_NONE,
			     .input = input,
			     .left = len,
			     .said = said,
			     .errors = errors };
	int r = child_start(path, argv, (const char *const *)environ, &self.child, why);

	if (r == 0)
		r = tool_talk(&self, limit_ms, why);
	if (r == 0)
		r = tool_status(&self, why);
	child_end(loop, &self.child);
	loop_free(loop);
	if (r == 0)
		*ret_said = take(said);
	return r;
}
