/* segment: a file of one run, to which its records are written before they take effect, and from
 * which they are merged into the audit log. Commands cannot see it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/audit/chain.h"

struct err;

#define SEGMENT_BEGIN      (2 * CHAIN_HEAD_BYTES) /* offset of the first record */
#define SEGMENT_END        CHAIN_HEAD_BYTES       /* size of the head after the last one */
#define SEGMENT_RUN_MAX    64
#define SEGMENT_KEY_MAX    17
#define SEGMENT_CHUNK      (256U << 10) /* bytes of records that are merged at once */
#define SEGMENT_RECORD_MAX (CHAIN_LINE_MAX + SEGMENT_END)

/* A value; closed is { .fd = -1 }. The sizes in @merged and @end are offsets in the segment. */
struct segment {
	char *path;
	int fd;
	struct chain merged; /* at the last record that is in the audit log */
	struct chain log;    /* the end of the log before the next records are, or were, merged */
	struct chain end;    /* after the last record; not known for segments of others */
	bool is_cut;         /* the machine was started again: its end may be damaged */
	bool is_unsure;      /* more records than @merged may be in the log, at @log */
	/* Merged into the log up to here, but the log may not be on the disk. */
	bool is_taken;
	struct chain taken;
};

/* Identifies the segments of the log at @path: equal for every spelling of it. */
void segment_key(const char *path, char ret[SEGMENT_KEY_MAX]);

/* Makes one in @dir, which only we can write to; locked until this process ends. 0 or -errno with
 * @why; close it in every case. */
int segment_create(struct segment *self, const char *dir, const char *key, const char *run,
		   struct err *why);
/* Opens an existing one. @is_taken: to merge it; -EBUSY: its run is alive. -EBADMSG: it is
 * damaged. */
int segment_open(struct segment *self, const char *path, bool is_taken, struct err *why);
void segment_close(struct segment *self);

/* Writes the lines of @bytes, after which the chain is at @next, in one write. After the @len
 * bytes, @bytes has room for SEGMENT_END more. 0, or -errno: nothing of it was stored. */
int segment_append(struct segment *self, char *bytes, size_t len, const struct chain *next);

/* Complete lines that are not merged yet, at most SEGMENT_CHUNK bytes, and the chain after them.
 * is_last: there are no more; is_torn: and the head at the end is missing. segment_read() returns
 * 0, or -EBADMSG or another -errno with @why. */
struct segment_read {
	char *bytes; /* owned */
	size_t len;
	struct chain chain;
	bool is_last, is_torn;
};
int segment_read(const struct segment *self, struct segment_read *ret, struct err *why);

/* Writes @merged and @log to the file. */
int segment_save(const struct segment *self);
/* Everything is merged: reuses its space. */
int segment_rewind(struct segment *self);

/* What was taken is on the disk: writes that down, or reuses the space. */
int segment_settle(struct segment *self);

/* Calls @each with the path and the run of every segment in @dir with @key, until it returns a
 * value other than 0, which is returned. */
typedef int (*segment_each_fn)(const char *path, const char *run, void *arg);
int segment_each(const char *dir, const char *key, segment_each_fn each, void *arg);
