#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"
#include "exec/stages/path.h"

/* A hidden path that does not exist must not be created by the command: the call gets an error, and
 * the command continues. This helps commands that mean no harm; it is not the protection, because
 * between our check and the kernel's another thread can change the name, and not every form of a
 * name is checked. If the path does come to exist, everything is killed (stages/watch.c). */

#define PAGE      4096U
#define READ_ONLY 1 /* in statfs: MS_RDONLY */

/* Calls that create a name: the argument with the name, and the one with its starting folder. */
static const struct {
	int number, name, folder; /* -1: the working directory */
} makers[] = {
	{ SYS_openat, 1, 0 },    { SYS_mkdirat, 1, 0 },  { SYS_mknodat, 1, 0 },
	{ SYS_symlinkat, 2, 1 }, { SYS_linkat, 3, 2 },   { SYS_renameat2, 3, 2 },
#ifdef SYS_renameat
	{ SYS_renameat, 3, 2 },
#endif
#ifdef SYS_open
	{ SYS_open, 0, -1 },     { SYS_creat, 0, -1 },   { SYS_mkdir, 0, -1 },
	{ SYS_mknod, 0, -1 },    { SYS_symlink, 1, -1 }, { SYS_link, 1, -1 },
	{ SYS_rename, 1, -1 },
#endif
};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static bool is_to_read(const struct wall_call *call)
{
#ifdef SYS_open
	if (call->number == SYS_open)
		return (call->args[1] & O_CREAT) == 0;
#endif
	return call->number == SYS_openat && (call->args[2] & O_CREAT) == 0;
}

/* Reads a string of the task, page by page, because the next page may not be mapped. */
static long read_name(const struct wall_call *call, uint64_t from, char name[PATH_MAX])
{
	for (size_t len = 0; len < PATH_MAX;) {
		size_t part = PAGE - (size_t)((from + len) % PAGE);

		part = part < PATH_MAX - len ? part : PATH_MAX - len;
		long r = wall_task_read(call, from + len, name + len, part);

		if (r < 0)
			return r;
		for (size_t end = len + part; len < end; len++)
			if (name[len] == '\0')
				return (long)len;
	}
	return -ENAMETOOLONG;
}

/* Splits @name before its last component, which is returned. */
static const char *cut_last(char *name, long len)
{
	while (len > 1 && name[len - 1] == '/')
		name[--len] = '\0';
	while (len > 0 && name[len - 1] != '/')
		len--;
	return name + len;
}

static bool is_same_text(const char *left, const char *right)
{
	while (*left && *left == *right)
		left++, right++;
	return *left == *right;
}

/* Opens the folder that the first @len bytes of @name lead to, as the task sees it. */
static long open_folder(const struct wall_call *call, int folder, char *name, size_t len)
{
	char link[64];
	long from = AT_FDCWD;

	if (name[0] != '/') {
		if (folder < 0 || (int)call->args[folder] == AT_FDCWD)
			wall_task_name(link, "/proc/", call->task, "/cwd");
		else {
			char rest[32];

			wall_task_name(rest, "/fd/", (int)call->args[folder], "");
			wall_task_name(link, "/proc/", call->task, rest);
		}
		from = sys(openat, AT_FDCWD, link, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (from < 0 || len == 0)
			return from;
	}
	name[len] = '\0';
	long fd = sys(openat, (int)from, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (from >= 0)
		(void)sys(close, from);
	return fd;
}

/* Is it the parent directory of @path? */
static bool is_in(long folder, const char *path)
{
	char parent[PATH_MAX];
	struct stat ours, theirs;
	size_t len = sys_length(path);

	while (len > 1 && path[len - 1] != '/')
		len--;
	for (size_t i = 0; i < len; i++)
		parent[i] = path[i];
	parent[len > 1 ? len - 1 : len] = '\0';
	int at = path_open(parent);
	bool is_same = at >= 0 && sys(fstat, at, &ours) == 0 && sys(fstat, folder, &theirs) == 0 &&
		       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;

	if (at >= 0)
		(void)sys(close, at);
	return is_same;
}

static const char *find(const struct wall *wall, const struct wall_call *call, int argument,
			int folder)
{
	char name[PATH_MAX], last[256];
	long len = read_name(call, call->args[argument], name), opened = -1;
	const char *part = len > 0 ? cut_last(name, len) : name, *found = NULL;

	if (len <= 0 || sys_length(part) >= sizeof(last))
		return NULL;
	for (size_t i = 0; i <= sys_length(part); i++)
		last[i] = part[i];
	for (char **path = wall->init->plan.lists[WIRE_ABSENT]; *path && !found; path++) {
		const char *wanted = *path + sys_length(*path);

		while (wanted[-1] != '/')
			wanted--;
		if (!is_same_text(wanted, last))
			continue;
		if (opened < 0)
			opened = open_folder(call, folder, name, (size_t)(part - name));
		if (opened >= 0 && is_in(opened, *path))
			found = *path;
	}
	if (opened >= 0)
		(void)sys(close, opened);
	return found;
}

bool wall_absent_is_made(struct wall *wall, const struct wall_call *call)
{
	const char *path = NULL;
	size_t len = 0;

	if ((wall->init->plan.head->flags & WIRE_KEEPS_ABSENT) == 0 || is_to_read(call))
		return false;
	for (size_t i = 0; i < MAKERS && !path; i++)
		if (makers[i].number == call->number)
			path = find(wall, call, makers[i].name, makers[i].folder);
	if (!path)
		return false;
	for (; len < sizeof(wall->path) - 1 && path[len]; len++)
		wall->path[len] = path[len];
	wall->path[len] = '\0';
	return true;
}

bool wall_absent_is_read_only(const struct wall_call *call)
{
	char name[PATH_MAX];
	struct statfs what = { 0 };
	size_t i = 0;

	while (i < MAKERS && makers[i].number != call->number)
		i++;
	if (i == MAKERS || is_to_read(call))
		return false;
	long len = read_name(call, call->args[makers[i].name], name);

	if (len <= 0)
		return false;
	const char *part = cut_last(name, len);
	long fd = open_folder(call, makers[i].folder, name, (size_t)(part - name));

	if (fd < 0)
		return false;
	long r = sys(fstatfs, fd, &what);

	(void)sys(close, fd);
	return r == 0 && (what.f_flags & READ_ONLY) != 0;
}
