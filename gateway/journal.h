/* journal: every decision and every closed connection goes to every sink before anybody acts on it.
 */
#pragma once

#include <stdbool.h>

#include "gateway/gateway.h"
#include "gateway/sinks/sink_impl.h"

struct journal;

/* Opens the sinks @config wants; cheap: what a sink has to load or check, it does at its first
 * record. Keeps @loop and the session's and run's text. Returned owned, or NULL with @why. */
struct journal *journal_new(struct loop *loop, const struct gateway_config *config,
			    struct err *why);
/* @heard: every record when it was handed to the sinks, before it is kept; it must not call back.
 * @failed: from now on nothing can be written; from anywhere, and it only makes a note of it. */
struct journal_hearer {
	void (*heard)(const struct sink_record *record, void *arg);
	void (*failed)(void *arg);
	void *arg;
};
void journal_set_hearer(struct journal *journal, const struct journal_hearer *hearer);
/* Writes the last record, closes. NULL is fine. */
void journal_free(struct journal *journal);

/* What the last record says the run ended with. */
void journal_set_status(struct journal *journal, int status);
/* Fills in when, session and run. */
void journal_stamp(const struct journal *journal, struct sink_record *record);

/* Noted now, written before the next record or by journal_flush(): the command may start meanwhile.
 * Copies @command. */
void journal_note_start(struct journal *journal, const struct gateway_config *config);
void journal_note_exec(struct journal *journal, uint64_t exec, const char *command);
void journal_mark_unconfined(struct journal *journal); /* the one that was noted last */

/* Queues a record for journal_commit(), at most GATEWAY_BATCH behind the last one. When one cannot
 * be written all is -EIO, said once in the log: who awaits a record is denied, and the others are
 * kept, as far as there is room, until they can be written again; then there is a record of how
 * long it was, and how much is missing. */
int journal_write(struct journal *journal, const struct sink_record *record);
/* The same for what nobody is told: the caller has a turn come, whose first commit takes it along.
 * Any number; when many are queued it commits. */
int journal_write_later(struct journal *journal, const struct sink_record *record);
/* 0: every record so far is in the files. */
int journal_commit(struct journal *journal);
/* The notes, committed. */
int journal_flush(struct journal *journal);
/* What is committed is where people read it a moment later; for tests: now, a part of it. As
 * publish() of a sink. */
int journal_publish_now(struct journal *journal);
bool journal_has_failed(const struct journal *journal);
