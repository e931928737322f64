/* person: the name of whoever answered, for records and notices. Private to this folder. */
#pragma once

#include <sys/types.h>

#define PERSON_TEXT_MAX 64

/* "ana on tty"; returns @out. Asks the user database, which may be slow: only when an answer was
 * given, never before. */
const char *person_text(uid_t uid, const char *where, char out[PERSON_TEXT_MAX]);
