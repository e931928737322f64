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
#include "base/mem.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/merge.h"
#include "gateway/audit/record.h"
#include "gateway/audit/segment.h"

#define ROOM_STEP 8 /* room for this many of the longest records at first; it grows */

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
	bool has_looked_around;     /* segments of dead runs were looked for */
	struct jsonl_room gathered; /* the members of all records, one after another */
	struct jsonl_room batch;    /* the same, as lines */
	struct jsonl_item *items;
	size_t count, item_room;
};

/* Makes room for one more record of the longest kind. */
static void jsonl_make_room(struct jsonl_room *room)
{
	if (room->len + CHAIN_LINE_MAX + SEGMENT_END <= room->size)
		return;
	room->size += ROOM_STEP * (size_t)CHAIN_LINE_MAX;
	room->bytes = mem_grow(room->bytes, room->size, 1);
}

static void jsonl_close(struct sink *sink)
{
	struct jsonl *self = (struct jsonl *)sink;

	if (!self)
		return;
	/* Records that are not merged stay for the next run or `sallyport audit merge`. */
	if (self->segment.fd >= 0 && self->segment.path &&
	    self->segment.merged.seq == self->segment.end.seq)
		(void)unlink(self->segment.path);
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
	int r = logfile_open(&self->log, config->audit_path, why);

	if (r == 0)
		r = jsonl_check_log(self, why);
	if (r == 0) {
		segment_key(config->audit_path, self->key);
		r = segment_create(&self->segment, self->dir, self->key, config->run, why);
	}
	if (r == 0)
		return (struct sink *)self;
	jsonl_close((struct sink *)self);
	return NULL;
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
			(void)err_errno(why, -r, "cannot write %s", self->segment.path);
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
	int r = self->has_looked_around ? 0 : merge_left(&self->log, self->dir, self->key, &why);

	self->has_looked_around = r == 0;
	if (why.text[0] != '\0' && r == 0)
		log_warn("audit: the records of another run were not merged: %s", why.text);
	return r < 0 ? -EAGAIN : r;
}

static int jsonl_publish(struct sink *sink, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	/* A person may have moved a damaged log away. */
	int r = self->log.fd < 0 || self->log.head_fd < 0 ? logfile_reopen(&self->log, why) : 0;

	if (r == 0 && self->segment.merged.seq != self->segment.end.seq)
		r = merge_some(&self->log, &self->segment, NULL, why);
	if (r == -EBADMSG) { /* searched again each time */
		fd_close(self->log.head_fd);
		self->log.head_fd = -1;
		return r;
	}
	if (r != 0)
		return r < 0 ? -EAGAIN : r;
	return jsonl_look_around(self);
}

const struct sink_ops jsonl_ops = {
	.name = "jsonl",
	.open = jsonl_open,
	.write = jsonl_write,
	.commit = jsonl_commit,
	.publish = jsonl_publish,
	.close = jsonl_close,
};
