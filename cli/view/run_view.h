/* run_view: what the commands of a run may see and change, and which variables they inherit. */
#pragma once

#include "exec/exec_limits.h"
#include "policies/policies_protected.h"

struct exec_cache;
struct exec_sandbox;
struct policy;
struct run_loaded;
struct run_options;
struct run_places;

/* What the command may see and change. All owned. */
/* The caches of the tools in one working directory, with their texts. */
struct run_caches {
	char *cwd;
	struct exec_cache *list; /* @count of them; not moved as long as the view exists */
	size_t count;
	char **texts;
};

struct run_view {
	char **writable; /* besides the working directory */
	char **theirs;   /* where commands of other runs may write, or could */
	char **readable; /* all that can be seen, including system paths; NULL: everything */
	char **hidden, **read_only;
	char **homes, **named, **protect, **unprotect; /* about files that run code later, */
	struct policy_protection protection;           /* which borrows these four */
	char **sockets;                                /* that the command may connect to */
	char **socket_names;                           /* the variables that hold their paths */
	char **env;                                    /* the variables that the command inherits */
	char *withheld;                                /* the names of the others; NULL: none */
	struct run_caches *projects;                   /* @project_count of them */
	size_t project_count;
	char *cache_root; /* that holds the caches of all projects; NULL: unknown */
	struct exec_limits limits;
	struct exec_sandbox *sandbox; /* NULL: no --sandbox */
	char **denied;                /* hidden by @sandbox, or, without one, by bind mounts */
};
struct run_view_config { /* all borrowed */
	const struct run_options *options;
	const struct run_places *places;
	const struct policy *policy;
	const struct run_loaded *loaded;
};
/* Returns an exit status and prints contradictions. Must be freed with run_view_done() in every
 * case. */
int run_view_make(struct run_view *view, const struct run_view_config *config);
/* Can commands work in this folder (absolute)? Not in the root folder and those of the kernel. */
bool run_view_is_workspace(const char *cwd);
/* Adds it to @writable, unless it belongs to the system ("/", /proc…). */
void run_view_add_cwd(struct run_view *view, const struct run_places *places);
void run_view_done(struct run_view *view);
/* Fills the variables. */
void run_env_find(struct run_view *view, const struct policy *policy,
		  const struct run_options *options);
void run_env_announce(const struct run_view *view); /* prints the withheld variables on stderr */
/* The caches for commands in @cwd. The first time, makes their folders in the state folder; what
 * fails, and what is needed in more than 256 directories, is left out: the tool then does without,
 * as it does with `cache none`. Borrowed until the next call; NULL: there are none. */
const struct run_caches *run_caches_of(struct run_view *view, const char *cwd,
				       const struct policy *policy,
				       const struct run_options *options,
				       const struct run_places *places);
/* Fills the sockets. Returns an exit status and prints what is wrong. */
int run_sockets_find(struct run_view *view, const struct policy *policy,
		     const struct run_places *places);
/* Fills the lists of files that run code later. Returns an exit status and prints what is wrong. */
int run_protect_find(struct run_view *view, const struct policy *policy,
		     const struct run_places *places);
