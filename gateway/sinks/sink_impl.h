/* To add a sink, write one file here that fills a struct sink_ops, add its line to table.c and to
 * gateway/meson.build. A sink keeps records; it never decides. What it cannot write makes every
 * later verdict a denial, so it fails only when it must. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct sink;

#define SINK_BATCH_MAX 4096 /* records that are taken in and not committed */

enum sink_event {
	SINK_START,
	SINK_EXEC_START,
	SINK_DECISION,
	SINK_CLOSED,
	SINK_GRANTED,  /* said before anybody asked, for one exec, or copied from a session; that
			  text is the cause */
	SINK_REVIEWED, /* a program said something of a command, a patch and so on: the cause */
	SINK_REVOKED,  /* a remembered answer holds no more; its text is the cause */
	SINK_LATE,     /* an answer to a question that was over; how that ended is the cause */
	SINK_PROGRAM,  /* what a command was not let execute */
	SINK_POLICY_RELOADED,
	SINK_POLICY_RELOAD_FAILED,
	SINK_EXEC_END,
	SINK_END,
	SINK_GAP,    /* nothing could be written for a while, and all was denied */
	SINK_KILLED, /* the run ended without a word; said by who merged what it left */
	SINK_EVENT_COUNT
};

/* An answer that did nothing. Text is borrowed. */
struct sink_late {
	const char *question, *by;
	const char *said; /* "allow session" */
	uint64_t answers; /* that came to this question too late, with this one */
};

/* Of a run. */
struct sink_start {
	char *user, *host, *cwd, *version, *digest;
};

/* Of denials that are counted. */
struct sink_times {
	uint64_t count;
	int64_t first_us, last_us;
};

/* What is not in the log. */
struct sink_gap {
	int64_t since_us;
	uint64_t denied; /* verdicts that were denied instead */
	uint64_t lost;   /* records of other kinds, for which there was no room */
};

/* Plain value, all text borrowed. NULL, zero and POLICY_NONE are left out of what is written. */
struct sink_record {
	enum sink_event event;
	int64_t wall_us, mono_ms;
	const char *session, *run;
	uint64_t exec;
	const char *command; /* exec_start, reviewed, program: words it was called with */
	const char *program; /* the file that it is */
	const char *kind;    /* decision: of what; NULL: a destination */
	const char *through; /* decision: the way the answer came */
	bool is_unconfined, is_retry;
	int exit_status; /* exec_end; end, if @has_status */
	bool has_status;
	const struct sink_start *start;
	const char *chain;                    /* who started @program, by name */
	uint64_t waited_ms;                   /* closed: before it was allowed */
	const struct policy_facts *facts;     /* decision, closed */
	const struct policy_verdict *verdict; /* decision, closed */
	enum policy_reason reason;            /* the verdict's; closed: how it ended */
	struct addr resolved;
	const struct sink_late *late; /* late_answer; has no verdict */
	const char *files, *digest;   /* policy_*: which changed, and of the whole policy */
	const char *cause;
	const char *from, *from_run; /* granted: the session that it was copied from */
	uint64_t bytes_up, bytes_down;
	uint64_t duration_ms; /* decision: how long it waited; closed: how long it was open */
	bool has_traffic;     /* bytes and duration are written even when 0 */
	const struct sink_gap *gap;
	const struct sink_times *times;
	/* What it says holds only when it is kept: when a commit fails it is forgotten. Others are
	 * kept for the next commit. */
	bool is_awaited;
};

struct sink_ops {
	const char *name;
	/* NULL and @why: could not be opened. NULL with an empty @why: not wanted by @config.
	 * Copies what it keeps. */
	struct sink *(*open)(const struct gateway_config *config, struct err *why);
	/* Takes a record in; it is not kept, and nothing is held for it, before commit. -E2BIG:
	 * there are SINK_BATCH_MAX already, and it is no gap. Borrows @record. */
	int (*write)(struct sink *self, const struct sink_record *record, struct err *why);
	/* 0: all that was taken in is kept, or -errno with @why: none of it is, and what is awaited
	 * is forgotten. Never waits for another process. */
	int (*commit)(struct sink *self, struct err *why);
	/* A part of what is kept becomes what people read. 1: there is more. -EAGAIN: another
	 * process is at it, or it cannot be written now. Another -errno with @why: what people read
	 * is damaged, and nothing may be allowed before it is whole. */
	int (*publish)(struct sink *self, struct err *why);
	void (*close)(struct sink *self);
};

extern const struct sink_ops *const sink_table[]; /* NULL-terminated; table.c */
