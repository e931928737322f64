#include "gateway/journal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/bounds.h"
#include "gateway/gateway_tools.h"
#include "gateway/sinks/verify.h"

#define JOURNAL_SINKS_MAX 8
#define JOURNAL_LATER_MAX (SINK_BATCH_MAX / 2)

/* Something that happened before there was time to write it. */
struct note {
	struct sink_record record;
	char *command;
	STAILQ_ENTRY(note) entry;
};

struct journal {
	struct loop *loop;
	const char *session, *run; /* of the gateway's config */
	struct {
		const struct sink_ops *ops;
		struct sink *self;
	} sinks[JOURNAL_SINKS_MAX];
	size_t sink_count;
	STAILQ_HEAD(note_list, note) notes;
	size_t queued;          /* since the last commit */
	journal_heard_fn heard; /* may be NULL */
	void *heard_arg;
	bool was_started;
	bool has_failed;
};

static void journal_close(struct journal *journal)
{
	struct note *note;

	for (size_t i = 0; i < journal->sink_count; i++)
		journal->sinks[i].ops->close(journal->sinks[i].self);
	while ((note = STAILQ_FIRST(&journal->notes))) {
		STAILQ_REMOVE_HEAD(&journal->notes, entry);
		free(note->command);
		free(note);
	}
	free(journal);
}

struct journal *journal_new(struct loop *loop, const struct gateway_config *config, struct err *why)
{
	struct journal *journal = mem_new(sizeof(*journal));

	journal->loop = loop;
	journal->session = config->session;
	journal->run = config->run;
	STAILQ_INIT(&journal->notes);
	for (size_t i = 0; sink_table[i]; i++) {
		struct err own = { 0 };
		struct sink *sink = sink_table[i]->open(config, &own);

		assert(i < JOURNAL_SINKS_MAX);
		if (sink) {
			journal->sinks[journal->sink_count].ops = sink_table[i];
			journal->sinks[journal->sink_count++].self = sink;
		} else if (own.text[0] != '\0') {
			(void)err_set(why, -EIO, "%s", own.text); /* the caller gets NULL */
			journal_close(journal);
			return NULL;
		}
	}
	return journal;
}

void journal_set_hearer(struct journal *journal, journal_heard_fn heard, void *arg)
{
	journal->heard = heard;
	journal->heard_arg = arg;
}

void journal_stamp(const struct journal *journal, struct sink_record *record)
{
	record->wall_us = loop_wall_us(journal->loop);
	record->mono_ms = loop_now_ms(journal->loop);
	record->session = journal->session;
	record->run = journal->run;
}

static void journal_note(struct journal *journal, enum sink_event event, uint64_t exec,
			 const char *command)
{
	struct note *note = mem_new(sizeof(*note));

	note->command = mem_strdup_or_null(command);
	note->record.event = event;
	note->record.exec = exec;
	note->record.command = note->command;
	journal_stamp(journal, &note->record);
	STAILQ_INSERT_TAIL(&journal->notes, note, entry);
}

void journal_note_start(struct journal *journal)
{
	journal->was_started = true;
	journal_note(journal, SINK_START, 0, NULL);
}

void journal_note_exec(struct journal *journal, uint64_t exec, const char *command)
{
	journal_note(journal, SINK_EXEC_START, exec, command);
}

static int journal_fail(struct journal *journal, const struct err *why)
{
	if (!journal->has_failed)
		log_error("audit: %s; from now on everything is denied", why->text);
	journal->has_failed = true;
	return -EIO;
}

static int journal_put(struct journal *journal, const struct sink_record *record)
{
	struct err why = { 0 };

	journal->queued++;
	for (size_t i = 0; i < journal->sink_count && !journal->has_failed; i++) {
		if (journal->sinks[i].ops->write(journal->sinks[i].self, record, &why) < 0)
			return journal_fail(journal, &why);
	}
	if (journal->heard && !journal->has_failed)
		journal->heard(record, journal->heard_arg);
	return journal->has_failed ? -EIO : 0;
}

int journal_commit(struct journal *journal)
{
	struct err why = { 0 };

	journal->queued = 0;
	/* Also after a failure: a sink lets go of what it took in. */
	for (size_t i = 0; i < journal->sink_count; i++) {
		if (journal->sinks[i].ops->commit(journal->sinks[i].self, &why) < 0)
			(void)journal_fail(journal, &why);
	}
	return journal->has_failed ? -EIO : 0;
}

/* Leaves room for a batch of those that somebody waits for. */
static int journal_put_later(struct journal *journal, const struct sink_record *record)
{
	static_assert(JOURNAL_LATER_MAX + GATEWAY_BATCH <= SINK_BATCH_MAX, "both fit");
	int r = journal_put(journal, record);

	return r == 0 && journal->queued >= JOURNAL_LATER_MAX ? journal_commit(journal) : r;
}

static int journal_put_notes(struct journal *journal)
{
	struct note *note;

	while ((note = STAILQ_FIRST(&journal->notes))) {
		STAILQ_REMOVE_HEAD(&journal->notes, entry);
		(void)journal_put_later(journal, &note->record); /* a failure is kept */
		free(note->command);
		free(note);
	}
	return journal->has_failed ? -EIO : 0;
}

int journal_write(struct journal *journal, const struct sink_record *record)
{
	int r = journal_put_notes(journal);

	return r < 0 ? r : journal_put(journal, record);
}

int journal_write_later(struct journal *journal, const struct sink_record *record)
{
	int r = journal_put_notes(journal);

	return r < 0 ? r : journal_put_later(journal, record);
}

int journal_flush(struct journal *journal)
{
	int r = journal_put_notes(journal);
	int committed = journal_commit(journal);

	return r < 0 ? r : committed;
}

bool journal_has_failed(const struct journal *journal)
{
	return journal->has_failed;
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	if (journal->was_started) {
		struct sink_record record = { .event = SINK_END };

		journal_stamp(journal, &record);
		(void)journal_write(
			journal,
			&record); /* a failure is in the log, and there is no one left to deny */
		(void)journal_commit(journal);
	}
	journal_close(journal);
}

int gateway_audit_verify(const char *path, uint64_t *ret_records, struct err *why)
{
	return verify_file(path, ret_records, why);
}
