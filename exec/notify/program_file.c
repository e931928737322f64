#include "exec/notify/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/notify/inside_links.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"

#define HEAD_MAX  256 /* the part of a file that the kernel reads */
#define STEPS_MAX 256 /* components of a script's path, including those of links */

/* Is @path a link to a descriptor or a program in the caller's own /proc? NULL: no; else the part
 * after the prefix, and *@ret_is_thread is set. */
static const char *own_part(const char *path, bool *ret_is_thread)
{
	static const struct {
		const char *prefix;
		const char *keeps; /* the end of the prefix that belongs to the result */
		bool is_thread;
	} ways[] = {
		{ "/proc/self/", "", false },
		{ "/proc/thread-self/", "", true },
		{ "/dev/fd/", "fd/", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		size_t len = strlen(ways[i].prefix);

		if (strncmp(path, ways[i].prefix, len) != 0)
			continue;
		*ret_is_thread = ways[i].is_thread;
		return path + len - strlen(ways[i].keeps);
	}
	return NULL;
}

/* A link of the kernel's own: followed only if it is the whole rest of the path. */
static bool is_kernel_link(const char *rest)
{
	if (strcmp(rest, "exe") == 0)
		return true;
	return strncmp(rest, "fd/", 3) == 0 && rest[3] != '\0' &&
	       rest[3 + strspn(rest + 3, "0123456789")] == '\0';
}

static int open_own(pid_t task, pid_t process, bool is_thread, const char *rest)
{
	char path[128];

	if (strlen(rest) > 32)
		return -ENOENT;
	if (is_thread)
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)process, (int)task,
			       rest);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, rest);
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Opens /proc/NUMBER/exe or similar of another process, through the /proc inside, because the
 * number is a pid inside. */
