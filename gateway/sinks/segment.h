/* segment: a file of one run's own, to which its records are written before anybody acts on them,
 * and from which they go into the audit log. It lies where no command sees it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/sinks/chain.h"

struct err;

#define SEGMENT_BEGIN      (2 * CHAIN_HEAD_BYTES) /* where the records begin */
#define SEGMENT_END        CHAIN_HEAD_BYTES       /* what stands behind the last one */
#define SEGMENT_RUN_MAX    64
#define SEGMENT_KEY_MAX    17
#define SEGMENT_CHUNK      (256U << 10) /* bytes of records that are merged at once */
#define SEGMENT_RECORD_MAX (CHAIN_LINE_MAX + SEGMENT_END)

/* Value; closed is { .fd = -1 }. The sizes of @merged and @end are places in the segment. */
struct segment {
	char *path;
	int fd;
	struct chain merged; /* the last of its records that stands in the audit log */
	struct chain log;    /* where the log stood when the next are, or were, merged */
	struct chain end;    /* the last one of all; of a segment of others not known */
	bool is_unsure;      /* it may be that more than @merged stands in the log, at @log */
};

/* Which segments belong to the log at @path: the same for every spelling of it. */
void segment_key(const char *path, char ret[SEGMENT_KEY_MAX]);

/* A new one in @dir, which is ours alone; it is locked, for as long as this process lives. 0 or
 * -errno with @why; close in every case. */
int segment_create(struct segment *self, const char *dir, const char *key, const char *run,
		   struct err *why);
/* One that exists. @is_taken: it is to be merged; -EBUSY, its run lives. -EBADMSG: it is damaged.
 */
int segment_open(struct segment *self, const char *path, bool is_taken, struct err *why);
void segment_close(struct segment *self);

/* Writes the lines of @bytes, behind which the chain stands at @next, in one write. Behind the
 * @len bytes there is room for SEGMENT_END more. 0, or -errno: nothing of it is kept. */
int segment_append(struct segment *self, char *bytes, size_t len, const struct chain *next);

/* What is not merged yet, at most SEGMENT_CHUNK bytes, whole lines: how many bytes, returned owned
 * in @ret_bytes with *@ret the chain behind them, or -EBADMSG with @why. @ret_is_last: that is all;
 * @ret_is_torn: and what shows where it ends is not there. */
struct segment_read {
	char *bytes; /* owned */
	size_t len;
	struct chain chain;
	bool is_last, is_torn;
};
int segment_read(const struct segment *self, struct segment_read *ret, struct err *why);

/* Writes @merged and @log down. */
int segment_save(const struct segment *self);
/* All is merged: its room is used again. */
int segment_rewind(struct segment *self);

/* Calls @each with the path and the run of every segment in @dir that has @key, until it returns
 * other than 0: that. */
typedef int (*segment_each_fn)(const char *path, const char *run, void *arg);
int segment_each(const char *dir, const char *key, segment_each_fn each, void *arg);
