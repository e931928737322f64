#include "gateway/audit/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/record.h"
#include "gateway/audit/segment.h"
#include "gateway/link/left.h"

/* Lines that are sealed for the log. */
struct merge {
	struct chain next;
	char *bytes;
	size_t len, size;
};

static int merge_seal(struct merge *merge, const char *members, size_t len)
{
	if (merge->size - merge->len < CHAIN_LINE_MAX) {
		merge->size += SEGMENT_CHUNK;
		merge->bytes = mem_grow(merge->bytes, merge->size, 1);
	}
	ssize_t n = chain_seal(&merge->next, members, len, merge->bytes + merge->len);

	if (n < 0)
		return (int)n;
	merge->len += (size_t)n;
	return 0;
}

static int merge_seal_record(const struct sink_record *record, void *arg)
{
	char members[CHAIN_MEMBERS_MAX];
	ssize_t len = record_members(record, members, sizeof(members));

	return len < 0 ? (int)len : merge_seal(arg, members, (size_t)len);
}

static int merge_seal_killed(struct merge *merge, const char *run, bool is_cut, bool is_torn)
{
	struct sink_record record = {
		.event = SINK_KILLED,
		.run = run,
		.cause = is_torn && is_cut
				 ? "the machine stopped before the run's last records were on the "
				   "disk, or they were removed; files that its command left behind "
				   "may have no record"
			 : is_torn
				 ? "the run was killed while it wrote a record, or the end of its "
				   "records was removed; files that its command left behind may "
				   "have no record"
				 : "the run was killed, or could not write its last records; those "
				   "that it wrote have now been merged, and files that its command "
				   "left behind may have no record",
	};

	record_stamp(&record);
	return merge_seal_record(&record, merge);
}

static bool merge_is_end(const char *line, size_t len)
{
	static const char end[] = ",\"event\":\"end\","; /* quotes in texts are escaped */

	return memmem(line, len, end, sizeof(end) - 1) != NULL;
}

/* Seals the lines of @read; *@ret_has_ended: the last one ends the run. */
static int merge_lines(struct merge *merge, const struct segment_read *read, bool *ret_has_ended)
{
	*ret_has_ended = false;
	for (const char *at = read->bytes, *end = at + read->len; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len;
		const char *members = chain_members(at, (size_t)(newline - at), &len);
		int r = merge_seal(merge, members, len);

		if (r < 0)
			return r;
		*ret_has_ended = merge_is_end(at, (size_t)(newline - at));
		at = newline + 1;
	}
	return 0;
}

/* Do the lines from @at say that @run was killed, after what its workers had left? */
static bool merge_is_killed(const char *at, const char *end, const char *run)
{
	char killed[SEGMENT_RUN_MAX + 64], any[SEGMENT_RUN_MAX + 16];
	int n = snprintf(killed, sizeof(killed), ",\"run\":\"%s\",\"event\":\"killed\",", run);
	int m = snprintf(any, sizeof(any), ",\"run\":\"%s\",", run);
	const char *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		size_t len = (size_t)(newline - at);

		if (memmem(at, len, killed, (size_t)n))
			return true;
		if (!memmem(at, len, any, (size_t)m))
			return false;
		at = newline + 1;
	}
	return false;
}

/* Skips the records that the run, or one that merged them, had merged before it was killed: those
 * of its next records that are in the log at the place where they were to be written.
 * *@ret_is_told: and the record that it was killed. */
static int merge_recover(const struct logfile *log, struct segment *segment, const char *run,
			 bool *ret_is_told, struct err *why)
{
	struct segment_read read = { 0 };
	size_t size = SEGMENT_CHUNK * 2;
	auto_free char *there = mem_new(size);
	ssize_t n = pread(log->fd, there, size, segment->log.size);
	int r = n < 0 ? err_errno(why, errno, "cannot read %s", log->path)
		      : segment_read(segment, &read, why);
	const char *ours = read.bytes, *theirs = there;

	while (r == 0 && ours < read.bytes + read.len) {
		const char *our_end = memchr(ours, '\n', (size_t)(read.bytes + read.len - ours));
		const char *their_end = memchr(theirs, '\n', (size_t)(there + n - theirs));
		char prev[DIGEST_TEXT_MAX], hash[DIGEST_TEXT_MAX];
		uint64_t seq;
		size_t our_len, their_len;

		if (!their_end ||
		    chain_read(theirs, (size_t)(their_end - theirs), &seq, prev, hash, NULL) < 0)
			break;
		const char *our = chain_members(ours, (size_t)(our_end - ours), &our_len);
		const char *their = chain_members(theirs, (size_t)(their_end - theirs), &their_len);

		if (our_len != their_len || memcmp(our, their, our_len) != 0)
			break;
		r = chain_check(&segment->merged, ours, (size_t)(our_end - ours), why);
		ours = our_end + 1;
		theirs = their_end + 1;
	}

	*ret_is_told = r == 0 && run && ours == read.bytes + read.len &&
		       merge_is_killed(theirs, there + n, run);
	free(read.bytes);
	return r;
}

