#include "exec/view/view_git.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
