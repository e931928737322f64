#include "gateway/approvers/person.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

const char *person_text(uid_t uid, const char *where, char out[PERSON_TEXT_MAX])
{
	const struct passwd *entry = getpwuid(uid);
	const char *name = entry ? entry->pw_name : NULL;
	char shown[PERSON_TEXT_MAX / 2];

	/* The environment names nobody but the user who set it. */
	if (!name && uid == geteuid())
		name = getenv("LOGNAME");
	if (name && name[0] != '\0')
		(void)text_visible(shown, sizeof(shown), name, strlen(name)); /* cut is fine */
	else
		(void)snprintf(shown, sizeof(shown), "uid %u", (unsigned int)uid);
	(void)snprintf(out, PERSON_TEXT_MAX, "%s on %s", shown, where);
	return out;
}
