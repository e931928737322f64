#include "exec/notify/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/notify/inside_links.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/run/wire.h"

/* Parts of /proc that are read-only inside (stages/view.c). */
static const char *const machine[] = { "/proc/sys", "/proc/irq",  "/proc/bus",
				       "/proc/fs",  "/proc/acpi", "/proc/scsi" };

/* The part of the plan that decides about a path: the innermost that contains it. */
enum owner { HOST, WRITABLE, HIDDEN, KEPT, SOCKET, OWN };

static void consider(const struct paths *paths, enum owner who, const char *path, enum owner *owner,
		     size_t *best)
{
	const char *holder = paths_holder(paths, path);

	if (holder && strlen(holder) >= *best) {
		*best = strlen(holder);
		*owner = who;
	}
}

/* Of two for the same path the later one wins, because it is mounted on top. */
static enum owner owner_of(const struct plan *plan, const char *path)
{
	enum owner owner = HOST;
	size_t best = 0;

	consider(&plan->fresh, OWN, path, &owner, &best);
	consider(&plan->writable, WRITABLE, path, &owner, &best);
	consider(&plan->caches, WRITABLE, path, &owner, &best);
	consider(&plan->hidden, HIDDEN, path, &owner, &best);
	consider(&plan->read_only, KEPT, path, &owner, &best);
	consider(&plan->sockets, SOCKET, path, &owner, &best);
	if (owner != HOST)
		return owner;
	for (size_t i = 0; i < ARRAY_SIZE(machine); i++)
		if (paths_is_within(path, machine[i]))
			return HOST;
	return paths_is_within(path, "/proc") || paths_is_within(path, "/dev") ? OWN : HOST;
}

static int name_of(const struct inside *inside, const char *path, bool follows, char *ret)
{
	auto_close int fd = inside_open(inside, path, follows);

	return fd < 0 ? fd : inside_name(inside, fd, ret);
}

/* The canonical form of @path: the part that exists is resolved, the rest stays as written. */
static int canonical(const struct inside *inside, pid_t task, const char *path, bool follows,
		     char *ret)
{
	int r = name_of(inside, path, follows, ret);

	return r < 0 ? inside_links_expand(inside, task, path, follows, ret) : r;
}

/* May the gate, which is the same user outside, do it? What the host refuses as well is not a
 * refusal by the sandbox. */
static bool may_outside(const char *path, bool follows, enum refused_use use)
{
	int at_flags = AT_EACCESS | (follows ? 0 : AT_SYMLINK_NOFOLLOW);
	char parent[PATH_MAX];
	struct stat what, above;
	bool is_there = paths_look(path, false, &what) == 0;
	bool may_write = is_there && faccessat(AT_FDCWD, path, W_OK, at_flags) == 0;
	bool may_make = false;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	char *slash = strrchr(parent, '/');

	if (slash) {
		slash[slash == parent ? 1 : 0] = '\0';
		may_make = paths_look(parent, true, &above) == 0 &&
			   faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0;
	}
	switch (use) {
	case REFUSED_READ:
		return is_there && faccessat(AT_FDCWD, path, R_OK, at_flags) == 0;
	case REFUSED_WRITE:
		return may_write && S_ISREG(what.st_mode);
	case REFUSED_OPEN:
		return is_there ? may_write && S_ISREG(what.st_mode) : may_make;
	case REFUSED_CREATE:
		return !is_there && may_make;
	case REFUSED_PLACE:
		return may_make;
	case REFUSED_REMOVE:
		return is_there && may_make;
	case REFUSED_CHANGE:
		return is_there && (may_write || what.st_uid == geteuid());
	case REFUSED_CONNECT:
	default:
		return is_there && S_ISSOCK(what.st_mode) && may_write;
	}
}

static bool say(struct refused *ret, enum exec_refused what, int error)
{
	ret->what = what;
	ret->error = error;
	return true;
}

/* In an empty root: a path that the plan does not make readable does not exist; its parent
 * directory exists only if it leads to one that does. */
static bool is_unseen(const struct plan *plan, const char *path)
{
	return (plan->flags & WIRE_EMPTY) != 0 && !paths_holder(&plan->readable, path);
}

static int error_of_unseen(const struct inside *inside, const char *path, bool is_write)
{
	char parent[PATH_MAX];

	(void)snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	auto_close int fd = inside_open(inside, parent[0] ? parent : "/", true);

	return is_write && fd >= 0 ? EROFS : ENOENT;
}

bool refused_by_view(const struct plan *plan, const struct inside *inside, pid_t task,
		     const char *path, bool follows, enum refused_use use, struct refused *ret)
{
	bool is_write = use != REFUSED_READ && use != REFUSED_CONNECT;

	if (canonical(inside, task, path, follows, ret->path) < 0)
		return false;
	enum owner owner = owner_of(plan, ret->path);

	if (owner == WRITABLE || (owner == OWN && use != REFUSED_CONNECT))
		return false;
	bool is_absent = owner == HOST && is_unseen(plan, ret->path);

	if (use == REFUSED_READ && owner != HIDDEN && !is_absent)
		return false;
	if (use == REFUSED_CONNECT && (owner == HOST || owner == KEPT))
		return false;
	if (!may_outside(ret->path, follows, use))
		return false;
	if (use == REFUSED_CONNECT && owner == OWN) {
		auto_close int fd = inside_open(inside, ret->path, follows);

		/* If it opens inside, it is the command's own socket, with a name that the host
		 * has, too. */
		return fd < 0 && say(ret, EXEC_REFUSED_SOCKET, ENOENT);
	}
	if (use == REFUSED_CONNECT)
		return say(ret, EXEC_REFUSED_SOCKET, EACCES);
	if (is_absent)
		return say(ret, is_write ? EXEC_REFUSED_WRITE : EXEC_REFUSED_READ,
			   error_of_unseen(inside, ret->path, is_write));
	if (!is_write)
		return say(ret, EXEC_REFUSED_READ, EACCES);
	return say(ret, EXEC_REFUSED_WRITE, owner == HIDDEN ? EACCES : EROFS);
}
