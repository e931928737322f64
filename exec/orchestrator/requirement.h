/* requirement: the tables: what has to be asked before a run, how it is confined, whether a refused
 * one may be asked to be tried again, and which answers are offered. Pure functions of their rows.
 */
#pragma once

#include "exec/orchestrator/orchestrator.h"

/* Who may be asked about what. */
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
/* It confines nothing: a run in it is a run without. */
bool requirement_is_open(const struct requirement_sandbox *sandbox);

/* ASKED where all of @needed (categories) may be asked about, else FORBIDDEN. */
enum orchestrator_requirement requirement_ask(const struct requirement_asking *asking,
					      unsigned int needed);
/* Of a request that nothing else says anything about. By the files alone. */
enum orchestrator_requirement requirement_usual(const struct requirement_asking *asking,
						enum exec_files files);

/* Of a patch: what may be written is, but where all is asked first. */
enum orchestrator_requirement requirement_patch(const struct requirement_asking *asking,
						enum orchestrator_place place);

/* What no rule speaks of. */
enum requirement_fallback { REQUIREMENT_FORBID, REQUIREMENT_PROMPT, REQUIREMENT_ALLOW };
struct requirement_unmatched {
	enum orchestrator_mode mode;
	bool is_safe, is_dangerous, is_open;
	enum orchestrator_wish wish;
};
enum requirement_fallback requirement_fallback(const struct requirement_unmatched *unmatched);

struct requirement_command {
	struct requirement_asking asking;
	struct requirement_unmatched unmatched;
	enum command_action action; /* of all pieces */
	bool is_understood;
	bool has_rules; /* that could have said something of what was not understood */
};
/* Of a command; *@ret_by_rule: a rule asked for it, or forbids it. */
enum orchestrator_requirement requirement_command(const struct requirement_command *command,
						  bool *ret_by_rule);

/* What has to be askable for a run to leave @sandbox: it leaves the gate too. */
unsigned int requirement_leaving(const struct requirement_sandbox *sandbox);

struct requirement_run {
	struct requirement_sandbox sandbox;
	enum orchestrator_wish wish;
	bool is_rule_unconfined; /* `command allow … unconfined`, for every piece */
	enum orchestrator_preference preference;
};
bool requirement_is_confined(const struct requirement_run *run);
/* The run is less confined than the sandbox, and no rule says that it may: it has to be asked. */
bool requirement_is_wider(const struct requirement_run *run);

/* May a refused attempt be asked to be tried again, with what? */
struct requirement_retry {
	struct requirement_asking asking;
	struct requirement_sandbox sandbox;
	bool may_retry;         /* the request's */
	bool may_unconfine;     /* the session's */
	bool has_destinations;  /* that an answer can open */
	bool has_others;        /* paths, sockets, programs that an answer can open */
	bool is_other_than_net; /* something was refused that is no destination */
};
struct requirement_offer {
	bool destinations, others, unconfined;
};
/* All false: the attempt's result stands. */
struct requirement_offer requirement_retry(const struct requirement_retry *retry);

struct requirement_choices {
	enum orchestrator_kind kind;
	bool is_retry, is_one_shot, is_confined;
	bool has_accesses, is_destinations_only, has_keys, has_proposal, may_unconfine;
};
/* BIT()s of enum orchestrator_choice. */
unsigned int requirement_choices(const struct requirement_choices *of);
