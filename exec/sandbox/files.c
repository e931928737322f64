#include "exec/sandbox/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/inside_net.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/env.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/plan.h"
#include "exec/notify/preload.h"
#include "exec/run/wire.h"

#define TEXT_MAX 65536 /* of a file of the host's */

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

/* Only in an empty directory of the command's own; a writable one mounted on top would hide the
 * file. A variable that names a missing file would keep programs from starting. */
static bool has_place(const struct plan *plan, const struct file *file)
{
	return paths_holder(&plan->fresh, file->path) &&
	       !paths_holder(&plan->writable, file->path) &&
	       !paths_holder(&plan->readable, file->path) && !(plan->flags & WIRE_HOST_NETWORK) &&
	       (!file->is_for_root || (plan->uid == 0 && !env_has(plan->env, file->variable)));
}

/* The host's text; NULL: it is no file that can be read. Returned owned. */
static char *host_text(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct err why = { 0 };
	struct stat what;
	char *text = NULL;

	if (fd < 0 || fstat(fd, &what) < 0 || !S_ISREG(what.st_mode) ||
	    fd_read_all(fd, TEXT_MAX, &text, NULL, &why) < 0)
		return NULL;
	return text;
}

/* Without search domains: every name has an address inside, so the first one that is tried counts.
 */
static char *resolver_text(const char *path)
{
	return mem_strdup("nameserver " INSIDE_NET_RESOLVER "\noptions timeout:2 attempts:2\n");
}

static bool is_loopback_line(const char *line)
{
	return strncmp(line, "127.", 4) == 0 || strncmp(line, "::1", 3) == 0;
}

/* The host's names for the loopback only: what it calls other addresses is decided by name. */
static char *hosts_text(const char *path)
{
	static const char own[] = "127.0.0.1 localhost\n::1 localhost\n";
	auto_free char *text = host_text(path);
	size_t used = sizeof(own) - 1;
	char *hosts = mem_new((text ? strlen(text) : 0) + sizeof(own) + 1);

	memcpy(hosts, own, used);
	for (const char *line = text; line && *line;) {
		size_t len = strcspn(line, "\n");

		if (is_loopback_line(line)) {
			memcpy(hosts + used, line, len);
			used += len;
			hosts[used++] = '\n';
		}
		line += len + (line[len] == '\n');
	}
	return hosts;
}

/* Chromium's own sandbox needs a user namespace or a program with set-user-ID, which no command can
 * have. Debian's launcher reads its options only from files in this folder. */
static char *chromium_text(const char *path)
{
	auto_free char *text = host_text(path);

	return text ? mem_printf("%s\nexport CHROMIUM_FLAGS=\"$CHROMIUM_FLAGS --no-sandbox\"\n",
				 text)
		    : NULL;
}

/* Files of the host that are other ones inside. */
static const struct replaced {
	const char *host, *path;         /* the host's file, and where ours is */
	char *(*text)(const char *path); /* returned owned; NULL: leave the host's */
} replaced[] = {
	{ "/etc/resolv.conf", "/run/sallyport/resolv.conf", resolver_text },
	{ "/etc/hosts", "/run/sallyport/hosts", hosts_text },
	{ "/etc/chromium.d/default-flags", "/run/sallyport/chromium", chromium_text },
};

_Static_assert(ARRAY_SIZE(files) + ARRAY_SIZE(replaced) <= WIRE_FILES_MAX,
	       "init takes at most WIRE_FILES_MAX files");

/* A link may lead into a fresh directory, as to /run/systemd/resolve: then ours is written there.
 */
static void plan_replaced(struct plan *plan, const struct replaced *it, size_t *count)
{
	struct file file = { .path = it->path };
	char path[PATH_MAX];
	bool is_fresh;

	if (!realpath(it->host, path))
		return;
	is_fresh = paths_holder(&plan->fresh, path) != NULL;
	if (is_fresh)
		file.path = path;
	char *text = has_place(plan, &file) && (is_fresh || mounts_access(plan, path) == EXEC_READ)
			     ? it->text(path)
			     : NULL;

	if (!text)
		return;
	plan->files[(*count)++] = mem_strdup(file.path);
	plan->files[(*count)++] = text;
	if (is_fresh)
		return;
	paths_add(&plan->instead, file.path);
	paths_add(&plan->instead, path);
}

void files_plan(struct plan *plan)
{
	size_t count = 0;

	plan->files =
		mem_new_array(2 * (ARRAY_SIZE(files) + ARRAY_SIZE(replaced)) + 1, sizeof(char *));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!has_place(plan, &files[i]))
			continue;
		plan->files[count++] = mem_strdup(files[i].path);
		plan->files[count++] = mem_strdup(files[i].text);
		plan->env = env_append(plan->env, files[i].variable, files[i].value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(replaced); i++)
		plan_replaced(plan, &replaced[i], &count);
}

char *files_variable(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].path, path) == 0)
			return mem_printf("%s=%s", files[i].variable, files[i].value);
	return NULL;
}
