#include "gateway/audit/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/bounds.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/disk/durable.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/merge.h"
#include "gateway/audit/segment.h"
#include "policies/policies_gate.h"

#define JOURNAL_SINKS_MAX  8
#define JOURNAL_LATER_MAX  64  /* records that no request waits for, before they are written */
#define JOURNAL_PUBLISH_MS 20  /* delay before written records are merged into the audit log */
#define JOURNAL_BUSY_MS    50  /* delay before another attempt if other processes hold the log */
#define JOURNAL_RETRY_MS   250 /* delay before another attempt after a write error */
#define JOURNAL_LAST_MS    100 /* for the log, at the end, if other processes hold it */

/* An event from before there was time to write it. */
struct note {
	struct sink_record record;
	struct sink_start start; /* its text is a copy */
	char *command;
	STAILQ_ENTRY(note) entry;
};

struct journal {
	struct loop *loop;
	const char *session, *run; /* of the gateway's config */
	struct durable *durable;
	bool is_strict;
	struct {
		const struct sink_ops *ops;
		struct sink *self;
	} sinks[JOURNAL_SINKS_MAX];
	size_t sink_count;
	STAILQ_HEAD(note_list, note) notes;
	size_t queued, awaited; /* since the last commit; and of these, the awaited ones */
	struct journal_hearer hearer;
	struct loop_timer publish, retry;
	struct sink_gap gap;   /* so far */
	uint64_t denied, lost; /* in the gaps before */
	bool was_started, has_status;
	int status;
	bool has_failed, is_over; /* the second: until the end */
};

static void note_free(struct note *note)
{
	free(note->start.user);
	free(note->start.host);
	free(note->start.cwd);
	free(note->start.version);
	free(note->start.digest);
	free(note->command);
	free(note);
}

static void journal_close(struct journal *journal)
{
	struct note *note;

	loop_timer_stop(&journal->publish);
	loop_timer_stop(&journal->retry);
	durable_free(journal->durable);
	for (size_t i = 0; i < journal->sink_count; i++)
		journal->sinks[i].ops->close(journal->sinks[i].self);
	while ((note = STAILQ_FIRST(&journal->notes))) {
		STAILQ_REMOVE_HEAD(&journal->notes, entry);
		note_free(note);
	}
	free(journal);
}

static size_t journal_files(bool is_all, int ret[DISK_FILES_MAX], void *arg)
{
	static_assert(SINK_FILES_MAX <= DISK_FILES_MAX, "one sink has files");
	const struct journal *journal = arg;

	for (size_t i = 0; i < journal->sink_count; i++) {
		if (journal->sinks[i].ops->files)
			return journal->sinks[i].ops->files(journal->sinks[i].self, is_all, ret);
	}
	return 0;
}

static void journal_publish(void *arg);

static void journal_stored(bool is_all, void *arg)
{
	struct journal *journal = arg;
	bool is_more = false;

	for (size_t i = 0; is_all && i < journal->sink_count; i++) {
		if (journal->sinks[i].ops->stored)
			is_more |= journal->sinks[i].ops->stored(journal->sinks[i].self);
	}
	if (is_more && journal->is_strict && !journal->has_failed)
		loop_timer_start(journal->loop, &journal->publish, JOURNAL_PUBLISH_MS,
				 journal_publish, journal);
	if (!is_all && journal->hearer.stored)
		journal->hearer.stored(journal->hearer.arg);
}

static void journal_lost(const char *words, bool is_late, void *arg);

/* The names of new files are in it. */
static int journal_store_folder(const char *path, struct err *why)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_errno(why, errno, "%s cannot be written to the disk", path);
	return 0;
}

static int journal_store_folders(const struct gateway_config *config, struct err *why)
{
	const char *slash = strrchr(config->audit_path, '/');
	auto_free char *folder =
		slash ? mem_strndup(config->audit_path, (size_t)(slash - config->audit_path) + 1)
		      : mem_strdup(".");
	int r = journal_store_folder(folder, why);

	return r < 0 ? r : journal_store_folder(config->audit_dir, why);
}

