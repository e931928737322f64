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
/* Hears every record when it was handed to the sinks, before it is kept. It must not call back. */
typedef void (*journal_heard_fn)(const struct sink_record *record, void *arg);
void journal_set_hearer(struct journal *journal, journal_heard_fn heard, void *arg);
/* Writes the last record, closes. NULL is fine. */
void journal_free(struct journal *journal);

/* Fills in when, session and run. */
void journal_stamp(const struct journal *journal, struct sink_record *record);

/* Noted now, written before the next record or by journal_flush(): the command may start meanwhile.
 * Copies @command. */
void journal_note_start(struct journal *journal);
void journal_note_exec(struct journal *journal, uint64_t exec, const char *command);

/* Queues a record for journal_commit(), at most GATEWAY_BATCH behind the last one. Once anything
 * failed, all is -EIO for good, and said once in the log. */
int journal_write(struct journal *journal, const struct sink_record *record);
/* The same for what nobody is told: the caller has a turn come, whose first commit takes it along.
 * Any number; when many are queued it commits. */
int journal_write_later(struct journal *journal, const struct sink_record *record);
/* 0: every record so far is in the files. */
int journal_commit(struct journal *journal);
/* The notes, committed. */
int journal_flush(struct journal *journal);
bool journal_has_failed(const struct journal *journal);
