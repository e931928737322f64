/* probe: the functions of ways.def, one for each way. Each returns -errno if the
 * way is closed, PROBE_SKIP(reason) if it was not tried, and else anything not negative. */
#pragma once

#include "exec/probe/probe.h"

#define PROBE_OPEN       0L
#define PROBE_SKIP_FROM  (-5000L)
#define PROBE_SKIP(why)  (PROBE_SKIP_FROM - (long)(why))
#define PROBE_PATHS_MAX  4    /* of one kind that are tried */
#define PROBE_WAIT_MS    2000 /* for an answer that comes at once unless the machine is overloaded */
#define PROBE_NUMBER_MAX 24   /* digits, and the NUL */

typedef long (*probe_fn)(const struct probe_setting *setting);

/* The text of the first bait of this kind (enum wire_bait), or NULL. */
const char *probe_bait(const struct probe_setting *setting, char kind);
long probe_number(const char *digits);
/* Copies @before, @number in decimal, and @after to @out of @size bytes, cut. */
void probe_name(char *out, unsigned long size, const char *before, long number, const char *after);
/* Closes what a call returned that must not work, and returns its result. */
long probe_close(long fd);
/* PROBE_OPEN, unless @result is @error or @other. */
long probe_refused(long result, long error, long other);

#define WAY(id, name, function, what) long function(const struct probe_setting *setting);
#include "exec/probe/ways.def"
#undef WAY
