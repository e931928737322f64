#include "exec/run/failure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/notify/inside.h"

#define ANCESTORS_MAX 32
#define TEXT_MAX      4096

/* Files that programs write about themselves as a side effect, and whose failure never makes them
 * fail. */
static const char *const incidental[] = {
	"_history", ".lesshst", ".viminfo", ".wget-hsts", ".node_repl_history",
};

/* And directories of such files: what they cannot store is computed again. */
static const char *const incidental_places[] = {
	"/__pycache__",         "/.pytest_cache",
	"/.npm/_logs",          "/.npm/_update-notifier-last-checked",
	"/.config/configstore",
};

static bool is_in_place(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(incidental_places); i++) {
		const char *at = strstr(path, incidental_places[i]);
		size_t len = strlen(incidental_places[i]);

		if (at && (at[len] == '\0' || at[len] == '/'))
			return true;
	}
	return false;
}

static bool is_incidental(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; name[0] == '.' && i < ARRAY_SIZE(incidental); i++) {
		const char *at = strstr(name, incidental[i]);
		size_t len = strlen(incidental[i]);

		/* bash first writes a temporary file: .bash_history-123.tmp */
		if (at && (at[len] == '\0' || at[len] == '-' || at[len] == '.'))
			return true;
	}
	return false;
}

static struct failure_task *find(struct failure *failure, pid_t pid)
{
	for (size_t i = 0; i < failure->count; i++)
		if (failure->tasks[i].pid == pid)
			return &failure->tasks[i];
	return NULL;
}

/* NULL: the table is full. */
static struct failure_task *find_or_add(struct failure *failure, pid_t pid)
{
	struct failure_task *task = find(failure, pid);

	if (task)
		return task;
	if (failure->count == FAILURE_TASKS_MAX) {
		failure->is_lost = true;
		return NULL;
	}
	task = &failure->tasks[failure->count++];
	*task = (struct failure_task){ .pid = pid };
	return task;
}

static void forget(struct failure *failure, struct failure_task *task)
{
	*task = failure->tasks[--failure->count];
}

void failure_refused(struct failure *failure, pid_t task, const char *path)
{
	pid_t pid = inside_number(task, "\nTgid:");

	if (is_incidental(path) || is_in_place(path))
		return;
	failure->is_lost |= pid < 0;
	/* Up to init, which is pid 1 inside. */
	for (int i = 0; i < ANCESTORS_MAX && pid > 0 && inside_number(pid, "\nNSpid:") != 1; i++) {
		struct failure_task *refused = find_or_add(failure, pid);

		pid = inside_number(pid, "\nPPid:");
		if (!refused)
			return;
		refused->is_refused = true;
		refused->parent = pid > 0 ? pid : 0;
	}
}

static void read_text(char text[TEXT_MAX], const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	text[n < 0 ? 0 : n] = '\0';
}

/* proc(5): the start time is field 22 of stat, the 20th after the name in parentheses. 0: not
 * known. */
static int64_t start_ms(pid_t pid)
{
	char path[64], text[TEXT_MAX];
	int64_t tick_ms = 1000 / sysconf(_SC_CLK_TCK);

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	read_text(text, path);
	const char *at = strrchr(text, ')');

	for (int i = 0; i < 20 && at; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at, NULL, 10) * tick_ms : 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail: the clock exists */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* @pid was refused something, and ends: marks the other children of its parent, because they may
 * have read its output. */
static void mark_beside(struct failure *failure, pid_t pid, pid_t parent)
{
	char path[64], text[TEXT_MAX], *at = text, *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	read_text(text, path);
	for (long other = strtol(at, &end, 10); end != at; other = strtol(at, &end, 10)) {
		struct failure_task *task =
			other == pid ? NULL : find_or_add(failure, (pid_t)other);

		if (task)
			task->is_beside = true;
		at = end;
	}
}

static bool has_refused_beside(const struct failure *failure, pid_t pid, pid_t parent)
{
	for (size_t i = 0; i < failure->count; i++) {
		const struct failure_task *other = &failure->tasks[i];

		if (other->pid != pid && other->parent == parent && other->is_refused)
			return true;
	}
	return false;
}

/* The origin for a process that ends with a status other than 0. */
static struct exec_origin origin_of(const struct failure *failure, const struct failure_task *task,
				    pid_t pid, pid_t parent)
{
	struct exec_origin origin = {
		.pid = pid, .parent = parent, .from_ms = start_ms(pid), .to_ms = now_ms()
	};

	if (task && task->has_failed && !task->origin.is_clean)
		return (struct exec_origin){ 0 };
	if (task && task->has_failed)
		origin = task->origin;
	else
		origin.is_clean = (!task || (!task->is_refused && !task->is_beside)) &&
				  !has_refused_beside(failure, pid, parent);
	return origin;
}

void failure_ended(struct failure *failure, pid_t task, pid_t inner, int status)
{
	pid_t pid = inside_number(task, "\nTgid:");
	pid_t parent = pid < 0 ? pid : inside_number(pid, "\nPPid:");

	status &= 0xff;
	if (parent < 0) { /* killed meanwhile */
		failure->is_lost |= status != 0;
		return;
	}
	struct failure_task *ended = find(failure, pid);
	struct exec_origin origin = { 0 };

	if (status != 0)
		origin = origin_of(failure, ended, pid, parent);
	if (failure->inner == 0 || inner < failure->inner) {
		failure->inner = inner;
		failure->status = status;
		failure->origin = origin;
	}
	if (ended && ended->is_refused)
		mark_beside(failure, pid, parent);
	struct failure_task *behind =
		status != 0 ? find_or_add(failure, parent) : find(failure, parent);

	if (behind) {
		behind->has_failed = status != 0;
		behind->origin = origin;
	}
	if (ended)
		forget(failure, ended);
}

struct exec_origin failure_origin(const struct failure *failure, int status)
{
	bool is_known = !failure->is_lost && status != 0 && failure->status == status;

	return is_known ? failure->origin : (struct exec_origin){ 0 };
}
