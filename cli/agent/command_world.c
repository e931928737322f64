#include "cli/agent/command_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "exec/exec_place.h"

static int look_at(const char *path, struct command_file *ret)
{
	struct stat status;

	if (strlen(path) >= sizeof(ret->path))
		return -ENAMETOOLONG;
	int r = exec_place_look(path, true, &status);

	if (r < 0)
		return r;
	if (!S_ISREG(status.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	*ret = (struct command_file){ .device = status.st_dev, .inode = status.st_ino };
	(void)snprintf(ret->path, sizeof(ret->path), "%s", path);
	return 0;
}

/* What a relative entry of PATH contains depends on the working folder, which a command may write.
 * So a name that is only found after one is not resolved. */
static int look_in_path(const char *search, const char *name, struct command_file *ret)
{
	auto_free char *list = mem_strdup(search);
	char *rest = list;

	for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
		auto_free char *path = mem_printf("%s/%s", folder, name);

		if (folder[0] != '/')
			return -EPERM;
		if (look_at(path, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

static int resolve(const char *name, struct command_file *ret, void *arg)
{
	const struct command_world_places *places = arg;

	if (!strchr(name, '/'))
		return places->path && name[0] ? look_in_path(places->path, name, ret) : -ENOENT;
	auto_free char *path =
		name[0] == '/' ? mem_strdup(name) : mem_printf("%s/%s", places->cwd, name);

	return look_at(path, ret);
}

bool command_world_is_below(const char *path, const char *folder)
{
	auto_free char *top = realpath(folder, NULL);
	size_t len = top ? strlen(top) : 0;

	return top && (len == 1 ||
		       (strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0')));
}

/* Decides by the real path of @path's folder. An existing @path must be a regular file: a link may
 * point anywhere, and a FIFO may have another process at its other end. */
static bool may_write(const char *path, void *arg)
{
	const struct command_world_places *places = arg;
	auto_free char *full =
		path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", places->cwd, path);
	char *slash = strrchr(full, '/');
	struct stat status;
	int r = exec_place_look(full, false, &status);

	if (r == 0 ? !S_ISREG(status.st_mode) : r != -ENOENT)
		return false;
	*slash = '\0';
	auto_free char *folder = exec_place_real(full[0] ? full : "/");

	for (char *const *at = places->writable; folder && at && *at; at++) {
		if (command_world_is_below(folder, *at))
			return true;
	}
	return false;
}

void command_world_init(struct command_world *ret, struct command_world_places *places)
{
	*ret = (struct command_world){ .resolve = resolve, .may_write = may_write, .arg = places };
}
