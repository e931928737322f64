/* docs/decisions/0035 */
#include "exec/view/made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_made.h"
#include "exec/view/git_config.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/seen.h"
#include "exec/view/view.h"
#include "exec/view/view_repository.h"
#include "exec/run/wire.h"
#include "policies/policies_protected.h"

#define FILE_MAX 65536 /* a longer file is not read */

static const char by_name[] =
	"programs run its contents when a person enters, opens or uses the folder";

struct maker {
	exec_made_fn each;
	void *arg;
	const struct paths *before, *now; /* what is protected, at the start and at the end */
	const struct paths *git_links;
};

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* Returned owned; NULL: not a regular file, or too long. */
static char *read_text(const char *path, size_t *ret_len)
{
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	struct stat what;

	if (fd < 0 || fstat(fd, &what) < 0 || !S_ISREG(what.st_mode) ||
	    fd_read_all(fd, FILE_MAX, &text, ret_len, NULL) < 0)
		return NULL;
	return text;
}

static bool is_sample(const char *name)
{
	static const char end[] = ".sample";
	size_t len = strlen(name);

	return len >= sizeof(end) && strcmp(name + len - (sizeof(end) - 1), end) == 0;
}

/* Is it a program, or a link to what may become one? */
static bool is_hook(int directory, const char *name)
{
	struct stat what;

	return fstatat(directory, name, &what, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISLNK(what.st_mode) || (S_ISREG(what.st_mode) && (what.st_mode & 0111) != 0));
}

/* Reports all executable files except git's own templates, which do nothing until they are
 * renamed. */
static void tell_hooks(const struct maker *maker, const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.' || is_sample(entry->d_name) ||
		    !is_hook(dirfd(directory), entry->d_name))
			continue;
		auto_free char *hook = mem_printf("%s/%s", path, entry->d_name);

		maker->each(hook, "git runs it as a hook", maker->arg);
	}
	if (directory)
		(void)closedir(directory);
}

static void tell_config(const struct maker *maker, const char *path)
{
	size_t len = 0;
	auto_free char *text = read_text(path, &len);
	auto_free char *line =
		text ? git_config_runs(text, len) : mem_strdup("the file cannot be read");
	auto_free char *words =
		line ? mem_printf("git runs or reads the programs and files that it names: %s",
				  line)
		     : NULL;

	if (words)
		maker->each(path, words, maker->arg);
}

/* The commondir of a linked work tree leads to the repository that contains it. */
static void tell_commondir(const struct maker *maker, const char *path)
{
	static const char own[] = "../..\n";
	size_t len = 0;
	auto_free char *text = read_text(path, &len);

	if (!text || len != sizeof(own) - 1 || memcmp(text, own, len) != 0 ||
	    !strstr(path, "/worktrees/"))
		maker->each(path, "git uses the configuration and the hooks of another folder",
			    maker->arg);
}

static void tell_repository(const struct maker *maker, const char *folder);

/* A file .git leads to a repository that may be where no search goes: among git's own objects, or
 * in a cache of the command's. */
static void tell_link(const struct maker *maker, const char *path)
{
	auto_free char *tree = paths_parent(path);
	auto_free char *folder = view_repository_path(tree, ".git", "gitdir: ");
	auto_free char *common = folder ? view_repository_path(folder, "commondir", "") : NULL;

	if (folder)
		tell_repository(maker, folder);
	if (common)
		tell_repository(maker, common);
}

static void tell_git_link(const struct maker *maker, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target));

	if (len < 0)
		return;
	auto_free char *words = mem_printf(
		"git writes to the file or folder that it leads to: %.*s", (int)len, target);

	maker->each(path, words, maker->arg);
}

static void tell(const struct maker *maker, const char *path)
{
	const char *name = name_of(path);
	struct stat what;

	if (lstat(path, &what) < 0)
		return;
	if (paths_has(maker->git_links, path))
		tell_git_link(maker, path);
	else if (strcmp(name, "hooks") == 0 && S_ISDIR(what.st_mode))
		tell_hooks(maker, path);
	else if (strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0)
		tell_config(maker, path);
	else if (strcmp(name, "commondir") == 0)
		tell_commondir(maker, path);
	else if (strcmp(name, ".git") == 0 && S_ISREG(what.st_mode))
		tell_link(maker, path);
	else if (strcmp(name, "gitdir") != 0 && strcmp(name, ".git") != 0)
		maker->each(path, by_name, maker->arg);
}

/* What decides what git executes in @folder, except for what was there before, and what the search
 * has found. */
static void tell_repository(const struct maker *maker, const char *folder)
{
	for (const char *const *part = policy_protected_git; *part; part++) {
		auto_free char *path = mem_printf("%s/%s", folder, *part);

		if (!paths_holder(maker->before, path) && !paths_holder(maker->now, path))
			tell(maker, path);
	}
}

int made_find(const struct exec_plan_config *config, const struct paths *before, exec_made_fn each,
	      void *arg, struct err *why)
{
	struct plan *now = mem_new(sizeof(*now));
	const struct maker maker = { each, arg, before, &now->read_only, &now->git_links };
	int r = view_find(now, config, why);

	bool has_some = r == 0 || r == -E2BIG; /* which is an error as well */

	for (size_t i = 0; i < now->read_only.count && has_some; i++)
		if (!paths_holder(before, now->read_only.list[i]))
			tell(&maker, now->read_only.list[i]);
	for (size_t i = 0; i < now->warnings.count && r == 0; i++)
		each("", now->warnings.list[i], arg);
	plan_free(now);
	return r;
}

int exec_made_since(const struct exec_seen *seen, const struct exec_plan_config *config,
		    exec_made_fn each, void *arg, struct err *why)
{
	struct plan *before = mem_new(sizeof(*before));
	int r = seen_read(seen, before, why);

	if (r == 0 && !(before->flags & WIRE_UNCONFINED))
		r = made_find(config, &before->read_only, each, arg, why);
	plan_free(before);
	return r;
}
