#include "gateway/approvers/person.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process/user.h"
#include "base/text.h"

const char *person_text(uid_t uid, const char *where, char out[PERSON_TEXT_MAX])
{
	char shown[PERSON_TEXT_MAX / 2];
	const char *name = getenv("LOGNAME");
	struct user user;

	if (user_find(uid, &user)) {
		(void)text_visible(shown, sizeof(shown), user.name, strlen(user.name));
	} else {
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
