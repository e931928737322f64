/* run_helpers: finds and checks the programs that help the gate of a run to decide questions, and
 * makes sure that the command cannot write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gateway_helpers;
struct policy;
struct run_places;
struct run_helpers;

/* As given; the strings point into argv. */
struct run_helper_options {
	const char *reviewer;        /* a program and its arguments, on one line */
	bool may_answer, is_shadow;  /* --reviewer-mode; false: not given */
	int64_t reviewer_timeout_ms; /* 0: the default */
	bool has_notify;
	const char *webhook, *webhook_key;
	const char *webhook_answer; /* the origin that its links point to */
	unsigned int kinds; /* bits of policy_helper_kind: the questions that are asked here */
};

/* Makes the helpers: *@ret is returned owned, and NULL if none was asked for. @writable: what the
 * command may write besides its folder; @policy: its hooks and its reviewer are used for the
 * questions that are asked here. Returns an exit status and prints what is wrong. */
int run_helpers_make(const struct run_helper_options *options, const struct run_places *places,
		     char *const *writable, const struct policy *policy, struct run_helpers **ret);
/* The program @name in a folder of PATH that no command can write: not those of earlier runs
 * either. Returned owned; NULL: there is none. */
char *run_helpers_find(const char *name, const struct run_places *places, char *const *writable);
/* The files that the helpers consist of. Returned owned; NULL has none. */
char **run_helpers_programs(const struct run_helpers *helpers);
const struct gateway_helpers *run_helpers_get(const struct run_helpers *helpers); /* NULL: none */
void run_helpers_free(struct run_helpers *helpers);
