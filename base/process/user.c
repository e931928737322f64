#include "base/process/user.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

static bool user_read(const char *name, uid_t uid, struct user *ret)
{
	struct passwd entry, *found = NULL;
	char text[PATH_MAX];
	FILE *users = fopen("/etc/passwd", "re");

	if (!users)
		return false;
	do {
		if (fgetpwent_r(users, &entry, text, sizeof(text), &found) != 0)
			found = NULL;
	} while (found && (name ? strcmp(found->pw_name, name) != 0 : found->pw_uid != uid));
	(void)fclose(users); /* it was only read */
	if (!found || strlen(found->pw_name) >= sizeof(ret->name))
		return false;
	ret->uid = found->pw_uid;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", found->pw_name);
	(void)snprintf(ret->home, sizeof(ret->home), "%s", found->pw_dir);
	return true;
}

bool user_find(uid_t uid, struct user *ret)
{
	return user_read(NULL, uid, ret);
}

bool user_find_named(const char *name, struct user *ret)
{
	return user_read(name, 0, ret);
}
