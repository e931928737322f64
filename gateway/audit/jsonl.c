/* Records are collected, sealed and written to a segment of this run with one write(2), and are
 * stored then: this takes no lock and waits for no other process. From there they are merged, in
 * the loop, into the audit log that all runs share; if the log is not available, the run
 * continues. */
#include "gateway/audit/jsonl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/merge.h"
#include "gateway/audit/record.h"
#include "gateway/audit/segment.h"
#include "gateway/gateway_audit.h"
#include "gateway/link/left.h"

#define ROOM_STEP    8     /* room for this many of the longest records at first; it grows */
#define SIGN_MS      60000 /* between the first record without a signature and the signature */
#define SIGN_LATE_MS 10000 /* for the process that signs */
#define SIGN_LAST_MS 100   /* the same at the end, when nothing else is left to do */

struct jsonl_room {
	char *bytes;
	size_t len, size;
};

/* One collected record. */
struct jsonl_item {
	size_t end; /* the end of its members in @gathered */
	bool is_awaited;
};

struct jsonl {
	struct logfile log;
	struct segment segment;
	char *dir;
	char key[SEGMENT_KEY_MAX];
	bool has_looked_around; /* segments of dead runs were looked for */
	struct merge_kept kept; /* of dead runs */
	bool is_merged;         /* the log has data that may not be on the disk */
	struct {                /* when files() was called last, for all */
		bool is_taken;
		size_t kept;
	} storing;
	struct jsonl_room gathered; /* the members of all records, one after another */
	struct jsonl_room batch;    /* the same, as lines */
	struct jsonl_item *items;
	size_t count, item_room;
	struct jsonl_signing {
		char *key_dir; /* NULL: nothing is signed */
		struct loop *loop;
		struct loop_timer timer, prepare;
		struct aside *aside;
		bool is_due, has_failed; /* records were merged since; a failure was reported */
	} signing;
};

/* Makes room for one more record of the longest kind. */
static void jsonl_make_room(struct jsonl_room *room)
{
	if (room->len + CHAIN_LINE_MAX + SEGMENT_END <= room->size)
		return;
	room->size += ROOM_STEP * (size_t)CHAIN_LINE_MAX;
	room->bytes = mem_grow(room->bytes, room->size, 1);
}

static void jsonl_not_signed(struct jsonl_signing *signing, const char *words)
{
	if (!signing->has_failed)
		log_warn("audit: records are not signed: %s", words);
	signing->has_failed = true;
}

/* In a process of its own: it reads, and may make, the key. */
static void jsonl_sign(FILE *out, void *arg)
{
	const struct jsonl *self = arg;
	struct err why = { 0 };
	/* It opens the log: a lock of an inherited descriptor would be the parent's, too. */
	int r = gateway_audit_sign(self->log.path, self->dir, self->signing.key_dir, &why);

	if (r < 0)
		(void)fputs(why.text, out); /* the stream is in memory */
}

static void jsonl_sign_later(struct jsonl *self);

static void jsonl_signed(int result, const char *bytes, size_t len, void *arg)
{
	struct jsonl *self = arg;

	aside_free(take(self->signing.aside));
	if (result < 0 || len > 0) {
		jsonl_not_signed(&self->signing, result < 0 ? aside_words(result) : bytes);
		self->signing.is_due = true;
	}
	if (self->signing.is_due)
		jsonl_sign_later(self);
}

static void jsonl_sign_now(void *arg)
{
	struct jsonl *self = arg;
	const struct aside_config config = {
		.name = "sallyport-sign",
		.run = jsonl_sign,
		.run_arg = self,
		.limit_ms = SIGN_LATE_MS,
		.max_bytes = ERR_MAX_BYTES,
		.done = jsonl_signed,
		.arg = self,
	};

	self->signing.is_due = false;
	self->signing.aside = aside_start(self->signing.loop, &config);
}

/* Records were merged, or not signed. */
static void jsonl_sign_later(struct jsonl *self)
{
	struct jsonl_signing *signing = &self->signing;

	signing->is_due = true;
	if (signing->key_dir && signing->loop && !signing->aside && !signing->timer.is_armed)
		loop_timer_start(signing->loop, &signing->timer, SIGN_MS, jsonl_sign_now, self);
}

