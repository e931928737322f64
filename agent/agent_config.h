/* agent_config: what the surrounding program provides to an agent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct command_world;
struct err;
struct exec_cache;
struct exec_limits;
struct loop;
struct policy_protection;

/* The functions that the surrounding program provides. They may call back from the loop only. */
struct agent_host {
	/* Resolves program names in @cwd with the search path @path, and says what may be written
	 * there. Returned owned; freed by world_free(). */
	struct command_world *(*world_new)(const char *cwd, const char *path, char *const *writable,
					   void *arg);
	void (*world_free)(struct command_world *world, void *arg);
	/* The folders of its search path in which no command could have put a program: borrowed
	 * from @world. It may block, as the functions of a world, so call it in another process. */
	const char *(*own_path)(struct command_world *world, void *arg);
	/* Notes for later runs that commands will be able to write below @paths. It may block, so
	 * call it in another process. Not 0 with @why: they must not be able to. */
	int (*note_reach)(char *const *paths, struct err *why, void *arg);
	/* The folders in which commands may write, or could: returned owned. It may block. */
	char **(*reached)(void *arg);
	/* From now on commands can write below @paths. */
	void (*widen)(char *const *paths, void *arg);
	/* The files that the gate depends on, besides those that are hidden and read-only: returned
	 * owned. */
	char **(*guarded)(void *arg);
	/* Appends lines to the user's policy. It may block, so call it in another process. 0 or
	 * -errno. */
	int (*store)(const char *const *lines, struct err *why, void *arg);
	/* The client has disconnected and none of its commands run any more. Once, from the loop.
	 */
	void (*on_end)(void *arg);
	/* The caches of tools for commands of sessions in @cwd; borrowed until the agent is freed.
	 * May be NULL. */
	const struct exec_cache *(*caches)(const char *cwd, size_t *ret_count, void *arg);
};

struct agent_config {
	struct loop *loop;            /* kept, as all members */
	int in, out;                  /* lines from and to the client; nonblocking */
	const char *id;               /* of the run, in records */
	const char *version;          /* of the program */
	const char *cwd;              /* working folder of sessions that name none */
	const char *const *readable;  /* all that may be read besides @cwd; NULL: everything */
	const char *const *writable;  /* by option and policy, besides a session's own */
	const char *const *hidden;    /* paths that no command can see, */
	const char *const *read_only; /* or change */
	const struct policy_protection *protection; /* see exec/exec.h */
	const char *const *sockets;                 /* as in struct exec_plan_config */
	const struct exec_limits *limits;           /* of each command; may be NULL */
	const char *const *env;                     /* as in struct exec_plan_config */
	const char *const *env_set;                 /* as in struct exec_plan_config; may be NULL */
	const char *cache_root;                     /* as in struct exec_plan_config */
	const char *control;   /* path of the control socket, for the probe of each sandbox */
	bool has_no_probe;     /* no sandbox is probed */
	bool must_intercept;   /* every session judges programs, whatever it says */
	const char *spill_dir; /* for long outputs, ours alone; NULL: they are cut */
	bool may_unconfine;    /* the client may ask for commands without a sandbox */
	const struct agent_host *host;
	void *arg; /* of the host */
};