/* With `durable strict` a run without a log on a disk does not begin. */
static int journal_prepare(struct journal *journal, const struct gateway_config *config,
			   struct err *why)
{
	int fds[DISK_FILES_MAX], r = durable_prepare(journal->durable, why);
	size_t count = journal_files(true, fds, journal);

	if (r == 0 && count == 0)
		r = err_set(why, -EINVAL, "there is no audit log");
	for (size_t i = 0; i < count && r == 0; i++) {
		if (fsync(fds[i]) < 0)
			r = err_errno(why, errno, "the audit log cannot be written to the disk");
	}
	if (r == 0)
		r = journal_store_folders(config, why);
	return r < 0 ? err_prefix(why, r, "the policy says `durable strict`") : 0;
}

struct journal *journal_new(struct loop *loop, const struct gateway_config *config, struct err *why)
{
	struct journal *journal = mem_new(sizeof(*journal));
	const struct durable_config durable = {
		loop, journal_files, journal_stored, journal_lost, journal,
	};

	journal->loop = loop;
	journal->session = config->session;
	journal->run = config->run;
	journal->is_strict = policy_is_durable(config->policy);
	journal->durable = durable_new(&durable);
	STAILQ_INIT(&journal->notes);
	for (size_t i = 0; sink_table[i]; i++) {
		struct err own = { 0 };
		struct sink *sink = sink_table[i]->open(config, &own);

		assert(i < JOURNAL_SINKS_MAX);
		if (sink) {
			journal->sinks[journal->sink_count].ops = sink_table[i];
			journal->sinks[journal->sink_count++].self = sink;
			if (sink_table[i]->attach)
				sink_table[i]->attach(sink, loop);
		} else if (own.text[0] != '\0') {
			(void)err_set(why, -EIO, "%s", own.text); /* the caller gets NULL */
			journal_close(journal);
			return NULL;
		}
	}
	if (!journal->is_strict || journal_prepare(journal, config, why) == 0)
		return journal;
	journal_close(journal);
	return NULL;
}

void journal_set_hearer(struct journal *journal, const struct journal_hearer *hearer)
{
	journal->hearer = *hearer;
}

void journal_stamp(const struct journal *journal, struct sink_record *record)
{
	record->wall_us = loop_wall_us(journal->loop);
	record->mono_ms = loop_now_ms(journal->loop);
	record->session = journal->session;
	record->run = journal->run;
}

static struct note *journal_note(struct journal *journal, enum sink_event event, uint64_t exec,
				 const char *command)
{
	struct note *note = mem_new(sizeof(*note));

	note->command = mem_strdup_or_null(command);
	note->record.event = event;
	note->record.exec = exec;
	note->record.command = note->command;
	journal_stamp(journal, &note->record);
	STAILQ_INSERT_TAIL(&journal->notes, note, entry);
	return note;
}

/* Uses the number if there is no name: an unresponsive name service must not delay a start. */
void journal_note_start(struct journal *journal, const struct gateway_config *config)
{
	char host[HOST_NAME_MAX + 1] = "";
	struct note *note = journal_note(journal, SINK_START, 0, NULL);

	journal->was_started = true;
	(void)gethostname(host, sizeof(host) - 1); /* "": not known */
	note->start = (struct sink_start){
		.user = mem_printf("%u", (unsigned int)geteuid()),
		.host = mem_strdup(host),
		.cwd = mem_strdup_or_null(config->cwd),
		.version = mem_strdup_or_null(config->version),
		.digest = mem_strdup_or_null(config->digest),
		.observes = config->observes,
	};
	note->record.start = &note->start;
}

void journal_set_status(struct journal *journal, int status)
{
	journal->status = status;
	journal->has_status = true;
}

