/* journal: writes every decision and every closed connection to every sink before it takes
 * effect. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/gateway.h"
#include "gateway/audit/sink_impl.h"

struct journal;

/* Opens the sinks that @config wants. It is cheap: a sink loads and checks its files at its first
 * record. Keeps @loop and the text of session and run. Returned owned, or NULL with @why. */
struct journal *journal_new(struct loop *loop, const struct gateway_config *config,
			    struct err *why);
/* @heard: gets every record when it was passed to the sinks, before it is stored; it must not call
 * back. @failed: writing fails from now on; it is called from anywhere, and must only note it. */
struct journal_hearer {
	void (*heard)(const struct sink_record *record, void *arg);
	void (*failed)(void *arg);
	/* journal_reached() has risen; as above. */
	void (*stored)(void *arg);
	void *arg;
};
void journal_set_hearer(struct journal *journal, const struct journal_hearer *hearer);
/* Writes the last record, closes. NULL is fine. */
void journal_free(struct journal *journal);

/* Sets the run's exit status for the last record. */
void journal_set_status(struct journal *journal, int status);
/* Fills in the time, session and run. */
void journal_stamp(const struct journal *journal, struct sink_record *record);

/* Notes the start; it is written before the next record, or by journal_flush(), so that the command
 * can start meanwhile. Copies @command. */
void journal_note_start(struct journal *journal, const struct gateway_config *config);
void journal_note_exec(struct journal *journal, uint64_t exec, const char *command);
void journal_mark_unconfined(struct journal *journal); /* the start that was noted last */

/* Queues a record for journal_commit(); at most GATEWAY_BATCH after the last commit. After a failed
 * write every call returns -EIO, which is logged once: requests that wait for a record are denied,
 * and other records are kept, as long as there is room, until writing works again; then a record
 * says how long it failed and how many are missing. */
int journal_write(struct journal *journal, const struct sink_record *record);
/* The same for a record that no request waits for: the caller schedules a turn, whose first commit
 * includes it. Any number; it commits by itself when many are queued. */
int journal_write_later(struct journal *journal, const struct sink_record *record);
/* 0: all records so far are in the files. */
int journal_commit(struct journal *journal);
/* Writes the notes, and commits. */
int journal_flush(struct journal *journal);
/* Another policy is in force: does it say `durable strict`? */
void journal_set_strict(struct journal *journal, bool is_strict);
/* With `durable strict`: asks for all committed records to be on the disk. Returns the number that
 * journal_reached() has when they are; without it 0. After a failure it is never reached. */
uint64_t journal_await(struct journal *journal);
uint64_t journal_reached(const struct journal *journal);
/* Committed records are merged into the audit log a moment later; for tests: merges a part now.
 * Returns as publish() of a sink. */
int journal_publish_now(struct journal *journal);
bool journal_has_failed(const struct journal *journal);
/* Since the start: verdicts that became denials, and other records that were dropped. */
void journal_missing(const struct journal *journal, uint64_t *ret_denied, uint64_t *ret_lost);
