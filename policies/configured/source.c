#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "policies/configured/configured_impl.h"

/* A symbolic link is followed, as the tool does (people keep their dot files in other folders); the
 * check is about who can have written the file that it points to. */
static int source_check(int fd, struct err *why)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot read its attributes");
	if (!S_ISREG(status.st_mode))
		return err_set(why, -EINVAL, "it is not a regular file");
	if (status.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(why, -EPERM, "other users can write it (mode %03o); run chmod go-w",
			       status.st_mode & 0777);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return err_set(why, -EPERM, "it belongs to another user (uid %u)", status.st_uid);
	return 0;
}

/* The real path of the file, not the path that was used: a link from the home directory into the
 * project leads to a file of the project. "": not known. */
static void source_place(int fd, char ret[PATH_MAX])
{
	char link[48];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, ret, PATH_MAX);

	ret[len > 0 && len < PATH_MAX ? len : 0] = '\0';
}

bool source_is_below(const char *path, const char *folder)
{
	size_t top = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, top) == 0 && path[top] == '/';
}

/* A path that is not known counts as within. A link within leads where a command chose. */
static bool source_is_within(const struct configured_environment *env, const char *path,
			     const char *place)
{
	if (!env->cwd)
		return false;
	auto_free char *cwd = mem_printf("%s%s", env->root ? env->root : "", env->cwd);
	auto_free char *real = realpath(cwd, NULL);

	return !real || !place[0] || source_is_below(path, env->cwd) ||
	       source_is_below(place, real);
}

/* Could a command have written it, or redirected a link on the way? */
static bool source_may_be_theirs(const struct configured_environment *env, const char *full,
				 const char *place)
{
	return env->may_be_theirs &&
	       (env->may_be_theirs(full, env->arg) || env->may_be_theirs(place, env->arg));
}

/* A path in the project: of a repository every path counts as one, and links are followed. */
static bool source_is_project(const struct configured_environment *env, const char *path)
{
	return env->cwd && strcmp(env->cwd, "/") != 0 && source_is_below(path, env->cwd);
}

/* A command may have left a link in the project to any place: it is not looked at. O_NONBLOCK: a
 * FIFO must be refused without waiting for a writer. */
static int source_open(const char *full, bool is_project)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = is_project ? RESOLVE_NO_SYMLINKS : 0,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, full, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int source_read(const struct configured_environment *env, const char *path, char **ret_text,
		size_t *ret_len, struct err *why)
{
	auto_free char *full = mem_printf("%s%s", env->root ? env->root : "", path);
	bool is_project = source_is_project(env, path);
	auto_close int fd = source_open(full, is_project);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return is_project ? SOURCE_LINK : err_errno(why, -fd, "cannot open");
	auto_free char *text = NULL;
	char place[PATH_MAX];

	source_place(fd, place);
	bool is_ours = env->is_project_trusted || (!source_is_within(env, path, place) &&
						   !source_may_be_theirs(env, full, place));

	if (!is_ours && (!env->is_trusted || !place[0]))
		return SOURCE_WITHIN;
	int r = source_check(fd, why);

	if (r == 0)
		r = fd_read_all(fd, CONFIGURED_FILE_MAX_BYTES, &text, ret_len, why);
	/* It cannot be trusted, so it is skipped: the command must not be able to break the policy
	 * with it either. */
	if (r < 0)
		return is_ours ? r : SOURCE_WITHIN;
	/* Judge the bytes that were read: the file may have changed since. */
	if (!is_ours && !env->is_trusted(place, text, *ret_len, env->trust_arg))
		return SOURCE_WITHIN;
	if (is_ours && env->was_read)
		env->was_read(place, env->trust_arg);
	*ret_text = take(text);
	return 1;
}

static int source_compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int source_collect(DIR *folder, char **names, struct err *why)
{
	size_t count = 0;

	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		if (entry->d_name[0] == '.')
			continue;
		if (count == CONFIGURED_FOLDER_MAX)
			return err_set(why, -E2BIG, "more than %d files", CONFIGURED_FOLDER_MAX);
		names[count++] = mem_strdup(entry->d_name);
	}
	qsort(names, count, sizeof(*names), source_compare);
	return 0;
}

int source_list(const struct configured_environment *env, const char *path, char ***ret_names,
		struct err *why)
{
	auto_free char *full = mem_printf("%s%s", env->root ? env->root : "", path);
	auto_free_list char **names = mem_new_array(CONFIGURED_FOLDER_MAX + 1, sizeof(*names));
	DIR *folder = opendir(full);

	if (!folder && errno != ENOENT && errno != ENOTDIR)
		return err_errno(why, errno, "cannot open");
	int r = folder ? source_collect(folder, names, why) : 0;

	if (folder)
		(void)closedir(folder); /* was only read */
	if (r < 0)
		return r;
	*ret_names = take(names);
	return 0;
}
