/* run_options: the options of `sallyport run`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "cli/gate/run_helpers.h"
#include "cli/gate/run_published.h"
#include "cli/options.h"
#include "cli/report/run_lock.h"
#include "cli/report/run_report.h"
#include "exec/exec_sandbox.h"
#include "gateway/gateway_syslog.h"
#include "policies/policies.h"
#include "policies/policies_load.h"

struct profile;
struct proxy_mapping;

/* As given on the command line. Strings point into argv, and @command into the options that were
 * taken, unless a comment says otherwise. */
struct run_options {
	enum cli_command given_to; /* named in error messages */
	/* Owned lists of borrowed strings, NULL-terminated. With a sandbox only the working
	 * directory and @writable can be written. */
	char **policies, **writable, **readable, **denied, **env_set, **answers;
	bool has_sandbox;
	enum exec_mode sandbox;
	enum exec_network network;
	bool has_cache;
	enum policy_cache cache;
	bool has_clean_env;
	bool has_own_tmp; /* workspace-write, but not the host's /tmp and $TMPDIR */
	bool has_default;
	enum policy_action default_action;
	const char *audit, *session;
	bool has_syslog;
	struct gateway_syslog syslog;
	const char *join;      /* the session to join; NULL: none */
	const char *grants_of; /* the session or run whose answers are copied; NULL: none */
	enum run_report report;
	bool has_prompt_timeout;
	int64_t prompt_timeout_ms;
	bool may_use_tty;
	bool must_fail_on_ask, must_fail_on_deny;
	bool asks_nobody; /* --ci */
	enum run_lock_mode lock;
	const char *lock_file; /* NULL: the default */
	const char *junit;     /* NULL: none is written */
	const char *bundle;    /* NULL: none is written */
	struct run_helper_options helpers;
	bool has_web;                   /* serve the page on @web_port */
	uint16_t web_port;              /* 0: any free port */
	const char *metrics;            /* where they are served; NULL: nowhere */
	struct proxy_mapping *resolves; /* owned, including the names */
	size_t resolve_count;
	struct run_published published[RUN_PUBLISHED_MAX];
	size_t published_count;
	struct addr dns_addr;
	uint16_t dns_port;
	int json_fd; /* -1: none */
	bool is_dry_run;
	bool has_no_probe;             /* --no-probe */
	bool is_observing;             /* --observe */
	const struct profile *profile; /* NULL: none */
	char **profile_words;          /* owned; in @writable and @env_set */
	const char **profile_command;  /* owned list: @command with words of the profile, or NULL */
	bool must_judge_programs;      /* --intercept-exec */
	const char *const *command;    /* the operands */
};

/* For `run` and every other command that has a gate. Returns an exit status and prints what is
 * wrong. Must be freed in every case. */
int run_options_take(struct run_options *options, const struct options *given);
void run_options_free(struct run_options *options);