static int open_other(const struct inside *inside, const char *path)
{
	const char *digits = path + sizeof("/proc/") - 1;
	size_t len = strspn(digits, "0123456789");
	char folder[64];

	if (strncmp(path, "/proc/", sizeof("/proc/") - 1) != 0 || len == 0 || len > 10 ||
	    digits[len] != '/' || !is_kernel_link(digits + len + 1))
		return -ELOOP;
	(void)snprintf(folder, sizeof(folder), "/proc/%.*s", (int)len, digits);
	auto_close int at = inside_open(inside, folder, true);

	if (at < 0)
		return at;
	int fd = openat(at, digits + len + 1, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int program_file_open(const struct inside *inside, pid_t task, pid_t process, const char *path,
		      bool follows)
{
	char expanded[PATH_MAX];
	bool is_thread = false;
	const char *rest = own_part(path, &is_thread);

	if (rest && is_kernel_link(rest))
		return follows ? open_own(task, process, is_thread, rest) : -ELOOP;
	int fd = inside_open(inside, path, follows);

	if (fd == -ELOOP && follows)
		fd = open_other(inside, path);
	/* The path goes through /proc/self/root, /proc/PID/cwd, or links to them. */
	if ((fd == -ELOOP || fd == -ENOENT) &&
	    inside_links_expand(inside, task, path, follows, expanded) == 0)
		fd = inside_open(inside, expanded, follows);
	return fd;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* As load_script() of fs/binfmt_script.c. */
int program_file_parse(const char *head, size_t len, char **ret_interpreter, char **ret_argument)
{
	const char *at = head + 2, *limit = head + len;
	const char *end = len > 2 ? memchr(at, '\n', len - 2) : NULL;

	if (len < 2 || head[0] != '#' || head[1] != '!')
		return 0;
	while (at < limit && is_blank(*at))
		at++;
	if (!end) {
		const char *stop = at;

		while (stop < limit && !is_blank(*stop) && *stop != '\0')
			stop++;
		/* The kernel stops reading here, so the name is incomplete. */
		if (at == limit || stop == limit)
			return -ENOEXEC;
		end = limit;
	}
	while (end > head + 2 && is_blank(end[-1]))
		end--;
	if (at >= end)
		return -ENOEXEC;
	const char *name = at;

	while (at < end && !is_blank(*at) && *at != '\0')
		at++;
	if (at == name)
		return -ENOEXEC;
	*ret_interpreter = mem_strndup(name, (size_t)(at - name));
	bool has_more = at < end && *at != '\0';

	while (at < end && is_blank(*at))
		at++;
	*ret_argument = has_more && at < end ? mem_strndup(at, (size_t)(end - at)) : NULL;
	return 1;
}

int program_file_script(int fd, char **ret_interpreter, char **ret_argument)
{
	char link[64], head[HEAD_MAX] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	/* A file that we may not read is treated as not a script. If it is one, another program
	 * than expected runs, and that is noticed. */
	auto_close int file = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = file < 0 ? 0 : read(file, head, sizeof(head));

	if (n < 2 || head[0] != '#' || head[1] != '!')
		return 0;
	/* Bytes after the end of the file are zero, as they are for the kernel. */
	return program_file_parse(head, sizeof(head), ret_interpreter, ret_argument);
}

static bool may_turn(const struct plan *plan, const char *directory)
{
	static const char *const moving[] = { "/proc", "/dev" };

	for (size_t i = 0; i < ARRAY_SIZE(moving); i++)
		if (paths_is_within(directory, moving[i]))
			return true;
	const char *writable = paths_holder(&plan->writable, directory);
	const char *fresh = paths_holder(&plan->fresh, directory);
	const char *kept = paths_holder(&plan->read_only, directory);
	const char *cache = paths_holder(&plan->caches, directory);
	size_t open = writable ? strlen(writable) : 0;

	if (cache && strlen(cache) > open)
		open = strlen(cache);
	if (fresh && strlen(fresh) > open)
		open = strlen(fresh);
	return open > 0 && (!kept || strlen(kept) < open);
}

/* A mount point cannot be renamed. */
static bool is_mounted(const struct plan *plan, const char *path)
{
	return paths_has(&plan->pins, path) || paths_has(&plan->read_only, path) ||
	       paths_has(&plan->writable, path);
}

/* Puts the target of the link @fd before @rest. 1: it is absolute. */
static int put_link(int fd, char *rest)
{
	char text[PATH_MAX], joined[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text));

	if (n <= 0 || (size_t)n >= sizeof(text))
		return -ELOOP;
	text[n] = '\0';
	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", text, rest) >= sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(rest, joined, strlen(joined) + 1);
	return text[0] == '/';
}

/* Walks one component of @rest, from @at. 0, or -errno: the command could change the path. */
static int step(const struct plan *plan, const struct inside *inside, char *at, char *rest)
{
	char name[PATH_MAX], next[PATH_MAX];
	struct stat what;
	size_t len = strcspn(rest, "/");

	memcpy(name, rest, len);
	name[len] = '\0';
	memmove(rest, rest + len + (rest[len] == '/'), strlen(rest + len + (rest[len] == '/')) + 1);
	if (len == 0 || strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(at, '/');

		if (slash)
			*slash = '\0';
		return 0;
	}
	if ((size_t)snprintf(next, sizeof(next), "%s/%s", at, name) >= sizeof(next))
		return -ENAMETOOLONG;
	if (may_turn(plan, at[0] ? at : "/") && !is_mounted(plan, next))
		return -EACCES;
	auto_close int fd = inside_open(inside, next, false);

	if (fd < 0 || fstat(fd, &what) < 0)
		return -ENOENT;
	if (!S_ISLNK(what.st_mode)) {
		memcpy(at, next, strlen(next) + 1);
		return 0;
	}
	int r = put_link(fd, rest);

	if (r == 1)
		at[0] = '\0';
	return r < 0 ? r : 0;
}

bool program_file_is_steady(const struct plan *plan, const struct inside *inside, const char *named,
			    const char *path)
{
	char at[PATH_MAX] = "", rest[PATH_MAX];

	if (may_turn(plan, path))
		return true;
	/* A descriptor that no other process has once the program runs. */
	if (strncmp(named, "/dev/fd/", 8) == 0 && strchr(named + 8, '/') == NULL)
		return true;
	/* The working directory may be shared with another process, which can change it. */
	if (named[0] != '/' || (size_t)snprintf(rest, sizeof(rest), "%s", named) >= sizeof(rest))
		return false;
	for (int i = 0; i < STEPS_MAX && rest[0]; i++)
		if (step(plan, inside, at, rest) < 0)
			return false;
	return rest[0] == '\0' && strcmp(at, path) == 0;
}
