/* To add a record sink: gateway/audit/NAME.c and gateway/audit/NAME.h, which fill and declare a
 * struct sink_ops; its line in gateway/audit/table.c; gateway/meson.build; the option that enables
 * it in struct gateway_config (gateway/gateway.h); the same in contract_open() of
 * tests/contract/contract.c, whose tests then cover it. Its command-line option is added like any
 * other. A sink stores records; it never decides. When it cannot write, every later verdict is a
 * denial, so it fails only if it must. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct sink;

#define SINK_FILES_MAX 3
#define SINK_BATCH_MAX 4096 /* records that were passed in and not committed */

enum sink_event {
	SINK_START,
	SINK_EXEC_START,
	SINK_DECISION,
	SINK_CLOSED,
	SINK_GRANTED,   /* granted in advance for one exec, or copied from a session; the cause is
			 * the grant */
	SINK_REVIEWED,  /* a program reviewed a command, a patch and so on: the cause */
	SINK_REVOKED,   /* a remembered answer is no longer valid; its text is the cause */
	SINK_LATE,      /* an answer to a question that had ended; how it ended is the cause */
	SINK_WITHHELD,  /* environment variables that it does not get: the cause */
	SINK_MADE,      /* files that it left, which run code later: the files, and the cause */
	SINK_REFUSED,   /* its sandbox refused something: the cause */
	SINK_PROBED,    /* its sandbox was probed, or not: the cause */
	SINK_PUBLISHED, /* ports of the host on which its servers can be reached: the cause */
	SINK_WORKER_ENDED, /* the proxy worker ended: the cause */
	SINK_LIMIT,        /* a limit that a command has reached; @kind: the word in the policy */
	SINK_POLICY_RELOADED,
	SINK_POLICY_RELOAD_FAILED,
	SINK_EXEC_END,
	SINK_END,
	SINK_GAP,        /* writing failed for a while, and everything was denied */
	SINK_KILLED,     /* the run was killed; written by the process that merged its records */
	SINK_PRUNED,     /* the oldest records were removed; written by the process that did it */
	SINK_CHECKPOINT, /* signs the records before it; written by the process that did it */
	SINK_UNSIGNED,   /* they could not be signed: the cause; written in the same way */
	SINK_EVENT_COUNT
};

/* An answer without effect. Text is borrowed. */
struct sink_late {
	const char *question, *by;
	const char *said; /* "allow session" */
	uint64_t answers; /* number of late answers to this question, this one included */
};

/* The start of a run. */
struct sink_start {
	char *user, *host, *cwd, *version, *digest;
	bool observes; /* nobody is asked */
};

/* For counted denials. */
struct sink_times {
	uint64_t count;
	int64_t first_us, last_us;
};

/* What is missing in the log. */
struct sink_gap {
	int64_t since_us;
	uint64_t denied; /* verdicts that became denials */
	uint64_t lost;   /* other records that were dropped for lack of room */
};

/* What a signature says about a log, besides its records. */
struct sink_checkpoint {
	const char *log, *key; /* the log's identity; who signs */
	uint64_t first;        /* the oldest record that was not pruned */
	uint64_t after;        /* the checkpoint before; its hash is the digest. 0: none */
	const char *replaces;  /* the identity of the log with the checkpoint before; NULL: this */
};

/* A plain value; all text is borrowed. Members that are NULL, zero or POLICY_NONE are not
 * written. */
struct sink_record {
	enum sink_event event;
	int64_t wall_us, mono_ms;
	const char *session, *run;
	uint64_t exec;
	const char *command; /* exec_start, reviewed, program: the argv */
	const char *program; /* the path of its file */
	const char *kind;    /* decision, limit: of what; NULL: of a destination */
	const char *grants;  /* decision: what it may access in addition */
	const char *through; /* decision: the channel of the answer */
	bool is_unconfined, is_retry;
	int exit_status; /* exec_end; end, if @has_status */
	bool has_status;
	const struct sink_start *start;
	const char *chain;                    /* the parents of @program */
	uint64_t waited_ms;                   /* closed: before it was allowed */
	const struct policy_facts *facts;     /* decision, closed */
	const struct policy_verdict *verdict; /* decision, closed */
	enum policy_reason reason;            /* of the verdict; closed: how it ended */
	struct addr resolved;
	bool is_resolved_upstream;    /* by an upstream proxy: the address is not known */
	const struct sink_late *late; /* late_answer; has no verdict */
	const char *files, *digest;   /* policy_*: the changed files; of the whole policy */
	const char *cause;
	const char *from, *from_run; /* granted: the session that it was copied from */
	uint64_t bytes_up, bytes_down;
	uint64_t duration_ms;     /* decision: time until the verdict; closed: time it was open */
	uint32_t dns_ms, dial_ms; /* as in struct gateway_report; never written, only counted */
	bool has_traffic;         /* writes bytes and duration even if they are 0 */
	const struct sink_gap *gap;
	const struct sink_times *times;
	const struct sink_checkpoint *checkpoint;
	bool is_awaited; /* a request waits: if the commit fails, it is dropped; others are kept */
};

struct sink_ops {
	const char *name;
	/* NULL and @why: it could not be opened. NULL with an empty @why: @config does not enable
	 * it. Copies what it needs later. */
	struct sink *(*open)(const struct gateway_config *config, struct err *why);
	/* Its timers are in @loop, which is kept. NULL: it has none. */
	void (*attach)(struct sink *self, struct loop *loop);
	/* Adds a record; it is not stored, and has no effect, before commit(). -E2BIG: there are
	 * SINK_BATCH_MAX already; that is not a failed write. Borrows @record. */
	int (*write)(struct sink *self, const struct sink_record *record, struct err *why);
	/* 0: all added records are stored, or -errno with @why: none of them is, and the awaited
	 * ones are dropped. Never waits for another process. */
	int (*commit)(struct sink *self, struct err *why);
	/* In place of commit(), when a sink before it in the table has failed: drops the awaited
	 * records and keeps the others. NULL: the sink is the first one. */
	void (*forget)(struct sink *self);
	/* Appends a part of the stored records to the file that people read. 1: there is more.
	 * -EAGAIN: another process holds the lock, or the file cannot be written now. Another
	 * -errno with @why: the file is damaged, and nothing may be allowed until it is
	 * repaired. @is_strict: what was stored stays until it is on the disk in that file. */
	int (*publish)(struct sink *self, bool is_strict, struct err *why);
	/* Files whose data may not be on the disk: of what was stored, or (@is_all) all. Returns
	 * their number, at most SINK_FILES_MAX. NULL: it keeps nothing on a disk. */
	size_t (*files)(struct sink *self, bool is_all, int *ret);
	/* All files that were named last are on the disk. True: there is more to publish. */
	bool (*stored)(struct sink *self);
	void (*close)(struct sink *self);
};

extern const struct sink_ops *const sink_table[]; /* NULL-terminated; table.c */
