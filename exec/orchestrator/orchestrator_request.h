/* orchestrator_request: the values that go through an orchestrator: what is asked for, what was
 * refused, what an attempt did, what came of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec_sandbox.h"
#include "exec/orchestrator/orchestrator_network.h"
#include "exec/orchestrator/orchestrator_wish.h"
#include "policies/commands/commands.h"

#define ORCHESTRATOR_ACCESSES_MAX 16  /* of one request, and of one retry */
#define ORCHESTRATOR_KEYS_MAX     512 /* of one request */
#define ORCHESTRATOR_TEXT_MAX     512

/* One thing to touch: refused, asked for, or granted. */
enum orchestrator_class {
	ORCHESTRATOR_WRITE_PATH,
	ORCHESTRATOR_READ_PATH,
	ORCHESTRATOR_SOCKET,      /* of the host, by path */
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
};
/* Evidence, from what refused it; never from words in an output. */
struct orchestrator_refusal {
	struct orchestrator_access access;
	bool is_final;   /* no answer can change it: an explicit denial, a metadata address */
	const char *why; /* a reason code or "" */
};

enum orchestrator_kind {
	ORCHESTRATOR_EXEC,
	ORCHESTRATOR_PATCH,
	/* Only a question, no attempt: */
	ORCHESTRATOR_NETWORK,     /* may this destination be reached? One access */
	ORCHESTRATOR_PERMISSIONS, /* may what follows touch these accesses? */
	ORCHESTRATOR_ELICITATION, /* a tool's own question */
	ORCHESTRATOR_KINDS
};
enum orchestrator_requirement {
	ORCHESTRATOR_FORBIDDEN,
	ORCHESTRATOR_ONE_SHOT, /* asked each time; touches no cache */
	ORCHESTRATOR_ASKED,
	ORCHESTRATOR_SKIP
};

/* How an attempt ended. */
enum orchestrator_end {
	ORCHESTRATOR_NOT_STARTED, /* there was no sandbox, or no program: never a denial */
	ORCHESTRATOR_EXITED,
	ORCHESTRATOR_SIGNALLED,
	ORCHESTRATOR_TIMED_OUT,
	ORCHESTRATOR_INTERRUPTED, /* somebody pressed ^C */
	ORCHESTRATOR_STOPPED,     /* by ops->stop() */
	ORCHESTRATOR_FAILED       /* it could not be followed to its end */
};
struct orchestrator_outcome {
	enum orchestrator_end end;
	int status;      /* exit code or signal */
	const char *why; /* NOT_STARTED, FAILED: words for people; may be NULL */
	const struct orchestrator_refusal *refusals; /* in the order they came */
	size_t refusal_count;
	bool is_deferred; /* EXITED: it did not, it lives on behind this result */
	int64_t duration_ms;
	/* The attempt's own, handed back with the result: kept as it is, whatever was refused. */
	void *output;
};

enum orchestrator_result_kind {
	ORCHESTRATOR_REJECTED_BY_RULE, /* or by the mode: nobody may be asked */
	ORCHESTRATOR_REJECTED_BY_PERSON,
	ORCHESTRATOR_REJECTED_BY_HOOK,
	ORCHESTRATOR_REJECTED_BY_REVIEWER,
	ORCHESTRATOR_REJECTED_REVIEWER_LATE,
	ORCHESTRATOR_REJECTED_NO_ANSWER, /* in time, or nobody is there to ask */
	ORCHESTRATOR_DENIED,             /* the attempt was refused something, see refusals */
	ORCHESTRATOR_RESULT_NOT_STARTED,
	ORCHESTRATOR_RESULT_TIMED_OUT,
	ORCHESTRATOR_RESULT_SIGNALLED,
	ORCHESTRATOR_RESULT_INTERRUPTED,
	ORCHESTRATOR_RESULT_FAILED,
	ORCHESTRATOR_CANCELLED,
	ORCHESTRATOR_DONE /* it ran, whatever its exit code; or, without an attempt: yes */
};
struct orchestrator_result {
	uint64_t call;
	enum orchestrator_result_kind kind;
	bool is_abort; /* REJECTED_BY_PERSON: and whoever asked is to stop altogether */
	/* Of every attempt made, in order; the last is the one that counts. With the refusals that
	 * happened, also where it went well. */
	struct orchestrator_outcome outcomes[2];
	struct orchestrator_network_outcome networks[2];
	uint64_t attempts[2];
	size_t attempt_count;
	/* For people: why; "" when there is nothing to say. @note: what was done otherwise than
	 * asked. */
	char why[ORCHESTRATOR_TEXT_MAX], note[ORCHESTRATOR_TEXT_MAX];
};
/* Once, from the loop. @result is borrowed. */
typedef void (*orchestrator_done_fn)(const struct orchestrator_result *result, void *arg);

/* Everything is copied but @world and @arg, which are kept until @done runs. */
struct orchestrator_request {
	enum orchestrator_kind kind;
	uint64_t client;         /* who asks, and answers */
	const char *environment; /* where it runs: "" is here. Part of every key */
	const char *cwd;
	const char *const *argv; /* EXEC: NULL-terminated. PERMISSIONS: of the program that is about
				    to run; else NULL */
	const char *const *env;  /* EXEC: NAME=VALUE of this call alone, NAME of what is passed on;
				    NULL: none. Part of its key; no rule allows what changes it */
	const struct command_world *world; /* EXEC; NULL: programs are not looked up */
	bool has_tty;
	const struct exec_sandbox *sandbox; /* what it runs in; never widened but by an answer */
	enum orchestrator_preference preference;
	enum orchestrator_wish wish;
	const struct orchestrator_access *accesses;
	size_t access_count;
	const struct orchestrator_access *granted; /* EXEC: by an answer that came before it */
	size_t granted_count;
	bool may_retry;                /* after a denial */
	enum orchestrator_place place; /* PATCH */
	/* It can only be stricter than what the rules, or the place, say. */
	bool has_requirement;
	enum orchestrator_requirement requirement;
	const char *const *keys; /* PATCH: one a file; ELICITATION. None: never remembered */
	size_t key_count;
	const char *reason;        /* shown, in nobody's words but ours; may be NULL */
	const char *justification; /* shown, in the words of who asks; may be NULL */
	enum orchestrator_on_denial on_denial;
	uint64_t attempt; /* NETWORK, PERMISSIONS, ELICITATION: the running attempt that it is of */
	orchestrator_done_fn done;
	void *arg;
};
