/* refused: which calls the command's view of the file system refuses, so that it can be said. The
 * kernel refuses them by mounts and Landlock; nothing is allowed or refused here. */
#pragma once

#include <linux/seccomp.h>

#include "exec/exec.h"
#include "exec/inside.h"

struct plan;
struct seccomp_call;

enum refused_use {
	REFUSED_READ,   /* opened to be read */
	REFUSED_WRITE,  /* opened for writing: must be there */
	REFUSED_OPEN,   /* opened for writing: made when it is not there */
	REFUSED_CREATE, /* made: fails anyway when it is there */
	REFUSED_PLACE,  /* made, or put in the place of what is there */
	REFUSED_REMOVE,
	REFUSED_CHANGE, /* its mode, owner, times, length */
	REFUSED_CONNECT
};
struct refused {
	enum exec_refused what;
	int error; /* that the command gets */
	char path[PATH_MAX];
};

/* Absolute @path, as @task names it. True: the view refuses @use of it, and the host would
 * not. @follows: a link at its end. */
bool refused_by_view(const struct plan *plan, const struct inside *inside, pid_t task,
		     const char *path, bool follows, enum refused_use use, struct refused *ret);

#define REFUSED_PATHS_MAX 2
/* The paths call @call of @request is about that the view refuses, in @ret[REFUSED_PATHS_MAX]:
 * their count. Reads the caller's memory: what it says holds only if the request is still alive
 * afterwards. */
size_t refused_calls_find(const struct plan *plan, const struct inside *inside,
			  const struct seccomp_notif *request, const struct seccomp_call *call,
			  struct refused *ret);