/* The loop has ended: another process would only be waited for. */
static void jsonl_sign_last(struct jsonl *self)
{
	struct jsonl_signing *signing = &self->signing;
	bool is_due = signing->is_due || signing->aside;
	struct err why = { 0 };

	loop_timer_stop(&signing->timer);
	loop_timer_stop(&signing->prepare);
	aside_free(signing->aside);
	int r = 0;

	is_due = is_due && signing->key_dir;
	if (is_due && self->log.head_fd < 0)
		r = logfile_reopen(&self->log, &why);
	if (is_due && r == 0)
		r = checkpoint_write(&self->log, self->dir, signing->key_dir, SIGN_LAST_MS, &why);
	if (r < 0 && r != -EBUSY) /* the next run signs it */
		jsonl_not_signed(signing, why.text);
	free(signing->key_dir);
}

/* The loop has ended, so waiting for the disk delays nothing. */
static void jsonl_release(struct jsonl *self)
{
	if (self->kept.count > 0 && fdatasync(self->log.fd) == 0)
		merge_release(&self->kept, self->kept.count);
	merge_kept_done(&self->kept);
}

/* All records are in the log: also what a worker had written while they could not be. */
static void jsonl_remove(const struct jsonl *self)
{
	struct left *left;

	if (left_open(self->segment.path, "", &left, NULL) == 0)
		left_remove(left);
	left_free(left);
	(void)unlink(self->segment.path);
}

static void jsonl_close(struct sink *sink)
{
	struct jsonl *self = (struct jsonl *)sink;

	if (!self)
		return;
	jsonl_release(self);
	jsonl_sign_last(self);
	/* Records that are not merged stay for the next run or `sallyport audit merge`, and so does
	 * the segment of a run whose end could not be written: it shows that records are missing.
	 */
	if (self->segment.fd >= 0 && self->segment.path && !self->segment.is_taken &&
	    self->count == 0 && self->segment.merged.seq == self->segment.end.seq)
		jsonl_remove(self);
	segment_close(&self->segment);
	logfile_close(&self->log);
	free(self->gathered.bytes);
	free(self->batch.bytes);
	free(self->items);
	free(self->dir);
	free(self);
}

/* Refuses a damaged log before the run begins; a process that holds it has checked it. */
static int jsonl_check_log(struct jsonl *self, struct err *why)
{
	int r = logfile_lock(&self->log, why);

	logfile_unlock(&self->log);
	return r == -EBUSY ? 0 : r;
}

static struct sink *jsonl_open(const struct gateway_config *config, struct err *why)
{
	if (!config->audit_path)
		return NULL;
	if (!config->audit_dir) {
		(void)err_set(why, -EINVAL, "the folder for the audit log's segments is missing");
		return NULL;
	}
	struct jsonl *self = mem_new(sizeof(*self));

	self->segment.fd = -1;
	self->dir = mem_strdup(config->audit_dir);
	self->signing.key_dir = mem_strdup_or_null(config->key_dir);
	int r = logfile_open(&self->log, config->audit_path, why);

	if (r < 0)
		(void)err_prefix(why, r, "the audit log (--audit FILE names another)");
	if (r == 0)
		r = jsonl_check_log(self, why);
	if (r == 0) {
		segment_key(config->audit_path, self->key);
		r = segment_create(&self->segment, self->dir, self->key, config->run, why);
		if (r == -ENOSPC || r == -EDQUOT) /* the segment has a name that nobody knows */
			(void)logfile_unwritten(&self->log, self->dir, r, why);
	}
	if (r == 0)
		return (struct sink *)self;
	jsonl_close((struct sink *)self);
	return NULL;
}

/* In the first turn of the loop other processes start the command, and nothing waits for this one.
 * At the end a person does. */
static void jsonl_prepare(void *arg)
{
	sign_prepare();
}

static void jsonl_attach(struct sink *sink, struct loop *loop)
{
	struct jsonl_signing *signing = &((struct jsonl *)sink)->signing;

	signing->loop = loop;
	if (signing->key_dir)
		loop_defer(loop, &signing->prepare, jsonl_prepare, NULL);
}

static void jsonl_gathered(struct jsonl *self, size_t len, bool is_awaited)
{
	if (self->count == self->item_room) {
		self->item_room = self->item_room ? 2 * self->item_room : 64;
		self->items = mem_grow(self->items, self->item_room, sizeof(*self->items));
	}
	self->gathered.len += len;
	self->items[self->count++] = (struct jsonl_item){ self->gathered.len, is_awaited };
}

static int jsonl_write(struct sink *sink, const struct sink_record *record, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	struct jsonl_room *room = &self->gathered;

	if (self->count >= SINK_BATCH_MAX && !record->gap)
		return err_set(why, -E2BIG, "too many audit records are written together");
	jsonl_make_room(room);
	ssize_t len = record_members(record, room->bytes + room->len, CHAIN_MEMBERS_MAX);

	if (len < 0)
		return err_set(why, (int)len, "an audit record cannot be formatted");
	jsonl_gathered(self, (size_t)len, record->is_awaited);
	return 0;
}

