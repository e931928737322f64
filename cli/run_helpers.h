/* run_helpers: the programs that help the gate of a run to ask: found, checked, and kept from what
 * the command may write. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/gateway_tools.h"

struct policy;
struct run_places;
struct run_helpers;

/* As given; strings point into argv. */
struct run_helper_options {
	const char *reviewer; /* a program and its words, on one line */
	bool may_answer;
	int64_t reviewer_timeout_ms; /* 0: the default */
	bool has_notify;
	const char *webhook, *webhook_key;
	const char *webhook_answer; /* where its links lead: an origin */
	unsigned int kinds;         /* policy_helper_kind: what programs are asked here */
};

/* What was asked for, all of it: *@ret is returned owned, and NULL when nothing was. @writable:
 * what the command may write besides its folder; @policy: whose hooks and reviewer count, where
 * they are for something that is asked. An exit status; says what is wrong. */
int run_helpers_make(const struct run_helper_options *options, const struct run_places *places,
		     char *const *writable, const struct policy *policy, struct run_helpers **ret);
/* The files that they are made of. Returned owned; NULL is none. */
char **run_helpers_programs(const struct run_helpers *helpers);
const struct gateway_helpers *run_helpers_get(const struct run_helpers *helpers); /* NULL of NULL */
void run_helpers_free(struct run_helpers *helpers);
