/* merge: moves the records of segments into the audit log, where they are chained again. */
#pragma once

#include <stdbool.h>

struct err;
struct logfile;
struct segment;

/* Merges the next part of @segment's records. @run: the dead run that left it: checks what its last
 * step did, and at the end records that it was killed, unless it had ended. 1: there is more. 0:
 * everything is in the log, and @segment is empty. -EBUSY: another process has the log. -EBADMSG
 * with @why: one of the two is damaged. Another -errno: not possible now. */
int merge_some(struct logfile *log, struct segment *segment, const char *run, struct err *why);

/* Does one step for one segment of a dead run in @dir: 1: there may be more; 0: nothing is left,
 * except what @why describes; -EBUSY as above. */
int merge_left(struct logfile *log, const char *dir, const char *key, struct err *why);
