/* merge: the records of segments go into the audit log, and are chained there anew. */
#pragma once

#include <stdbool.h>

struct err;
struct logfile;
struct segment;

/* The next part of @segment's records. @run: it was left by that run, which is dead: what its
 * last step did is looked up, and the log says at the end that it was killed, unless it had ended.
 * 1: there is more. 0: all is in the log, and @segment is empty. -EBUSY: another process has the
 * log. -EBADMSG with @why: one of the two is damaged. Another -errno: not now. */
int merge_some(struct logfile *log, struct segment *segment, const char *run, struct err *why);

/* One step for one segment in @dir whose run is dead: 1, and there may be more to do; 0, nothing
 * is left but what @why speaks of; -EBUSY as above. */
int merge_left(struct logfile *log, const char *dir, const char *key, struct err *why);
