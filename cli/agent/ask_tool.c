#include "cli/agent/ask_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/view/trusted.h"
#include "policies/configured/configured.h"

/* Those that name files which are loaded as code, or where files are made: maybe of a command. */
static bool is_left_out(const char *variable)
{
	static const char *const prefixes[] = { "PATH=", "PWD=", "LD_",
						"NODE_OPTIONS=", "TMPDIR=" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* Our environment with another PATH. The array is returned owned, the strings are borrowed. */
static char **environment_with(char *path)
{
	size_t count = 0, used = 0;

	while (environ[count])
		count++;
	char **out = mem_new_array(count + 2, sizeof(*out));

	for (size_t i = 0; i < count; i++) {
		if (!is_left_out(environ[i]))
			out[used++] = environ[i];
	}
	out[used] = path;
	return out;
}

/* Starts the tool in a process group of its own, so that its children can be killed with it. 0 or
 * -errno. */
static int start(const char *program, const char *const *argv, char **environment, int output,
		 pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	int r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addchdir_np(&actions, "/");
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawn(ret_pid, program, &actions, &attributes,
				(char *const *)(uintptr_t)argv, environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -r;
}

/* 0: @fd has data or is at EOF. -ETIMEDOUT. */
static int wait_for(int fd, int64_t deadline_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (;;) {
		int64_t left = deadline_ms - loop_clock_ms();
		int n = left > 0 ? poll(&wait, 1, (int)left) : 0;

		if (n == 0)
			return -ETIMEDOUT;
		if (n > 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

static int read_output(int fd, int64_t deadline_ms, char **ret_output)
{
	auto_free char *text = mem_new(CONFIGURED_ANSWER_MAX_BYTES + 1);
	size_t len = 0;

	for (;;) {
		int r = wait_for(fd, deadline_ms);
		ssize_t n;

		if (r < 0)
			return r;
		n = read(fd, text + len, CONFIGURED_ANSWER_MAX_BYTES + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > CONFIGURED_ANSWER_MAX_BYTES)
			return -E2BIG;
	}
	*ret_output = take(text);
	return 0;
}

/* Kills the group in any case, so that no process of the tool is left. */
static int finish(pid_t pid, int64_t deadline_ms, int r)
{
	auto_close int handle = (int)syscall(SYS_pidfd_open, pid, 0);
	int status = 0;

	if (r == 0)
		r = handle < 0 ? -errno : wait_for(handle, deadline_ms);
	(void)kill(-pid, SIGKILL); /* -ESRCH: all have ended */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int ask_tool(const char *const *argv, char **ret_output, void *arg, struct err *why)
{
	const struct ask_tool *self = arg;
	auto_free char *path = trusted_path(getenv("PATH"), self->cwd, self->reach);
	auto_free char *program = trusted_find(path, argv[0], self->cwd, self->reach);
	auto_free char *setting = mem_printf("PATH=%s", path);
	auto_free char **environment = environment_with(setting);
	auto_free char *output = NULL;
	int64_t deadline_ms = loop_clock_ms() + CONFIGURED_ASK_MS;
	int ends[2];
	pid_t pid = -1;

	if (!program)
		return err_set(why, -ENOENT, "it is not installed where no command could write");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(why, errno, "cannot make a pipe");
	auto_close int from = ends[0];
	int r = start(program, argv, environment, ends[1], &pid);

	fd_close(ends[1]);
	if (r < 0)
		return err_errno(why, -r, "cannot start it");
	r = finish(pid, deadline_ms, read_output(from, deadline_ms, &output));
	if (r == -EIO)
		return err_set(why, r, "it failed");
	if (r < 0)
		return err_errno(why, -r, "it gave no answer");
	*ret_output = take(output);
	return 0;
}
