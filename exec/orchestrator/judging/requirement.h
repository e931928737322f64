/* requirement: the tables that say what has to be asked before a run, how the run is confined,
 * whether a retry may be asked for after a refusal, and which answers are offered. Pure functions
 * of their arguments. */
#pragma once

#include "exec/orchestrator/orchestrator_ops.h"

/* What may be asked about. */
struct requirement_asking {
	enum orchestrator_mode mode;
	unsigned int categories; /* of ORCHESTRATOR_GRANULAR */
};
/* What a sandbox confines at all. */
struct requirement_sandbox {
	enum exec_files files;
	bool is_network_restricted, writes_all, has_denials;
};
struct requirement_sandbox requirement_sandbox(const struct exec_sandbox *sandbox);
/* True if the sandbox confines nothing. */
bool requirement_is_open(const struct requirement_sandbox *sandbox);

/* ASKED if all of @needed (categories) may be asked about, else FORBIDDEN. */
enum orchestrator_requirement requirement_ask(const struct requirement_asking *asking,
					      unsigned int needed);
/* For a request that nothing else applies to. Depends on @files only. */
enum orchestrator_requirement requirement_usual(const struct requirement_asking *asking,
						enum exec_files files);

/* For a patch: what the sandbox may write is allowed, unless everything is asked first. */
enum orchestrator_requirement requirement_patch(const struct requirement_asking *asking,
						enum orchestrator_place place);

/* For a command that no rule matches. */
enum requirement_fallback { REQUIREMENT_FORBID, REQUIREMENT_PROMPT, REQUIREMENT_ALLOW };
struct requirement_unmatched {
	enum orchestrator_mode mode;
	bool is_safe, is_dangerous, is_open;
	enum orchestrator_confinement confinement;
};
enum requirement_fallback requirement_fallback(const struct requirement_unmatched *unmatched);

struct requirement_command {
	struct requirement_asking asking;
	struct requirement_unmatched unmatched;
	enum command_action action; /* of all its parts */
	bool is_understood;
	bool has_rules; /* a rule exists that could apply to what was not understood */
};
/* For a command; *@ret_by_rule: a rule asked for it, or forbids it. */
enum orchestrator_requirement requirement_command(const struct requirement_command *command,
						  bool *ret_by_rule);

/* The categories that must allow questions for a run to leave @sandbox: it leaves the gate, too. */
unsigned int requirement_leaving(const struct requirement_sandbox *sandbox);

struct requirement_run {
	struct requirement_sandbox sandbox;
	enum orchestrator_confinement confinement;
	bool is_rule_unconfined; /* `command allow … unconfined` matches every part */
};
bool requirement_is_confined(const struct requirement_run *run);
/* The run is less confined than the sandbox, and no rule allows that: it has to be asked. */
bool requirement_is_wider(const struct requirement_run *run);

/* May a retry of a refused exec be asked for, and with which accesses? */
struct requirement_retry {
	struct requirement_asking asking;
	struct requirement_sandbox sandbox;
	bool may_retry;         /* the request's */
	bool may_unconfine;     /* the session's */
	bool has_destinations;  /* an answer can grant some */
	bool has_others;        /* paths, sockets, programs that an answer can grant */
	bool is_other_than_net; /* something else than a destination was refused */
};
struct requirement_offer {
	bool destinations, others, unconfined;
};
/* All false: the result of the exec is final. */
struct requirement_offer requirement_retry(const struct requirement_retry *retry);

struct requirement_choices {
	bool is_retry, is_one_shot, is_confined;
	bool is_no_exec; /* PATCH, PERMISSIONS: its accesses are for later execs */
	bool has_accesses, is_destinations_only, has_keys, has_proposal, may_unconfine;
};
/* BIT()s of enum orchestrator_choice. */
unsigned int requirement_choices(const struct requirement_choices *of);