static int merge_locked(struct logfile *log, struct segment *segment, struct left *left,
			bool is_kept, struct err *why)
{
	const char *run = left ? left_run(left) : NULL;
	struct segment_read read = { 0 };
	struct merge merge = { .next = log->chain };
	bool has_ended = false, is_told = false;
	int r = segment->is_unsure ? merge_recover(log, segment, run, &is_told, why) : 0;

	if (r == 0)
		r = segment_read(segment, &read, why);
	if (r == 0)
		r = merge_lines(&merge, &read, &has_ended);
	bool is_over = run && read.is_last;

	if (r == 0 && is_over && !is_told)
		r = left_each(left, merge_seal_record, &merge);
	if (r == 0 && is_over && !has_ended && !is_told)
		r = merge_seal_killed(&merge, run, segment->is_cut, read.is_torn);
	if (r == 0) {
		segment->log = log->chain;
		r = segment_save(segment);
	}
	if (r == 0 && merge.len > 0) {
		segment->is_unsure = true;
		r = logfile_append(log, merge.bytes, merge.len, &merge.next, why);
	}
	if (r == 0)
		segment->is_unsure = run != NULL;
	if (r == 0 && is_over)
		left_remove(left);
	if (r == 0 && is_kept && (read.is_last || !run)) {
		segment->is_taken = true;
		segment->taken = read.chain;
	} else if (r == 0) {
		segment->merged = read.chain;
		segment->log = log->chain;
		r = read.is_last && !run ? segment_rewind(segment) : segment_save(segment);
	}
	if (r == 0 && !read.is_last)
		r = 1;
	free(read.bytes);
	free(merge.bytes);
	return r;
}

int merge_some(struct logfile *log, struct segment *segment, struct left *left, bool is_kept,
	       struct err *why)
{
	int r = logfile_lock(log, why);

	if (r < 0)
		return r;
	r = merge_locked(log, segment, left, is_kept, why);
	logfile_unlock(log);
	return r;
}

struct merge_job {
	struct logfile *log;
	struct merge_kept *kept;
	struct err *why;
};

enum { MERGE_NEXT, MERGE_STEP }; /* look at the next segment; a step was done */

static int merge_one(const char *path, const char *run, void *arg)
{
	const struct merge_job *job = arg;
	struct err why = { 0 };
	struct segment segment;
	struct left *left = NULL;

	if (job->kept->count == MERGE_KEPT_MAX)
		return -EBUSY;
	int r = segment_open(&segment, path, true, &why);

	if (r == 0)
		r = left_open(path, run, &left, &why);
	bool is_live = r == -EBUSY; /* or a worker of it */

	if (r == 0)
		r = merge_some(job->log, &segment, left, true, &why);
	left_free(left);
	if (r == 0)
		job->kept->list[job->kept->count++] =
			segment; /* locked, so it is not found again */
	else
		segment_close(&segment);
	if (is_live)
		return MERGE_NEXT;
	if (r >= 0)
		return MERGE_STEP;
	if (r == -EBUSY)
		return r;
	(void)err_set(job->why, r, "%s", why.text); /* other segments may be valid */
	return MERGE_NEXT;
}

int merge_left(struct logfile *log, const char *dir, const char *key, struct merge_kept *kept,
	       struct err *why)
{
	struct merge_job job = { log, kept, why };

	return segment_each(dir, key, merge_one, &job);
}

static void merge_shift(struct merge_kept *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
		segment_close(&kept->list[i]);
	kept->count -= count;
	memmove(kept->list, kept->list + count, kept->count * sizeof(*kept->list));
}

void merge_release(struct merge_kept *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)unlink(kept->list[i].path); /* otherwise the next run merges it once more */
	merge_shift(kept, count);
}

void merge_kept_done(struct merge_kept *kept)
{
	merge_shift(kept, kept->count);
}
