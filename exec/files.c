#include "exec/files.h"

#include <string.h>

#include "base/mem.h"
#include "exec/env.h"
#include "exec/plan.h"
#include "exec/preload.h"
#include "exec/wire.h"

/* To add a file: put it into preload/, a label into preload/preload.S, and a line here. Paths have
 * no spaces, so that they need no quotes in a variable. A convenience for programs that would
 * otherwise not find the gate: what the command makes of them is its own affair. */
static const struct file {
	const char *path, *text;
	const char *variable, *value; /* appended to what is there */
} files[] = {
	{ "/run/sallyport/node.cjs", preload_node, "NODE_OPTIONS",
	  "--require=/run/sallyport/node.cjs" },
};

_Static_assert(ARRAY_SIZE(files) <= WIRE_FILES_MAX, "init takes no more");

/* Only into an empty directory of the command's own; a writable one attached on top would cover it.
 * A variable that names a file which is not there would keep programs from starting. */
static bool has_place(const struct plan *plan, const struct file *file)
{
	return paths_holder(&plan->fresh, file->path) &&
	       !paths_holder(&plan->writable, file->path) &&
	       !paths_holder(&plan->readable, file->path) && !(plan->flags & WIRE_HOST_NETWORK);
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