void journal_note_exec(struct journal *journal, uint64_t exec, const char *command)
{
	(void)journal_note(journal, SINK_EXEC_START, exec, command);
}

void journal_mark_unconfined(struct journal *journal)
{
	struct note *note, *last = NULL;

	STAILQ_FOREACH (note, &journal->notes, entry)
		last = note;
	if (last)
		last->record.is_unconfined = true;
}

static void journal_try_again(void *arg);

static int journal_fail(struct journal *journal, const struct err *why)
{
	if (journal->has_failed)
		return -EIO;
	log_error("audit: %s; all requests are denied and open connections are closed until %s",
		  why->text,
		  journal->is_over ? "the end of this run" : "records can be written again");
	journal->has_failed = true;
	journal->denied += journal->gap.denied;
	journal->lost += journal->gap.lost;
	journal->gap = (struct sink_gap){ .since_us = loop_wall_us(journal->loop) };
	loop_timer_stop(&journal->publish);
	if (!journal->is_over)
		loop_timer_start(journal->loop, &journal->retry, JOURNAL_RETRY_MS,
				 journal_try_again, journal);
	if (journal->hearer.failed)
		journal->hearer.failed(journal->hearer.arg);
	return -EIO;
}

/* The kernel tells an error once, and forgets what it could not write: a later success would prove
 * nothing. */
static void journal_lost(const char *words, bool is_late, void *arg)
{
	struct journal *journal = arg;
	struct err why = { 0 };

	(void)err_set(&why, -EIO, "%s", words);
	journal->is_over |= !is_late;
	if (!is_late)
		loop_timer_stop(&journal->retry);
	(void)journal_fail(journal, &why);
}

/* While writing fails, records are kept for later, as long as there is room. */
static void journal_keep(struct journal *journal, const struct sink_record *record)
{
	bool is_lost = false;

	for (size_t i = 0; i < journal->sink_count; i++)
		is_lost |= journal->sinks[i].ops->write(journal->sinks[i].self, record, NULL) < 0;
	journal->gap.lost += is_lost;
}

static int journal_put(struct journal *journal, const struct sink_record *record)
{
	struct err why = { 0 };

	if (journal->has_failed && record->is_awaited)
		journal->gap.denied++;
	else if (journal->has_failed)
		journal_keep(journal, record);
	if (journal->has_failed)
		return -EIO;
	journal->queued++;
	journal->awaited += record->is_awaited;
	for (size_t i = 0; i < journal->sink_count && !journal->has_failed; i++) {
		if (journal->sinks[i].ops->write(journal->sinks[i].self, record, &why) < 0)
			return journal_fail(journal, &why);
	}
	if (journal->hearer.heard)
		journal->hearer.heard(record, journal->hearer.arg);
	return 0;
}

static int journal_publish_all(struct journal *journal, struct err *why)
{
	int all = 0;

	for (size_t i = 0; i < journal->sink_count; i++) {
		int r = journal->sinks[i].ops->publish(journal->sinks[i].self, journal->is_strict,
						       why);

		if (r < 0 && r != -EAGAIN)
			return r;
		all = r != 0 ? r : all;
	}
	return all;
}

int journal_publish_now(struct journal *journal)
{
	struct err why = { 0 };
	int r = journal_publish_all(journal, &why);

	return r < 0 && r != -EAGAIN ? journal_fail(journal, &why) : r;
}

static void journal_publish(void *arg)
{
	struct journal *journal = arg;
	int r = journal_publish_now(journal);

	if (r >= 0 && journal->is_strict)
		durable_hurry(journal->durable); /* the segment has the records until then */
	else if (r >= 0)
		durable_written(journal->durable);
	if (r > 0 || r == -EAGAIN)
		loop_timer_start(journal->loop, &journal->publish,
				 r > 0 ? JOURNAL_PUBLISH_MS : JOURNAL_BUSY_MS, journal_publish,
				 journal);
}

