/* orchestrator_ops: what an orchestrator is handed, and what it hands over: its questions, the
 * attempts it wants made, the programs that decide before a person. */
#pragma once

#include "exec/orchestrator/orchestrator_request.h"

struct err;

enum orchestrator_choice {
	ORCHESTRATOR_DENY,
	ORCHESTRATOR_ABORT, /* and whoever asked is to stop */
	ORCHESTRATOR_ONCE,
	ORCHESTRATOR_SESSION,
	ORCHESTRATOR_ALWAYS,      /* stores the proposal */
	ORCHESTRATOR_DENY_ALWAYS, /* of a destination: stores its denial */
	ORCHESTRATOR_UNCONFINED   /* the last choice of a retry: once, with nothing around it */
};
/* Of programs that decide before a person. */
enum orchestrator_decision {
	ORCHESTRATOR_DECIDES_DENY,
	ORCHESTRATOR_PASS,
	ORCHESTRATOR_DECIDES_ALLOW,
	/* It said nothing, and might have denied: it goes on as with PASS, but of the programs
	 * behind it only a denial counts. */
	ORCHESTRATOR_WAS_LATE,
	ORCHESTRATOR_HAS_FAILED
};
struct orchestrator_question {
	const char *id; /* of this question put to this one, and never of another */
	uint64_t client;
	enum orchestrator_kind kind; /* NETWORK too: a retry for nothing but destinations */
	bool is_retry, is_one_shot;
	const uint64_t *calls; /* who waits for it; of a network request that nobody knows the
				  attempt of: who it may be */
	size_t call_count;
	const char *environment, *cwd;
	const char *const *argv;     /* EXEC; PERMISSIONS: of a program */
	const char *const *env;      /* of the call alone */
	const char *const *keys;     /* PATCH, ELICITATION */
	struct command_file program; /* what argv[0] is; path "": not known */
	/* What is granted: to run so, with these. */
	bool is_confined;
	const struct exec_sandbox *sandbox; /* with what is granted, when it is confined */
	const struct orchestrator_access *accesses;
	size_t access_count;
	unsigned int choices; /* BIT(enum orchestrator_choice): others are refused */
	const char *reason, *justification;
	const char *const *proposal; /* lines of ALWAYS, NULL-terminated */
	/* PASS; or what became of a program that was asked before and might have denied. */
	enum orchestrator_decision heard;
	int64_t deadline_ms; /* loop_now_ms(); then it is denied */
};
struct orchestrator_attempt {
	uint64_t number, call;
	bool is_retry, is_confined;
	const struct exec_sandbox *sandbox; /* when it is confined: exactly this */
	/* Granted to this attempt beside its sandbox: destinations, programs. */
	const struct orchestrator_access *accesses;
	size_t access_count;
	size_t new_from;     /* those from here on were granted by the answer to its question; */
	bool is_for_session; /* and these may be remembered by the gateway */
	struct command_file program; /* executes this file or nothing; path "": not known */
	const struct orchestrator_request *request; /* the orchestrator's copy */
};

/* One that decides before a person. */
struct orchestrator_decider {
	const char *name;   /* shown */
	bool is_reviewer;   /* its silence is said to be one; it has a breaker; strict sessions want
			       it for everything that runs */
	unsigned int kinds; /* BIT(enum orchestrator_kind) that it is put; others pass */
	bool may_unconfine; /* its allow counts for a first run that is unconfined, too */
	int64_t timeout_ms; /* late is a denial */
};

/* Everything borrowed is borrowed for the call. */
struct orchestrator_ops {
	/* To whoever answers for question->client. Not 0: nobody is there; it is denied. */
	int (*ask)(const struct orchestrator_question *question, void *arg);
	/* More or fewer wait for what was put to a person or a program. */
	void (*changed)(const struct orchestrator_question *question, void *arg);
	/* It is over without an answer of this one: @why for people. */
	void (*retract)(const char *id, const char *why, void *arg);
	/* To config->deciders[@decider]; answer with orchestrator_decide(). Not 0: it is denied. */
	int (*decide)(size_t decider, const struct orchestrator_question *question, void *arg);
	/* Start it; end it with orchestrator_attempt_ended(). Not 0: it is not started. */
	int (*attempt)(const struct orchestrator_attempt *attempt, struct err *why, void *arg);
	void (*stop)(uint64_t attempt, const char *why, void *arg);
	void (*pause)(uint64_t attempt, bool is_paused, void *arg); /* its clock */
	/* Append @lines to the policy; end it with orchestrator_stored(). Not 0: they are not. */
	int (*store)(uint64_t number, const char *const *lines, void *arg);
};
