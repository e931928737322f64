/* hosts: the text of a hosts(5) file, with lookup by name. It is indexed at the first lookup, so
 * that a start only reads it. */
#pragma once

#include <stddef.h>

#include "base/addr.h"

struct hosts;

/* Takes @text (owned, NUL-terminated, modified). Invalid lines are skipped, as in every reader of
 * hosts(5). */
struct hosts *hosts_new(char *text);
void hosts_free(struct hosts *hosts);
/* The addresses of exactly @name (lower case, no trailing dot), in file order; at most @max.
 * Returns how many. */
size_t hosts_find(struct hosts *hosts, const char *name, struct addr *ret, size_t max);
