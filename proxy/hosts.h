/* hosts: the text of a hosts(5) file, found by name. Read once; indexed at the first question, so
 * that a start costs no more than reading it. */
#pragma once

#include <stddef.h>

#include "base/addr.h"

struct hosts;

/* Takes @text (owned, NUL-terminated, changed in place). Lines that are not valid are skipped, as
 * everywhere. */
struct hosts *hosts_new(char *text);
void hosts_free(struct hosts *hosts);
/* The addresses of exactly @name (lower case, no trailing dot), in file order; at most @max.
 * Returns how many. */
size_t hosts_find(struct hosts *hosts, const char *name, struct addr *ret, size_t max);
