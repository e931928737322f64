/* refused: determines which calls the command's view of the file system refuses, in order to report
 * them. The kernel refuses them by mounts and Landlock; nothing is allowed or refused here. */
#pragma once

#include <linux/seccomp.h>

#include "exec/exec_told.h"
#include "exec/notify/inside.h"

struct plan;
struct seccomp_call;

enum refused_use {
	REFUSED_READ,   /* opened for reading */
	REFUSED_WRITE,  /* opened for writing: must exist */
	REFUSED_OPEN,   /* opened for writing: created if it does not exist */
	REFUSED_CREATE, /* created: fails anyway if it exists */
	REFUSED_PLACE,  /* created, or replaces what exists */
	REFUSED_REMOVE,
	REFUSED_CHANGE, /* its mode, owner, times, length */
	REFUSED_CONNECT
};
struct refused {
	enum exec_refused what;
	int error; /* errno that the command gets */
	char path[PATH_MAX];
};

/* Absolute @path, as @task names it. True: the view refuses @use of it, and the host would not.
 * @follows: a link in its last component is followed. */
bool refused_by_view(const struct plan *plan, const struct inside *inside, pid_t task,
		     const char *path, bool follows, enum refused_use use, struct refused *ret);

#define REFUSED_PATHS_MAX 2
/* Stores the paths that @call of @request uses and the view refuses in @ret[REFUSED_PATHS_MAX], and
 * returns their number. Reads the caller's memory: the result is valid only if the request is still
 * alive afterwards. */
size_t refused_calls_find(const struct plan *plan, const struct inside *inside,
			  const struct seccomp_notif *request, const struct seccomp_call *call,
			  struct refused *ret);
