#include "exec/view/view_repository.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_place.h"
#include "exec/run/wire.h"
#include "policies/policies_protected.h"

/* A command that works in a part of a repository writes to the repository's own folder, which is
 * elsewhere: above, or at the place that a file called .git names. Such a file may have been
 * planted, so it counts only if the folder that it names refers back to it. docs/decisions/0035. */

#define CONFIG_MAX 65536

/* Is @path a directory or a file that belongs to the user, and not a link? */
static bool is_own(const char *path, mode_t kind)
{
	struct stat what;

	return lstat(path, &what) == 0 && (what.st_mode & S_IFMT) == kind &&
	       what.st_uid == geteuid();
}

static bool has_own(const char *directory, const char *name, mode_t kind)
{
	auto_free char *path = mem_printf("%s/%s", directory, name);

	return is_own(path, kind);
}

static bool is_repository(const char *path)
{
	return is_own(path, S_IFDIR) && has_own(path, "HEAD", S_IFREG) &&
	       has_own(path, "objects", S_IFDIR) && has_own(path, "refs", S_IFDIR);
}

/* Returned owned; NULL: it cannot be read. */
static char *read_small(const char *directory, const char *name)
{
	auto_free char *path = mem_printf("%s/%s", directory, name);
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	auto_free char *text = mem_new(CONFIG_MAX + 1);
	ssize_t n = fd < 0 ? -1 : read(fd, text, CONFIG_MAX);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	return take(text);
}

char *view_repository_path(const char *directory, const char *name, const char *before)
{
	auto_free char *text = read_small(directory, name), *path = NULL;
	size_t skip = strlen(before);

	if (!text || strncmp(text, before, skip) != 0)
		return NULL;
	size_t len = strlen(text);

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	auto_free char *given = text[skip] == '/' ? mem_strdup(text + skip)
						  : mem_printf("%s/%s", directory, text + skip);

	return paths_resolve(given, NULL, &path, NULL) == 0 ? take(path) : NULL;
}

static bool is_called(const char *path, const char *name)
{
	return strcmp(strrchr(path, '/') + 1, name) == 0;
}

/* The repository of a linked work tree at @tree: its folder is REPOSITORY/worktrees/NAME, and names
 * @tree. */
static char *of_worktree(const char *folder, const char *tree)
{
	auto_free char *back = view_repository_path(folder, "gitdir", "");
	auto_free char *common = view_repository_path(folder, "commondir", "");
	auto_free char *above = paths_parent(folder), *repository = paths_parent(above);
	auto_free char *link = mem_printf("%s/.git", tree);

	return back && common && strcmp(back, link) == 0 && is_called(above, "worktrees") &&
			       strcmp(common, repository) == 0 && is_repository(repository)
		       ? take(repository)
		       : NULL;
}

/* The value of "worktree = PATH" in its configuration, canonical. */
static char *configured_tree(const char *folder)
{
	auto_free char *text = read_small(folder, "config"), *path = NULL;
	char *rest = text, *line;

	while (text && (line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		if (strncmp(line, "worktree", 8) != 0)
			continue;
		line += 8 + strspn(line + 8, " \t");
		if (*line++ != '=')
			continue;
		line += strspn(line, " \t");
		auto_free char *given =
			line[0] == '/' ? mem_strdup(line) : mem_printf("%s/%s", folder, line);

		free(take(path));
		if (paths_resolve(given, NULL, &path, NULL) < 0)
			return NULL;
	}
	return take(path);
}

/* The repository of a submodule at @tree: its folder is REPOSITORY/modules/NAME, and names
 * @tree. */
static char *of_submodule(const char *folder, const char *tree)
{
	auto_free char *back = configured_tree(folder);
	auto_free char *at = mem_strdup(folder);

	if (!back || strcmp(back, tree) != 0 || !is_repository(folder))
		return NULL;
	while (strlen(at) > 1) {
		auto_free char *above = paths_parent(at);
		bool is_modules = is_called(at, "modules");

		if (is_modules && is_repository(above))
			return mem_strdup(folder);
		free(take(at));
		at = take(above);
	}
	return NULL;
}

static char *repository_of(const char *tree)
{
	auto_free char *folder = mem_printf("%s/.git", tree);

	if (!is_own(tree, S_IFDIR))
		return NULL;
	if (is_repository(folder))
		return take(folder);
	free(take(folder));
	if (!has_own(tree, ".git", S_IFREG))
		return NULL;
	folder = view_repository_path(tree, ".git", "gitdir: ");
	if (!folder || !is_own(folder, S_IFDIR))
		return NULL;
	char *found = of_worktree(folder, tree);

	return found ? found : of_submodule(folder, tree);
}

/* @cwd or the nearest directory above it that has a .git of any kind; returned owned, or NULL. */
static char *tree_of(const char *cwd)
{
	auto_free char *at = mem_strdup(cwd);

	for (;;) {
		auto_free char *name = mem_printf("%s/.git", strcmp(at, "/") == 0 ? "" : at);

		struct stat what;

		if (paths_look(name, false, &what) == 0 || strcmp(at, "/") == 0)
			break;
		auto_free char *above = paths_parent(at);

		free(take(at));
		at = take(above);
	}
	return strcmp(at, "/") == 0 ? NULL : take(at);
}

/* A repository that contains a home is not a project. */
static bool holds_home(const struct policy_protection *protection, const char *tree)
{
	for (const char *const *home = protection->homes; home && *home; home++)
		if (paths_is_within(*home, tree))
			return true;
	return false;
}

void view_repository(struct plan *plan, const struct policy_protection *protection)
{
	if (!protection || (plan->flags & WIRE_OPEN) ||
	    mounts_access(plan, plan->cwd) != EXEC_WRITE)
		return;
	auto_free char *tree = tree_of(plan->cwd);

	if (!tree || holds_home(protection, tree))
		return;
	auto_free char *repository = repository_of(tree);

	/* An entry for it, or for a directory around it, has precedence. */
	if (!repository || mounts_access(plan, repository) != EXEC_READ ||
	    paths_holder(&plan->read_only, repository) ||
	    paths_holder(&plan->readable, repository) || view_place_unfit(plan, repository))
		return;
	paths_add(&plan->writable, repository);
	paths_sort(&plan->writable);
}