/* Makes lines from the collected records, for the present position of the chain. */
static int jsonl_seal(struct jsonl *self, struct chain *ret_next, struct err *why)
{
	struct jsonl_room *batch = &self->batch;
	size_t from = 0;

	*ret_next = self->segment.end;
	batch->len = 0;
	for (size_t i = 0; i < self->count; i++) {
		jsonl_make_room(batch);
		ssize_t len = chain_seal(ret_next, self->gathered.bytes + from,
					 self->items[i].end - from, batch->bytes + batch->len);

		if (len < 0)
			return err_set(why, (int)len, "an audit record cannot be formatted");
		batch->len += (size_t)len;
		from = self->items[i].end;
	}
	return 0;
}

/* Drops the awaited records, whose requests are denied; the others are still to be written. */
static void jsonl_forget_awaited(struct jsonl *self)
{
	size_t from = 0, count = self->count;

	self->count = self->gathered.len = 0;
	for (size_t i = 0; i < count; i++) {
		const struct jsonl_item item = self->items[i];

		if (!item.is_awaited) {
			memmove(self->gathered.bytes + self->gathered.len,
				self->gathered.bytes + from, item.end - from);
			jsonl_gathered(self, item.end - from, false);
		}
		from = item.end;
	}
}

static int jsonl_commit(struct sink *sink, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	struct chain next;

	if (self->count == 0)
		return 0;
	int r = jsonl_seal(self, &next, why);

	if (r == 0) {
		r = segment_append(&self->segment, self->batch.bytes, self->batch.len, &next);
		if (r < 0)
			(void)logfile_unwritten(&self->log, self->dir, r, why);
	}
	if (r == 0)
		self->count = self->gathered.len = 0;
	else
		jsonl_forget_awaited(self);
	return r;
}

/* Merges segments of dead runs. A damaged one does not stop the run: it is reported, and stays. */
static int jsonl_look_around(struct jsonl *self)
{
	struct err why = { 0 };
	int r = 0;

	if (!self->has_looked_around)
		r = merge_left(&self->log, self->dir, self->key, &self->kept, &why);
	self->is_merged |= r > 0;

	self->has_looked_around = r == 0;
	if (why.text[0] != '\0' && r == 0)
		log_warn("audit: the records of another run were not merged: %s", why.text);
	return r < 0 ? -EAGAIN : r;
}

static int jsonl_publish(struct sink *sink, bool is_strict, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	/* A person may have moved a damaged log away. */
	int r = self->log.fd < 0 || self->log.head_fd < 0 ? logfile_reopen(&self->log, why) : 0;

	if (r == 0 && self->segment.is_taken)
		return -EAGAIN;
	if (r == 0 && self->segment.merged.seq != self->segment.end.seq) {
		r = merge_some(&self->log, &self->segment, NULL, is_strict, why);
		self->is_merged |= r >= 0;
		if (r >= 0)
			jsonl_sign_later(self);
	}
	if (r == -EBADMSG) { /* searched again each time */
		fd_close(self->log.head_fd);
		self->log.head_fd = -1;
		return r;
	}
	if (r != 0)
		return r < 0 ? -EAGAIN : r;
	return jsonl_look_around(self);
}

static size_t jsonl_files(struct sink *sink, bool is_all, int *ret)
{
	struct jsonl *self = (struct jsonl *)sink;
	size_t count = 0;

	ret[count++] = self->segment.fd;
	if (!is_all)
		return count;
	self->storing.is_taken = self->segment.is_taken;
	self->storing.kept = self->kept.count;
	if (self->is_merged && self->log.fd >= 0 && self->log.head_fd >= 0) {
		ret[count++] = self->log.fd;
		ret[count++] = self->log.head_fd;
	}
	self->is_merged = false;
	return count;
}

static bool jsonl_stored(struct sink *sink)
{
	struct jsonl *self = (struct jsonl *)sink;

	merge_release(&self->kept, self->storing.kept);
	self->storing.kept = 0;
	if (self->storing.is_taken)
		(void)segment_settle(&self->segment); /* with its old head it is merged again */
	self->storing.is_taken = false;
	return self->segment.merged.seq != self->segment.end.seq;
}

const struct sink_ops jsonl_ops = {
	.name = "jsonl",
	.open = jsonl_open,
	.attach = jsonl_attach,
	.write = jsonl_write,
	.commit = jsonl_commit,
	.publish = jsonl_publish,
	.files = jsonl_files,
	.stored = jsonl_stored,
	.close = jsonl_close,
};