int journal_commit(struct journal *journal)
{
	struct err why = { 0 };
	size_t awaited = journal->awaited;
	bool is_any = journal->queued > 0;

	journal->queued = journal->awaited = 0;
	if (journal->has_failed)
		return -EIO;
	for (size_t i = 0; i < journal->sink_count; i++) {
		if (journal->has_failed && journal->sinks[i].ops->forget)
			journal->sinks[i].ops->forget(journal->sinks[i].self);
		else if (journal->sinks[i].ops->commit(journal->sinks[i].self, &why) < 0)
			(void)journal_fail(journal, &why);
	}
	if (journal->has_failed) {
		journal->gap.denied += awaited;
		return -EIO;
	}
	if (is_any)
		durable_written(journal->durable);
	if (is_any && !journal->publish.is_armed)
		loop_timer_start(journal->loop, &journal->publish, JOURNAL_PUBLISH_MS,
				 journal_publish, journal);
	return 0;
}

/* Writes the kept records, and then how long writing failed: both, or nothing. */
static int journal_open_again(struct journal *journal, struct err *why)
{
	struct sink_record record = { .event = SINK_GAP, .gap = &journal->gap, .is_awaited = true };
	int r = journal_publish_all(journal, why);

	if (r < 0 && r != -EAGAIN)
		return r;
	r = 0;
	journal_stamp(journal, &record);
	for (size_t i = 0; i < journal->sink_count && r == 0; i++) {
		r = journal->sinks[i].ops->write(journal->sinks[i].self, &record, why);
		if (r == 0)
			r = journal->sinks[i].ops->commit(journal->sinks[i].self, why);
	}
	return r;
}

static bool journal_has_recovered(struct journal *journal)
{
	struct err why = { 0 };

	if (durable_is_late(journal->durable) || journal_open_again(journal, &why) < 0)
		return false;
	journal->has_failed = false;
	log_warn("audit: records can be written again; %llu requests were denied in the meantime",
		 (unsigned long long)journal->gap.denied);
	return true;
}

static void journal_try_again(void *arg)
{
	struct journal *journal = arg;

	if (!journal_has_recovered(journal)) {
		loop_timer_start(journal->loop, &journal->retry, JOURNAL_RETRY_MS,
				 journal_try_again, journal);
		return;
	}
	loop_timer_start(journal->loop, &journal->publish, JOURNAL_PUBLISH_MS, journal_publish,
			 journal);
}

/* Leaves room for a batch of awaited records. */
static int journal_put_later(struct journal *journal, const struct sink_record *record)
{
	static_assert(JOURNAL_LATER_MAX + GATEWAY_BATCH < SINK_BATCH_MAX, "both fit, and a gap");
	int r = journal_put(journal, record);

	return r == 0 && journal->queued >= JOURNAL_LATER_MAX ? journal_commit(journal) : r;
}

static int journal_put_notes(struct journal *journal)
{
	struct note *note;

	while ((note = STAILQ_FIRST(&journal->notes))) {
		STAILQ_REMOVE_HEAD(&journal->notes, entry);
		(void)journal_put_later(journal, &note->record); /* the error is kept */
		note_free(note);
	}
	return journal->has_failed ? -EIO : 0;
}

int journal_write(struct journal *journal, const struct sink_record *record)
{
	(void)journal_put_notes(journal); /* the error is kept */
	return journal_put(journal, record);
}

int journal_write_later(struct journal *journal, const struct sink_record *record)
{
	(void)journal_put_notes(journal); /* the error is kept */
	return journal_put_later(journal, record);
}

int journal_flush(struct journal *journal)
{
	int r = journal_put_notes(journal);
	int committed = journal_commit(journal);

	return r < 0 ? r : committed;
}

void journal_set_strict(struct journal *journal, bool is_strict)
{
	if (is_strict)
		(void)durable_prepare(journal->durable, NULL); /* journal_await() tells */
	journal->is_strict = is_strict;
}

