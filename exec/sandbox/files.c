#include "exec/sandbox/files.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "exec/sandbox/env.h"
#include "exec/sandbox/plan.h"
#include "exec/notify/preload.h"
#include "exec/run/wire.h"

/* To add a file: exec/preload/NAME, its label in exec/preload/preload.S and exec/notify/preload.h,
 * and a line here. Paths have no spaces, so that they need no quotes in a variable. The files only
 * help programs that would otherwise not find the gate; the command may ignore or change them. */
static const struct file {
	const char *path, *text;
	const char *variable, *value; /* appended to the existing value */
	bool is_for_root;             /* and only if the variable has no value */
} files[] = {
	{ "/run/sallyport/node.cjs", preload_node, "NODE_OPTIONS",
	  "--require=/run/sallyport/node.cjs" },
	/* apt-get changes to another user, of whom there is none inside. */
	{ "/run/sallyport/apt.conf", "APT::Sandbox::User \"root\";\n", "APT_CONFIG",
	  "/run/sallyport/apt.conf", true },
};

_Static_assert(ARRAY_SIZE(files) <= WIRE_FILES_MAX, "init takes at most WIRE_FILES_MAX files");

/* Only in an empty directory of the command's own; a writable one mounted on top would hide the
 * file. A variable that names a missing file would keep programs from starting. */
static bool has_place(const struct plan *plan, const struct file *file)
{
	return paths_holder(&plan->fresh, file->path) &&
	       !paths_holder(&plan->writable, file->path) &&
	       !paths_holder(&plan->readable, file->path) && !(plan->flags & WIRE_HOST_NETWORK) &&
	       (!file->is_for_root || (plan->uid == 0 && !env_has(plan->env, file->variable)));
}

void files_plan(struct plan *plan)
{
	size_t count = 0;

	plan->files = mem_new_array(2 * ARRAY_SIZE(files) + 1, sizeof(char *));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!has_place(plan, &files[i]))
			continue;
		plan->files[count++] = mem_strdup(files[i].path);
		plan->files[count++] = mem_strdup(files[i].text);
		plan->env = env_append(plan->env, files[i].variable, files[i].value);
	}
}

char *files_variable(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].path, path) == 0)
			return mem_printf("%s=%s", files[i].variable, files[i].value);
	return NULL;
}
