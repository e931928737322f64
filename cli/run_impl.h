/* run: the pieces of `sallyport run`: what was asked for, and what is said at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/run_helpers.h"
#include "cli/run_reload.h"
#include "cli/run_view.h"
#include "exec/exec.h"
#include "exec/exec_sandbox.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_load.h"
#include "proxy/proxy.h"

struct command_file;
struct err;
struct run_programs;

enum run_report { RUN_REPORT_AUTO, RUN_REPORT_TEXT, RUN_REPORT_JSON, RUN_REPORT_NONE };

/* As given on the command line. Strings point into argv unless said otherwise. */
struct run_options {
	const char *name; /* of the subcommand, for what is said */
	/* Owned lists of borrowed strings, NULL-terminated. With a sandbox @writable is all that
	 * may be written besides the working directory. */
	char **policies, **writable, **readable, **denied, **env_set, **answers;
	bool has_sandbox;
	enum exec_mode sandbox;
	enum exec_network network;
	bool has_clean_env;
	bool has_own_tmp; /* workspace-write: without the host's /tmp and $TMPDIR */
	bool has_default;
	enum policy_action default_action;
	const char *audit, *session;
	const char *join;      /* the session to be joined; NULL: none */
	const char *grants_of; /* the session, or run, to copy the answers of; NULL: none */
	enum run_report report;
	bool has_prompt_timeout;
	int64_t prompt_timeout_ms;
	bool may_use_tty;
	bool must_fail_on_ask;
	const char *bundle; /* NULL: none is written */
	struct run_helper_options helpers;
	bool has_web;                   /* serve the page, */
	uint16_t web_port;              /* there; 0: on any free port */
	struct proxy_mapping *resolves; /* owned, with their names */
	size_t resolve_count;
	struct addr dns_addr;
	uint16_t dns_port;
	int json_fd; /* -1: none */
	bool is_dry_run;
	bool must_judge_programs;   /* --intercept-exec */
	const char *const *command; /* argv after the options */
};

/* 0; a positive exit status + 1 when run should end at once (help was printed, or an error). Free
 * in every case. */
int run_options_parse(struct run_options *options, int argc, char **argv);
void run_options_free(struct run_options *options);

/* Where a run reads and writes on the host. All absolute, all owned; config_dir, state_dir and
 * answers_path may be NULL. */
struct run_places {
	char *cwd, *config_dir, *state_dir, *control_dir;
	char *audit_path, *audit_head; /* the log, and the sidecar that knows its end */
	char *audit_dir, *seen_path;   /* what is not in the log yet; what was allowed before */
	char *answers_path;            /* the user's policy file */
};
/* Makes what is missing. @audit: as given to --audit, or NULL. An exit status; says what is wrong.
 * Free in every case. */
int run_places_find(struct run_places *places, const char *audit);
char *run_places_absolute(const struct run_places *places, const char *path); /* returned owned */
void run_places_free(struct run_places *places);

/* The policy of all layers, also when it is wrong; both are returned owned in every case. Takes
 * what it says about @options that were not given. An exit status: not CLI_OK either when something
 * in it cannot be held. */
int run_policy_load(struct run_options *options, const struct run_places *places,
		    struct run_sources *ret_sources, struct run_loaded *ret_loaded);
/* Why @policy, which is right, cannot be held where the command may write to @writable: returned
 * owned. NULL: it can. */
char *run_policy_objection(const struct policy *policy, char *const *writable);
/* @given (may be NULL), then what the policy's lines say, absolute: returned owned. An exit status.
 */
int run_policy_paths(const struct policy *policy, const struct run_places *places,
		     enum policy_path what, char *const *given, char ***ret_paths);

/* May the command run, by the policy's rules for commands? An exit status; says why not. *@ret is
 * the file that was decided on; its path is "" where there are no such rules. */
int run_commands_check(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, struct command_file *ret);
/* PATH as the command will have it; borrowed, may be NULL. */
const char *run_commands_path(const struct run_options *options);

/* Once all options are there. 0, or -EINVAL after the error was printed. */
int run_view_settle(struct run_options *options);
/* The address of the page, which is all it takes to answer: on the terminal @tty, where a file that
 * the command reads cannot be; -1: there is none, and it goes to stderr. */
void run_web_announce(int tty, const char *url);

/* The questions that nobody answered, as a file. Returned owned; NULL: said why. */
struct run_bundle;
struct run_bundle *run_bundle_open(const struct run_options *options,
				   const struct run_places *places);
struct bundle *run_bundle_get(struct run_bundle *ours); /* NULL of NULL */
bool run_bundle_has_any(const struct run_bundle *ours);
/* An exit status; says why not. Does nothing when no file is wanted. */
int run_bundle_write(struct run_bundle *ours, const char *run, const char *session);
void run_bundle_free(struct run_bundle *ours);

/* What the end of a run says. */
struct run_summary {
	const char *run, *session, *bundle;  /* the file of questions; NULL: none */
	const struct run_programs *programs; /* NULL: not judged */
	/* What went where; borrowed. */
	const struct gateway_trip *trips, *others;
	size_t trip_count;
	struct exec_result result;
	int exit_status;
	int command_status; /* the same, unless --fail-on-ask took its place */
	int64_t duration_ms;
};
/* The trip report on stderr, in @form (text or json). */
void run_report_print(const struct run_summary *summary, enum run_report form);
/* The result as one JSON line on @fd: 0 or -errno. */
int run_report_json(const struct run_summary *summary, int fd);