uint64_t journal_await(struct journal *journal)
{
	return journal->is_strict ? durable_await(journal->durable) : 0;
}

uint64_t journal_reached(const struct journal *journal)
{
	return durable_reached(journal->durable);
}

bool journal_has_failed(const struct journal *journal)
{
	return journal->has_failed;
}

void journal_missing(const struct journal *journal, uint64_t *ret_denied, uint64_t *ret_lost)
{
	*ret_denied = journal->denied + journal->gap.denied;
	*ret_lost = journal->lost + journal->gap.lost;
}

/* The loop has ended, so waiting for the disk delays nothing. */
static int journal_publish_last_part(struct journal *journal, struct err *why)
{
	int fds[DISK_FILES_MAX], r = journal_publish_all(journal, why);
	size_t count = journal->is_strict ? journal_files(true, fds, journal) : 0;
	bool is_more = false;

	for (size_t i = 0; i < count; i++) {
		if (fdatasync(fds[i]) < 0)
			return err_errno(why, errno, "the disk did not take records");
	}
	for (size_t i = 0; count > 0 && i < journal->sink_count; i++) {
		if (journal->sinks[i].ops->stored)
			is_more |= journal->sinks[i].ops->stored(journal->sinks[i].self);
	}
	return r == 0 && is_more ? 1 : r;
}

/* The loop has ended. Other processes hold the log for microseconds, unless one was stopped:
 * records that are not in the log then stay in the segment, and the next run merges them. */
static void journal_publish_last(struct journal *journal)
{
	struct err why = { 0 };
	int64_t until_ms = loop_clock_ms() + JOURNAL_LAST_MS;
	int r;

	while ((r = journal_publish_last_part(journal, &why)) > 0 ||
	       (r == -EAGAIN && loop_clock_ms() < until_ms))
		(void)poll(NULL, 0, r < 0);
	if (r < 0 && r != -EAGAIN)
		log_error("audit: %s", why.text);
	else if (r < 0)
		log_warn("audit: %s; the next run or `sallyport audit merge` will merge the "
			 "remaining records",
			 why.text);
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	if (journal->was_started) {
		struct sink_record record = { .event = SINK_END,
					      .exit_status = journal->status,
					      .has_status = journal->has_status };

		/* There may be room again, since the last attempt. */
		if (journal->has_failed && !journal->is_over)
			(void)journal_has_recovered(journal);
		journal_stamp(journal, &record);
		(void)journal_write(
			journal,
			&record); /* a failure is logged; no request is left to be denied */
		(void)journal_commit(journal);
		journal_publish_last(journal);
		if (journal->has_failed)
			log_error("audit: the last records of this run could not be written; %llu "
				  "requests were denied for that, and the next run records that "
				  "records are missing",
				  (unsigned long long)journal->gap.denied);
	}
	journal_close(journal);
}

static int journal_merge_left(struct logfile *log, const char *dir, const char *key,
			      struct err *why)
{
	struct merge_kept kept = { 0 };
	bool was_full;
	int r;

	do {
		while ((r = merge_left(log, dir, key, &kept, why)) == 1)
			;
		was_full = kept.count == MERGE_KEPT_MAX;
		if (kept.count > 0 && fdatasync(log->fd) < 0) {
			r = err_errno(why, errno, "cannot write %s to the disk", log->path);
			break;
		}
		merge_release(&kept, kept.count);
	} while (was_full);
	merge_kept_done(&kept);
	return r;
}

int gateway_audit_merge(const char *path, const char *dir, struct err *why)
{
	struct logfile log;
	char key[SEGMENT_KEY_MAX];
	int r = logfile_open(&log, path, why);

	segment_key(path, key);
	if (r == 0)
		r = journal_merge_left(&log, dir, key, why);
	if (r == 0 && why->text[0] != '\0')
		r = -EBADMSG;
	logfile_close(&log);
	return r;
}
