/* user: the users of this machine, as /etc/passwd has them. Other name services are not asked,
 * because they load libraries, and the program is linked statically (docs/decisions/0005). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct user {
	uid_t uid;
	char name[256];
	char home[PATH_MAX]; /* "" if there is none */
};

/* False, with *@ret untouched: there is none, or its entry is too long. */
bool user_find(uid_t uid, struct user *ret);
bool user_find_named(const char *name, struct user *ret);
