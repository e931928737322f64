/* person: the name of the answering person, for records and notices. Private to this folder. */
#pragma once

#include <sys/types.h>

#define PERSON_TEXT_MAX 64

/* "ana on tty"; returns @out. It reads the user database, which may be slow: call it only for an
 * answer that was given. */
const char *person_text(uid_t uid, const char *where, char out[PERSON_TEXT_MAX]);
