/* agent: the protocol through which an agent's harness, in any language, runs its tool tasks: one
 * client, one JSON object a line, many commands. sallyport-agent(7) is the wire; the parts that
 * decide and run are the orchestrator's, the gateway's and exec's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct agent;
struct command_world;
struct err;
struct gateway;
struct gateway_embedded;
struct gateway_helpers;
struct loop;
struct policy;
struct policy_protection;

#define AGENT_VERSION 1

/* What the program around it does for it. None may call back, but from the loop. */
struct agent_host {
	/* What names stand for in @cwd with the search path @path, and what may be written there.
	 * Returned owned; freed by world_free(). */
	struct command_world *(*world_new)(const char *cwd, const char *path, char *const *writable,
					   void *arg);
	void (*world_free)(struct command_world *world, void *arg);
	/* Commands are about to be able to write below @paths, from now on. Not 0 with @why: they
	 * must not. */
	int (*widen)(char *const *paths, struct err *why, void *arg);
	/* Files that the gate goes by, beside what is hidden and read-only: returned owned. */
	char **(*guarded)(void *arg);
	/* Appends lines to the user's policy; 0 or -errno. */
	int (*store)(const char *const *lines, struct err *why, void *arg);
	/* The client is gone and nothing of it runs any more. Once, from the loop. */
	void (*on_end)(void *arg);
};

struct agent_config {
	struct loop *loop;            /* kept, as all here */
	int in, out;                  /* lines from and to the client; nonblocking */
	const char *id;               /* of the run, in records */
	const char *cwd;              /* where sessions begin that do not say */
	const char *const *readable;  /* all that may be read, beside it; NULL: all may be */
	const char *const *writable;  /* by option and policy, beside a session's own */
	const char *const *hidden;    /* what no command sees, */
	const char *const *read_only; /* or changes */
	const struct policy_protection *protection; /* see exec/exec.h */
	const char *const *env;                     /* as in struct exec_plan_config */
	const char *const *env_set;                 /* as in struct exec_plan_config; may be NULL */
	const char *spill_dir; /* where long outputs go, ours alone; NULL: they are cut */
	bool may_unconfine;    /* what the client asks for may be without a sandbox */
	const struct agent_host *host;
	void *arg; /* of the host */
};

/* Returned owned. NULL with @why. Reads nothing before agent_start(). */
struct agent *agent_new(const struct agent_config *config, struct err *why);
/* What the gateway tells it: for struct gateway_config. As long as the agent lives. */
const struct gateway_embedded *agent_embedded(struct agent *agent);
/* The gateway's programs, of which it asks some before the client: kept; NULL: there are none. */
void agent_set_helpers(struct agent *agent, const struct gateway_helpers *helpers);
/* Both are kept. */
void agent_start(struct agent *agent, struct gateway *gateway, const struct policy *policy);
/* Another decides from now on, and is kept instead. */
void agent_set_policy(struct agent *agent, const struct policy *policy);
/* A person aborted the command with this number at the gateway. */
void agent_abort(struct agent *agent, unsigned long long exec);
/* As if the client had gone: denies what it owes, ends what runs; host->on_end() follows. */
void agent_end(struct agent *agent, const char *why);
/* After the gateway was freed, or before it was started. Kills what is left. NULL is fine. */
void agent_free(struct agent *agent);
