#include "exec/notify/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#include "base/mem.h"
#include "exec/notify/refused_socket.h"
#include "seccomp/seccomp_calls.h"

#define NONE (-1)

/* The arguments of a call that describe one path. */
struct place {
	int directory; /* NONE: the working directory */
	int path;
	int flags; /* NONE: no flags */
	enum {
		FOLLOWS,
		STAYS,
		FOLLOWS_UNLESS, /* AT_SYMLINK_NOFOLLOW */
		OPEN_FLAGS,     /* of open(2) */
		OPEN_HOW        /* of openat2(2) */
	} link;
	enum refused_use use;
};
struct shape {
	const char *call;
	struct place places[REFUSED_PATHS_MAX];
	size_t count;
};

#define ONE(name, directory, path, flags, link, use)                                               \
	{                                                                                          \
		name, { { directory, path, flags, link, use } }, 1                                 \
	}
#define TWO(name, ...)                                                                             \
	{                                                                                          \
		name, { __VA_ARGS__ }, 2                                                           \
	}

static const struct shape shapes[] = {
	ONE("open", NONE, 0, 1, OPEN_FLAGS, REFUSED_OPEN),
	ONE("openat", 0, 1, 2, OPEN_FLAGS, REFUSED_OPEN),
	ONE("openat2", 0, 1, 2, OPEN_HOW, REFUSED_OPEN),
	ONE("creat", NONE, 0, NONE, FOLLOWS, REFUSED_OPEN),
	ONE("truncate", NONE, 0, NONE, FOLLOWS, REFUSED_WRITE),
	ONE("mkdir", NONE, 0, NONE, STAYS, REFUSED_CREATE),
	ONE("mkdirat", 0, 1, NONE, STAYS, REFUSED_CREATE),
	ONE("rmdir", NONE, 0, NONE, STAYS, REFUSED_REMOVE),
	ONE("unlink", NONE, 0, NONE, STAYS, REFUSED_REMOVE),
	ONE("unlinkat", 0, 1, NONE, STAYS, REFUSED_REMOVE),
	TWO("rename", { NONE, 0, NONE, STAYS, REFUSED_REMOVE },
	    { NONE, 1, NONE, STAYS, REFUSED_PLACE }),
	TWO("renameat", { 0, 1, NONE, STAYS, REFUSED_REMOVE },
	    { 2, 3, NONE, STAYS, REFUSED_PLACE }),
	TWO("renameat2", { 0, 1, NONE, STAYS, REFUSED_REMOVE },
	    { 2, 3, NONE, STAYS, REFUSED_PLACE }),
	ONE("link", NONE, 1, NONE, STAYS, REFUSED_CREATE),
	ONE("linkat", 2, 3, NONE, STAYS, REFUSED_CREATE),
	ONE("symlink", NONE, 1, NONE, STAYS, REFUSED_CREATE),
	ONE("symlinkat", 1, 2, NONE, STAYS, REFUSED_CREATE),
	ONE("mknod", NONE, 0, NONE, STAYS, REFUSED_CREATE),
	ONE("mknodat", 0, 1, NONE, STAYS, REFUSED_CREATE),
	ONE("chmod", NONE, 0, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("fchmodat", 0, 1, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("fchmodat2", 0, 1, 3, FOLLOWS_UNLESS, REFUSED_CHANGE),
	ONE("chown", NONE, 0, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("lchown", NONE, 0, NONE, STAYS, REFUSED_CHANGE),
	ONE("fchownat", 0, 1, 4, FOLLOWS_UNLESS, REFUSED_CHANGE),
	ONE("utime", NONE, 0, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("utimes", NONE, 0, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("utimensat", 0, 1, 3, FOLLOWS_UNLESS, REFUSED_CHANGE),
	ONE("futimesat", 0, 1, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("setxattr", NONE, 0, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("lsetxattr", NONE, 0, NONE, STAYS, REFUSED_CHANGE),
	ONE("removexattr", NONE, 0, NONE, FOLLOWS, REFUSED_CHANGE),
	ONE("lremovexattr", NONE, 0, NONE, STAYS, REFUSED_CHANGE),
	ONE("setxattrat", 0, 1, 2, FOLLOWS_UNLESS, REFUSED_CHANGE),
	ONE("removexattrat", 0, 1, 2, FOLLOWS_UNLESS, REFUSED_CHANGE),
	ONE("file_setattr", 0, 1, 4, FOLLOWS_UNLESS, REFUSED_CHANGE),
};

static enum refused_use use_of_flags(uint64_t flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return REFUSED_CREATE; /* an unnamed file: creates it in a directory */
	if ((flags & O_CREAT) != 0)
		return (flags & O_EXCL) != 0 ? REFUSED_CREATE : REFUSED_OPEN;
	return writes ? REFUSED_WRITE : REFUSED_READ;
}

/* How the call uses the path; false: not known, or not at all. */
static bool look_at_flags(const struct seccomp_notif *request, const struct place *place,
			  enum refused_use *use, bool *follows, bool *is_nameless)
{
	uint64_t flags = place->flags == NONE ? 0 : request->data.args[place->flags];
	struct open_how how = { 0 };

	*use = place->use;
	*follows = place->link != STAYS;
	*is_nameless = false;
	if (place->link == FOLLOWS_UNLESS)
		*follows = (flags & AT_SYMLINK_NOFOLLOW) == 0;
	if (place->link == OPEN_HOW) {
		if (inside_read((pid_t)request->pid, flags, &how, sizeof(how)) < 0)
			return false;
		flags = how.flags;
	}
	if (place->link == OPEN_HOW || place->link == OPEN_FLAGS) {
		*use = use_of_flags(flags);
		*follows = (flags & (O_NOFOLLOW | O_EXCL)) == 0;
		*is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
		if (*use == REFUSED_OPEN && (flags & O_ACCMODE) == O_RDONLY &&
		    (flags & O_TRUNC) == 0)
			*use = REFUSED_CREATE; /* an existing file is only read */
		if ((flags & O_PATH) != 0)
			return false; /* opens nothing */
	}
	return true;
}

static bool look_at_place(const struct plan *plan, const struct inside *inside,
			  const struct seccomp_notif *request, const struct place *place,
			  struct refused *ret)
{
	pid_t task = (pid_t)request->pid;
	int directory =
		place->directory == NONE ? AT_FDCWD : (int)request->data.args[place->directory];
	char name[PATH_MAX], path[PATH_MAX];
	bool follows, is_nameless;
	enum refused_use use;

	if (!look_at_flags(request, place, &use, &follows, &is_nameless))
		return false;
	if (inside_read_string(task, request->data.args[place->path], name,
			       is_nameless ? sizeof(name) - 2 : sizeof(name)) <= 0)
		return false;
	if (is_nameless) /* in a directory: stands for any name that does not exist */
		memcpy(name + strlen(name), "/#", sizeof("/#"));
	if (inside_absolute(inside, task, directory, name, path) < 0)
		return false;
	if (!refused_by_view(plan, inside, task, path, follows, use, ret))
		return false;
	if (is_nameless)
		*strrchr(ret->path, '/') = '\0';
	return true;
}

size_t refused_calls_find(const struct plan *plan, const struct inside *inside,
			  const struct seccomp_notif *request, const struct seccomp_call *call,
			  struct refused *ret)
{
	size_t count = refused_socket_find(plan, inside, request, call, ret);

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (strcmp(call->name, shapes[i].call) != 0)
			continue;
		for (size_t j = 0; j < shapes[i].count; j++)
			count += look_at_place(plan, inside, request, &shapes[i].places[j],
					       &ret[count]);
		break;
	}
	return count;
}
