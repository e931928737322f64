#include "exec/view/view_git.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/view/view_named.h"
#include "exec/view/view_place.h"
#include "exec/view/view_repository.h"
#include "policies/policies_protected.h"

static bool is_freed(const struct policy_protection *protection, const char *directory,
		     const char *part)
{
	/* `unprotect .git/config` applies to that of a submodule as well. */
	auto_free char *path = mem_printf("%s/%s", directory, part);
	auto_free char *plain = mem_printf("/.git/%s", part);

	return policy_protected_is_freed(protection, path) ||
	       policy_protected_is_freed(protection, plain);
}

/* A missing folder could be created by the command, so it is created here. Unlike the other parts,
 * an empty one does no harm. */
static void make_hooks(const char *directory)
{
	auto_free char *hooks = mem_printf("%s/hooks", directory);
	auto_free char *head = mem_printf("%s/HEAD", directory);
	auto_free char *objects = mem_printf("%s/objects", directory), *real = NULL;
	struct stat what;

	if (lstat(head, &what) < 0 || paths_resolve(objects, NULL, &real, NULL) < 0 ||
	    lstat(real, &what) < 0 || !S_ISDIR(what.st_mode) ||
	    mkdir(hooks, what.st_mode & 0777) < 0)
		return;
	if (geteuid() == 0 && lchown(hooks, what.st_uid, what.st_gid) < 0)
		log_debug("exec: %s is still owned by root", hooks); /* which is fine as well */
}

void view_git_protect(struct plan *plan, const struct policy_protection *protection,
		      const char *directory)
{
	if (!plan->is_look && !is_freed(protection, directory, "hooks") &&
	    mounts_access(plan, directory) == EXEC_WRITE)
		make_hooks(directory);
	for (const char *const *part = policy_protected_git; *part; part++) {
		auto_free char *path = mem_printf("%s/%s", directory, *part);

		if (!is_freed(protection, directory, *part))
			view_place_keep(plan, path);
	}
	auto_free char *tree = paths_parent(directory);

	view_named_protect(plan, protection, directory, tree);
}

/* Git replaces its objects, and does not write through links there. The others are protected, or
 * git folders themselves. */
static bool is_other(const char *name)
{
	for (const char *const *part = policy_protected_git; *part; part++)
		if (strcmp(name, *part) == 0)
			return true;
	for (const char *const *inner = policy_protected_git_inner; *inner; inner++)
		if (strcmp(name, *inner) == 0)
			return true;
	return strcmp(name, "objects") == 0;
}

static void keep_links_in(struct plan *plan, const struct policy_protection *protection,
			  const char *path, bool is_top, struct paths *folders, unsigned int *left)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat what;

	while (directory && *left > 0 && (entry = readdir(directory)) != NULL) {
		bool is_dot = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;

		*left -= !is_dot;
		if (is_dot || (entry->d_type == DT_REG) ||
		    fstatat(fd, entry->d_name, &what, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		auto_free char *inner = mem_printf("%s/%s", path, entry->d_name);

		if (S_ISDIR(what.st_mode) && !(is_top && is_other(entry->d_name)))
			paths_add(folders, inner);
		if (!S_ISLNK(what.st_mode) || (is_top && is_other(entry->d_name)) ||
		    policy_protected_is_freed(protection, inner))
			continue;
		paths_add(&plan->git_links, inner);
		view_place_keep_link(plan, inner);
	}
	if (directory)
		(void)closedir(directory);
	else if (fd >= 0)
		fd_close(fd);
}

void view_git_keep_links(struct plan *plan, const struct policy_protection *protection,
			 const char *directory, unsigned int *left)
{
	struct paths folders = { 0 };

	paths_add(&folders, directory);
	for (size_t i = 0; i < folders.count; i++)
		keep_links_in(plan, protection, folders.list[i], i == 0, &folders, left);
	paths_done(&folders);
}

void view_git_protect_link(struct plan *plan, const struct policy_protection *protection,
			   const char *link)
{
	auto_free char *tree = paths_parent(link);
	auto_free char *folder = view_repository_path(tree, ".git", "gitdir: ");

	view_place_keep(plan, link);
	/* A link without this text is a symbolic one. */
	if (!folder && paths_resolve(link, NULL, &folder, NULL) < 0)
		return;
	auto_free char *common = view_repository_path(folder, "commondir", "");

	if (common)
		view_named_protect(plan, protection, common, tree);
	view_named_protect(plan, protection, folder, tree);
}
