/* watch: what is covered stays covered, or everything ends. The kernel drops a mount when somebody
 * outside removes or replaces what it is mounted on, and moves it along when that is renamed. */
#pragma once

struct init;

#define WATCH_FD 32 /* the first descriptor of a watch; all of them follow one another */

struct watch {
	int mounts;  /* an exception on it: the mounts have changed; -1: nothing is watched */
	int inotify; /* readable: a folder has changed; -1: none, then SIGIO says so */
	int end;     /* behind its last descriptor */
};

/* Once the view is built, before the command starts: all is covered, and will be watched. Signals
 * are blocked. 0 or -errno: then init->detail says which path. */
int watch_begin(struct init *init);
/* The first path that is not covered any more; NULL: none. */
const char *watch_find_lost(const struct init *init);
