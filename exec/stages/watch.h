/* watch: covered paths stay covered, or everything is killed. The kernel drops a mount if a process
 * outside removes or replaces its mount point, and moves it if the mount point is renamed. */
#pragma once

struct read_plan;

#define WATCH_FD 32 /* the first descriptor of a watch; the others have the following numbers */

#define WATCH_GONE_MAX 64

struct watch {
	int mounts;  /* an exception condition: the mounts have changed; -1: nothing is watched */
	int inotify; /* readable: a folder has changed; -1: not used, SIGIO reports changes */
	int end;     /* one after its last descriptor */
	const char *gone[WATCH_GONE_MAX]; /* were to be covered, and had been removed */
	int gone_count;
};

/* Call it when the view is built and before the command starts: starts to watch the folders of
 * @plan. Signals are blocked. 0 or -errno: then *@ret_detail is the path. */
int watch_begin(struct watch *watch, const struct read_plan *plan, const char **ret_detail);
/* Call it once the command's process exists, which would inherit it: since Linux 6.12 a process
 * that asks for short time slices can preempt others when it wakes up. */
void watch_hurry(const struct watch *watch);
/* For settle_covers(): the first path that exists and is not covered; NULL: none. */
const char *watch_find_open(const struct read_plan *plan);
/* Paths that do not exist, and so cannot be covered, are watched like absent ones from now on. */
void watch_set_gone_apart(struct watch *watch, const struct read_plan *plan);
/* The first path that is not covered any more; NULL: all are. */
const char *watch_find_lost(const struct read_plan *plan);
/* The first absent or removed path that exists now, or cannot be watched any more; NULL: none. From
 * now on new folders on the path are watched as well. */
const char *watch_find_made(struct watch *watch, const struct read_plan *plan);
