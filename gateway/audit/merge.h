/* merge: moves the records of segments into the audit log, where they are chained again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/audit/segment.h"

struct err;
struct left;
struct logfile;

/* Merges the next part of @segment's records. @left: of the dead run that left it: checks what its
 * last step did, and at the end merges that, too, and records that the run was killed, unless it
 * had ended. @is_kept: the part also stays in the segment (is_taken) until segment_settle(). 1:
 * there is more. 0: everything is in the log, and @segment is empty or taken. -EBUSY: another
 * process has the log. -EBADMSG with @why: one of the two is damaged. Another -errno: not possible
 * now. */
int merge_some(struct logfile *log, struct segment *segment, struct left *left, bool is_kept,
	       struct err *why);

/* Segments of dead runs whose records are in the log, which may not be on the disk. */
#define MERGE_KEPT_MAX 16
struct merge_kept {
	struct segment list[MERGE_KEPT_MAX];
	size_t count;
};
/* Does one step for one segment of a dead run in @dir: 1: there may be more; 0: nothing is left,
 * except what @why describes; -EBUSY as above, or @kept is full. */
int merge_left(struct logfile *log, const char *dir, const char *key, struct merge_kept *kept,
	       struct err *why);
/* The log has the first @count on the disk: removes them. */
void merge_release(struct merge_kept *kept, size_t count);
/* Closes them; the next run takes them again. */
void merge_kept_done(struct merge_kept *kept);
