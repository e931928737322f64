#include "exec/notify/inside_links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define STEPS_MAX 512 /* components of the path, including those of links */

/* State of a path walk: @at is canonical ("" is the root), @rest still has to be walked. */
struct walk {
	const struct inside *inside;
	pid_t task;
	bool is_missing;
	char at[PATH_MAX], rest[PATH_MAX];
};

/* Replaces self and thread-self, which depend on the reader: we are not inside, so the value for
 * the task is put before the rest. 0: it is another name. */
static int put_self(struct walk *walk, const char *name)
{
	char joined[PATH_MAX + 64];
	bool is_thread = strcmp(name, "thread-self") == 0;
	pid_t process, thread;

	if (strcmp(walk->at, "/proc") != 0 || (!is_thread && strcmp(name, "self") != 0))
		return 0;
	process = inside_number(walk->task, "\nNStgid:");
	thread = inside_number(walk->task, "\nNSpid:");
	if (process < 0 || thread < 0)
		return -ESRCH;
	if (is_thread)
		(void)snprintf(joined, sizeof(joined), "%d/task/%d/%s", (int)process, (int)thread,
			       walk->rest);
	else
		(void)snprintf(joined, sizeof(joined), "%d/%s", (int)process, walk->rest);
	if (strlen(joined) >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, joined, strlen(joined) + 1);
	return 1;
}

/* @fd is a link. A link of the kernel's own gives its target directly, whatever lies on the path to
 * it. */
static int put_link(struct walk *walk, int fd)
{
	char text[PATH_MAX], joined[2 * PATH_MAX];
	struct statfs where;
	ssize_t n = readlinkat(fd, "", text, sizeof(text));

	if (n <= 0 || (size_t)n >= sizeof(text) || fstatfs(fd, &where) < 0)
		return -ELOOP;
	text[n] = '\0';
	if (where.f_type == PROC_SUPER_MAGIC && strchr(text, ':') && text[0] != '/')
		return -ENOENT; /* "pipe:[1]" */
	if (where.f_type == PROC_SUPER_MAGIC && text[0] == '/') {
		int r = inside_cut(walk->inside, text);

		if (r == 0)
			(void)snprintf(walk->at, sizeof(walk->at), "%s",
				       strcmp(text, "/") == 0 ? "" : text);
		return r;
	}
	if (text[0] == '/')
		walk->at[0] = '\0';
	(void)snprintf(joined, sizeof(joined), "%s/%s", text, walk->rest);
	if (strlen(joined) >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, joined, strlen(joined) + 1);
	return 0;
}

static int step_into(struct walk *walk, const char *name, bool follows)
{
	char next[PATH_MAX];
	struct stat what;
	int r = put_self(walk, name);

	if (r != 0)
		return r < 0 ? r : 0;
	if ((size_t)snprintf(next, sizeof(next), "%s/%s", walk->at, name) >= sizeof(next))
		return -ENAMETOOLONG;
	auto_close int fd = walk->is_missing ? -ENOENT : inside_open(walk->inside, next, false);

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES)
		return fd;
	walk->is_missing = fd < 0;
	if (fd >= 0 && fstat(fd, &what) < 0)
		return -errno;
	if (fd >= 0 && S_ISLNK(what.st_mode) && follows)
		return put_link(walk, fd);
	memcpy(walk->at, next, strlen(next) + 1);
	return 0;
}

static void step_up(struct walk *walk)
{
	char *slash = strrchr(walk->at, '/');

	if (slash)
		*slash = '\0';
}

int inside_links_expand(const struct inside *inside, pid_t task, const char *path, bool follows,
			char ret[PATH_MAX])
{
	struct walk walk = { .inside = inside, .task = task };
	char name[NAME_MAX + 1];
	int r = 0;

	if ((size_t)snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	for (int i = 0; r == 0 && walk.rest[0]; i++) {
		size_t len = strcspn(walk.rest, "/");
		bool is_followed = follows || walk.rest[len] == '/';
		size_t more = len + (walk.rest[len] == '/');

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		if (i == STEPS_MAX)
			return -ELOOP;
		memcpy(name, walk.rest, len);
		name[len] = '\0';
		memmove(walk.rest, walk.rest + more, strlen(walk.rest + more) + 1);
		if (strcmp(name, "..") == 0)
			step_up(&walk);
		else if (len > 0 && strcmp(name, ".") != 0)
			r = step_into(&walk, name, is_followed);
	}
	if (r == 0)
		(void)snprintf(ret, PATH_MAX, "%s", walk.at[0] ? walk.at : "/");
	return r;
}
