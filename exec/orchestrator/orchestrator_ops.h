/* orchestrator_ops: the operations an orchestrator is given, and what it passes to them: its
 * questions, the execs it starts, the programs that decide before a person. */
#pragma once

#include "exec/orchestrator/orchestrator_decided.h"
#include "exec/orchestrator/orchestrator_mode.h"
#include "exec/orchestrator/orchestrator_request.h"

struct err;

#define ORCHESTRATOR_ID_MAX        33 /* 128 bits, lower-case hexadecimal, and NUL */
#define ORCHESTRATOR_REQUESTS_MAX  4096
#define ORCHESTRATOR_APPROVALS_MAX 4096 /* remembered; a further one is not stored */
#define ORCHESTRATOR_DECIDERS_MAX  16

enum orchestrator_choice {
	ORCHESTRATOR_DENY,
	ORCHESTRATOR_ABORT, /* once, and the agent is to stop */
	ORCHESTRATOR_ONCE,
	ORCHESTRATOR_SESSION,
	ORCHESTRATOR_ALWAYS,      /* stores the proposal */
	ORCHESTRATOR_DENY_ALWAYS, /* of a destination: stores a rule that denies it */
	ORCHESTRATOR_UNCONFINED   /* the last resort of a retry: once, without any confinement */
};
struct orchestrator_answer {
	enum orchestrator_choice choice;
	int64_t expires_ms;  /* SESSION: forgotten after this time; 0: at the end of the session */
	bool is_nobody;      /* DENY: no person answered, because none was asked */
	const char *words;   /* the reason of a denial, for the agent; may be NULL */
	const char *by;      /* who answered, in records; NULL: the client */
	const char *through; /* how the answer came; static; NULL: from the client */
	size_t proposal;     /* ALWAYS: store only this line of the proposal, from 1; 0: all */
};
/* The answers of a program that decides before a person. */
enum orchestrator_decision {
	ORCHESTRATOR_DECIDES_DENY,
	ORCHESTRATOR_PASS,
	ORCHESTRATOR_DECIDES_ALLOW,
	/* It gave no answer, and might have denied: this counts as PASS, but of the programs after
	 * it only a denial counts. */
	ORCHESTRATOR_WAS_LATE,
	ORCHESTRATOR_HAS_FAILED
};
struct orchestrator_question {
	const char *id; /* for this question and this decider only */
	uint64_t client;
	enum orchestrator_kind kind; /* also NETWORK: a retry for destinations only */
	bool is_retry, is_one_shot;
	const uint64_t *requests; /* those that wait for it, or whose execs it is about */
	size_t request_count;
	const char *cwd;
	const char *const *argv;     /* EXEC; PERMISSIONS: of a program */
	const char *const *env;      /* variables of the request only */
	const char *const *keys;     /* PATCH, ELICITATION */
	const char *changes;         /* PATCH; may be NULL */
	struct command_file program; /* the file of argv[0]; path "": unknown */
	/* What is granted: to run confined like this. */
	bool is_confined;
	const struct exec_sandbox *sandbox; /* includes what is granted, if confined */
	const struct orchestrator_access *accesses;
	size_t access_count;
	unsigned int choices; /* BIT(enum orchestrator_choice): others are rejected */
	const char *reason, *justification;
	const char *const *proposal; /* lines of ALWAYS, NULL-terminated */
	/* PASS; or why a program that was asked before gave no answer, although it might have
	 * denied. */
	enum orchestrator_decision heard;
	int64_t deadline_ms; /* loop_now_ms(); after it the answer is a denial */
};
struct orchestrator_exec {
	uint64_t number, request;
	bool is_retry, is_confined;
	bool is_open_by_rule;               /* not confined, as a rule says */
	const struct exec_sandbox *sandbox; /* if confined: exactly this one */
	/* Granted to this exec in addition to its sandbox: destinations, programs. */
	const struct orchestrator_access *accesses;
	size_t access_count;
	size_t new_from;     /* from this index on, the answer to its question granted them; */
	bool is_for_session; /* and the gateway may remember those */
	struct command_file program; /* it executes only this file; path "": unknown */
	const struct orchestrator_request *wanted; /* the orchestrator's copy */
	enum orchestrator_by by;                   /* who allowed it, */
	const char *name;                          /* and for HOOK and REVIEWER, its name */
};

/* A program that decides before a person. */
struct orchestrator_decider {
	const char *name; /* shown */
	bool is_reviewer; /* no answer is reported as such; it has a breaker; in a strict session it
			     reviews everything that runs */
	unsigned int
		kinds; /* BIT(enum orchestrator_kind) of the questions it gets; others skip it */
	bool may_unconfine; /* may also allow a first run that is unconfined */
	int64_t timeout_ms; /* a late answer is a denial */
};

/* All arguments are borrowed for the call. */
struct orchestrator_ops {
	/* Asks the person who answers for question->client. Not 0: there is none; it is denied. */
	int (*ask)(const struct orchestrator_question *question, void *arg);
	/* The number of requests that wait for an open question has changed. */
	void (*changed)(const struct orchestrator_question *question, void *arg);
	/* The question ended without this decider's answer: @why for people. */
	void (*retract)(const char *id, const char *why, void *arg);
	/* Asks config->deciders[@decider]; answer with orchestrator_decide(). Not 0: it is
	 * denied. */
	int (*decide)(size_t decider, const struct orchestrator_question *question, void *arg);
	/* Records a decision: every one, before it takes effect; so an allow is recorded before its
	 * exec is created. Not 0: it cannot be recorded, and what it allows is denied. */
	int (*decided)(const struct orchestrator_decided *decided, void *arg);
	/* Starts an exec; report its end with orchestrator_exec_ended(). Not 0: it is not
	 * started. */
	int (*start)(const struct orchestrator_exec *exec, struct err *why, void *arg);
	void (*stop)(uint64_t exec, const char *why, void *arg);
	void (*pause)(uint64_t exec, bool is_paused, void *arg); /* the exec's clock */
	/* Appends @lines to the policy; report the end with orchestrator_stored(). Not 0: they are
	 * not stored. */
	int (*store)(uint64_t number, const char *const *lines, void *arg);
};

struct orchestrator_config {
	const struct orchestrator_ops *ops; /* kept */
	void *arg;                          /* passed to every operation */
	enum orchestrator_mode mode;
	unsigned int categories; /* GRANULAR */
	uint64_t *last_exec; /* kept: the number of the last exec, shared by all orchestrators */
	const struct command_rules *rules; /* kept; NULL: no rules */
	/* A retry may be offered without confinement, unless a file is denied. */
	bool may_unconfine;
	bool may_leave_by_rule; /* accept `command allow … unconfined`, which is more than allow */
	bool judges_programs; /* the programs that a confined run executes are judged by the rules,
				 too */
	bool is_strict;       /* a reviewer sees everything that runs, and hooks cannot allow */
	int64_t question_ms;  /* time to answer a question; 0: ORCHESTRATOR_QUESTION_MS */
	const struct orchestrator_decider *deciders; /* kept; asked in this order */
	size_t decider_count;
};
#define ORCHESTRATOR_QUESTION_MS (5 * 60 * INT64_C(1000))
