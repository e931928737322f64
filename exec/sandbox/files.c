#include "exec/sandbox/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/env.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/plan.h"
#include "exec/notify/preload.h"
#include "exec/run/wire.h"

#define SSH_CONFIG "/etc/ssh/ssh_config"
#define SSH_FILE   "/run/sallyport/ssh_config"
#define SSH_MAX    65536

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

_Static_assert(ARRAY_SIZE(files) < WIRE_FILES_MAX, "init takes at most WIRE_FILES_MAX files");

/* Only in an empty directory of the command's own; a writable one mounted on top would hide the
 * file. A variable that names a missing file would keep programs from starting. */
static bool has_place(const struct plan *plan, const struct file *file)
{
	return paths_holder(&plan->fresh, file->path) &&
	       !paths_holder(&plan->writable, file->path) &&
	       !paths_holder(&plan->readable, file->path) && !(plan->flags & WIRE_HOST_NETWORK) &&
	       (!file->is_for_root || (plan->uid == 0 && !env_has(plan->env, file->variable)));
}

/* The host's file, and after it a proxy command for the hosts that have none in it: of two values
 * ssh takes the first, and those of the user's own file before both. Returned owned; NULL: it
 * cannot be read, or our program would not be found inside. */
static char *ssh_text(const struct plan *plan)
{
	struct err why = { 0 };
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	auto_close int fd = open(SSH_CONFIG, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	auto_free char *text = NULL;
	struct stat what;

	if (len < 0 || fd < 0 || fstat(fd, &what) < 0 || !S_ISREG(what.st_mode))
		return NULL;
	program[len] = '\0';
	if (strpbrk(program, "'\n%") || mounts_access(plan, program) == EXEC_DENY ||
	    mounts_access(plan, SSH_CONFIG) != EXEC_READ ||
	    fd_read_all(fd, SSH_MAX, &text, NULL, &why) < 0)
		return NULL;
	return mem_printf("%s\nMatch all\n\tProxyCommand '%s' connect '%%h' '%%p'\n", text,
			  program);
}

static void plan_ssh(struct plan *plan, size_t *count)
{
	const struct file file = { .path = SSH_FILE };
	char *text = has_place(plan, &file) ? ssh_text(plan) : NULL;

	if (!text)
		return;
	plan->files[(*count)++] = mem_strdup(SSH_FILE);
	plan->files[(*count)++] = text;
	paths_add(&plan->instead, SSH_FILE);
	paths_add(&plan->instead, SSH_CONFIG);
}

void files_plan(struct plan *plan)
{
	size_t count = 0;

	plan->files = mem_new_array(2 * (ARRAY_SIZE(files) + 1) + 1, sizeof(char *));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!has_place(plan, &files[i]))
			continue;
		plan->files[count++] = mem_strdup(files[i].path);
		plan->files[count++] = mem_strdup(files[i].text);
		plan->env = env_append(plan->env, files[i].variable, files[i].value);
	}
	plan_ssh(plan, &count);
}

char *files_variable(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].path, path) == 0)
			return mem_printf("%s=%s", files[i].variable, files[i].value);
	return NULL;
}
