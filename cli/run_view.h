/* run_view: what the commands of a run may see and change, and what they inherit. */
#pragma once

#include "policies/policies_protected.h"

struct exec_sandbox;
struct policy;
struct run_loaded;
struct run_options;
struct run_places;

/* What the command may see and change. All owned. */
struct run_view {
	char **writable; /* besides the working directory */
	char **readable; /* what is to be seen at all, the platform's included; NULL: all may be */
	char **hidden, **read_only;
	char **homes, **named, **protect, **unprotect; /* of what runs code later, */
	struct policy_protection protection;           /* which borrows these */
	char **env;                                    /* what the command inherits */
	char *withheld;               /* the names of what it does not; NULL: none */
	struct exec_sandbox *sandbox; /* NULL: no --sandbox */
	char **denied;                /* by @sandbox: hidden where another is in its place */
};
struct run_view_config { /* all borrowed */
	const struct run_options *options;
	const struct run_places *places;
	const struct policy *policy;
	const struct run_loaded *loaded;
};
/* An exit status; says what contradicts itself. Done in every case. */
int run_view_make(struct run_view *view, const struct run_view_config *config);
void run_view_add_cwd(struct run_view *view, const struct run_places *places); /* to @writable */
void run_view_done(struct run_view *view);
/* The part of it that is about the environment. */
void run_env_find(struct run_view *view, const struct policy *policy,
		  const struct run_options *options);
void run_env_announce(const struct run_view *view); /* what is withheld, on stderr */
/* The part of it that is about what runs code later. An exit status; says what is wrong. */
int run_protect_find(struct run_view *view, const struct policy *policy,
		     const struct run_places *places);
