/* orchestrator_request: the values that pass through an orchestrator: requests, refusals, outcomes
 * of execs, results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"
#include "exec/exec_sandbox.h"
#include "exec/orchestrator/orchestrator_network.h"
#include "exec/orchestrator/orchestrator_confinement.h"
#include "policies/commands/commands.h"

#define ORCHESTRATOR_ACCESSES_MAX 16  /* per request, and per retry */
#define ORCHESTRATOR_KEYS_MAX     512 /* per request */
#define ORCHESTRATOR_TEXT_MAX     512

/* One access: refused, asked for, or granted. */
enum orchestrator_class {
	ORCHESTRATOR_WRITE_PATH,
	ORCHESTRATOR_READ_PATH,
	ORCHESTRATOR_SOCKET,      /* a host socket, by path */
	ORCHESTRATOR_DESTINATION, /* host, protocol, port */
	ORCHESTRATOR_PROGRAM,     /* an executable, by path */
	ORCHESTRATOR_SYSTEM_CALL, /* can be refused, never granted */
	ORCHESTRATOR_CLASSES
};
struct orchestrator_access {
	enum orchestrator_class what;
	const char *name;     /* path (absolute), host, or the system call's name */
	const char *protocol; /* of a destination: http, https, tcp or udp */
	uint16_t port;        /* of a destination */
	bool is_listable;     /* of a path: known to be a directory or a file, as `write` names */
};
/* Evidence from the part that refused it; never guessed from output. */
struct orchestrator_refusal {
	struct orchestrator_access access;
	bool is_final;   /* no answer can change it: an explicit denial, a metadata address */
	const char *why; /* a reason code or "" */
};

enum orchestrator_kind {
	ORCHESTRATOR_EXEC,
	ORCHESTRATOR_PATCH, /* of the client's own tool: if it is allowed, the client applies it */
	ORCHESTRATOR_NETWORK, /* in questions and decisions only: access to destinations */
	/* These are only questions and start no exec: */
	ORCHESTRATOR_PERMISSIONS, /* may the following run use these accesses? */
	ORCHESTRATOR_ELICITATION, /* a question of a tool */
	ORCHESTRATOR_KINDS
};
enum orchestrator_requirement {
	ORCHESTRATOR_FORBIDDEN,
	ORCHESTRATOR_ONE_SHOT, /* asked each time; no answer is remembered */
	ORCHESTRATOR_ASKED,
	ORCHESTRATOR_SKIP
};

/* How an exec ended. */
struct orchestrator_outcome {
	enum exec_end end;
	int status;      /* exit code or signal */
	const char *why; /* NOT_STARTED, KILLED: for people; may be NULL */
	const struct orchestrator_refusal *refusals; /* in the order they occurred */
	size_t refusal_count;
	bool is_clean;    /* EXITED: nothing was refused to the process that caused the failure */
	bool is_deferred; /* EXITED: it still runs, and continues after this result */
	int64_t duration_ms;
	/* Belongs to the exec, and is returned with the result: unchanged, whatever was refused. */
	void *output;
};

enum orchestrator_result_kind {
	ORCHESTRATOR_REJECTED_BY_RULE, /* or by the mode: no question may be asked */
	ORCHESTRATOR_REJECTED_BY_PERSON,
	ORCHESTRATOR_REJECTED_BY_HOOK,
	ORCHESTRATOR_REJECTED_BY_REVIEWER,
	ORCHESTRATOR_REJECTED_REVIEWER_LATE,
	ORCHESTRATOR_REJECTED_NO_ANSWER, /* not in time, or there was no one to ask */
	ORCHESTRATOR_DENIED,             /* the exec was refused something, see refusals */
	ORCHESTRATOR_RESULT_NOT_STARTED,
	ORCHESTRATOR_RESULT_TIMED_OUT,
	ORCHESTRATOR_RESULT_SIGNALLED,
	ORCHESTRATOR_RESULT_INTERRUPTED,
	ORCHESTRATOR_RESULT_FAILED,
	ORCHESTRATOR_CANCELLED,
	ORCHESTRATOR_DONE /* it ran, with any exit code; or, without an exec, it was allowed */
};
struct orchestrator_result {
	uint64_t request;
	enum orchestrator_result_kind kind;
	bool is_abort;       /* REJECTED_BY_PERSON: the agent is to stop altogether */
	bool is_asked;       /* a person or a program was asked about it */
	bool is_for_session; /* the last answer holds for the session */
	/* One for each exec, in order; the last one counts. They include the refusals that
	 * occurred, also if the exec succeeded. */
	struct orchestrator_outcome outcomes[2];
	struct orchestrator_network_outcome networks[2];
	uint64_t execs[2];
	size_t exec_count;
	/* For people: the reason; "" if there is none. @note: what was done differently from the
	 * request. */
	char why[ORCHESTRATOR_TEXT_MAX], note[ORCHESTRATOR_TEXT_MAX];
};
/* Runs once, from the loop. @result is borrowed. */
typedef void (*orchestrator_done_fn)(const struct orchestrator_result *result, void *arg);

/* All is copied except @world and @arg, which are kept until @done runs. */
struct orchestrator_request {
	enum orchestrator_kind kind;
	uint64_t client; /* that asks, and whose person answers */
	const char *cwd;
	const char *const *argv; /* EXEC: NULL-terminated. PERMISSIONS: of the program about to run;
				    else NULL */
	const char *const *env;  /* EXEC: NAME=VALUE for this request only, NAME of an inherited
				    variable; NULL: none. Part of its key; no rule allows a run with
				    a variable that changes the command */
	const struct command_world *world; /* EXEC; NULL: programs are not looked up */
	bool has_tty;
	const struct exec_sandbox *sandbox; /* the sandbox it runs in; only an answer widens it */
	enum orchestrator_confinement confinement;
	const struct orchestrator_access *accesses;
	size_t access_count;
	const struct orchestrator_access *granted; /* EXEC: by an earlier answer */
	size_t granted_count;
	bool may_retry;                /* after a denial */
	bool must_confine;             /* no rule or answer lets it leave its sandbox */
	enum orchestrator_place place; /* PATCH */
	bool is_one_shot;              /* asked each time, whatever the rules, or the place, say */
	const char *const *keys; /* PATCH: one per file; ELICITATION. NULL: never remembered */
	size_t key_count;
	const char *changes;       /* PATCH: what it does to the files; only requests with the same
				      changes share a question. May be NULL */
	const char *reason;        /* shown; written by us; may be NULL */
	const char *justification; /* shown; written by the agent; may be NULL */
	enum orchestrator_on_denial on_denial;
	uint64_t exec; /* PERMISSIONS, ELICITATION: the running exec that it is about */
	orchestrator_done_fn done;
	void *arg;
};
