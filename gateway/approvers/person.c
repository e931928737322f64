#include "gateway/approvers/person.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* Looks in the user file of this machine only: the program is linked statically
 * (docs/decisions/0005), and other name services would load libraries. For users that only these
 * know, LOGNAME or the number is used. */
static bool person_find(uid_t uid, char *ret_name, size_t size)
{
	struct passwd entry, *found = NULL;
	char text[4096];
	FILE *users = fopen("/etc/passwd", "re");

	if (!users)
		return false;
	do {
		if (fgetpwent_r(users, &entry, text, sizeof(text), &found) != 0)
			found = NULL;
	} while (found && found->pw_uid != uid);
	if (found)
		(void)text_visible(ret_name, size, found->pw_name, strlen(found->pw_name));
	(void)fclose(users); /* it was only read */
	return found != NULL;
}

const char *person_text(uid_t uid, const char *where, char out[PERSON_TEXT_MAX])
{
	char shown[PERSON_TEXT_MAX / 2];
	const char *name = getenv("LOGNAME");

	if (!person_find(uid, shown, sizeof(shown))) {
		/* LOGNAME is only trusted for the user who runs this process. */
		if (uid == geteuid() && name && name[0] != '\0')
			(void)text_visible(shown, sizeof(shown), name,
					   strlen(name)); /* may be cut */
		else
			(void)snprintf(shown, sizeof(shown), "uid %u", (unsigned int)uid);
	}
	(void)snprintf(out, PERSON_TEXT_MAX, "%s on %s", shown, where);
	return out;
}
