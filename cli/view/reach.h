/* reach: the folders that commands may write or could write in an earlier run, and what in them may
 * be theirs. Each run adds its folders to a list in the state folder before a command begins. What
 * ran without a sandbox is left out: a person or a rule let it out, and it could change the list,
 * too. */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct err;
struct reach;

#define REACH_CACHES "caches" /* below the state folder: the caches of commands */

/* With the folders of earlier runs, and the caches. @state: NULL: there are none. Returned owned;
 * NULL with @why: the list cannot be read. */
struct reach *reach_open(const char *state, struct err *why);
void reach_close(struct reach *reach); /* NULL is fine */
/* Commands of this run may write in @writable, NULL-terminated, but not in @hidden, the user's
 * folder; NULL: none. */
void reach_add(struct reach *reach, char *const *writable, const char *hidden);
/* The same for later runs: call it before a command begins. 0 or -errno with @why. */
int reach_note(const char *state, char *const *writable, const char *hidden, struct err *why);

/* The paths of the folders of earlier runs, and the caches: returned owned, NULL-terminated; "/" if
 * they cannot be read. */
char **reach_earlier(const char *state);

struct reach_found {
	/* is_below: in a folder of commands. is_in_reach: there, or with another hard link, which
	 * may be there. may_be_theirs: changed since a command could write it. */
	bool is_below, is_in_reach, may_be_theirs;
	char path[PATH_MAX]; /* the real path */
};
/* What @path, absolute, leads to. 0; -EMLINK: by a link that a command could have made; -errno. */
int reach_look(const struct reach *reach, const char *path, struct reach_found *ret);
/* May a command have made or changed what is at @path? When in doubt, and with NULL, it may. */
bool reach_may_be_theirs(const struct reach *reach, const char *path);
/* The same, also without a sign that it did, if it is in a folder of commands: what it leads to, or
 * loads, has times of its own. */
bool reach_has(const struct reach *reach, const char *path);
