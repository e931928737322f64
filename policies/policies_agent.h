/* policies_agent: the policy for agents: when people are asked about a command, what a denial does
 * to the command, and which programs are asked before people. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

/* When a command is asked about; ordered by strength. */
enum policy_approvals_mode {
	POLICY_APPROVALS_ON_FAILURE, /* when the sandbox made it fail */
	POLICY_APPROVALS_ON_REQUEST, /* when the command requests it, or a rule says ask; the
					default */
	POLICY_APPROVALS_UNTRUSTED,  /* unless the command is known to be harmless */
	POLICY_APPROVALS_NEVER,      /* no question is ever asked */
};
/* What people may be asked about. Bits. */
enum policy_approvals_about {
	POLICY_ABOUT_SANDBOX = 1 << 0, /* to run outside the sandbox, or without a matching rule */
	POLICY_ABOUT_RULES = 1 << 1,   /* a rule says ask */
	POLICY_ABOUT_PERMISSIONS = 1 << 2,
	POLICY_ABOUT_ELICITATION = 1 << 3,
	POLICY_ABOUT_NETWORK = 1 << 4,
	POLICY_ABOUT_ALL = (1 << 5) - 1,
};
struct policy_approvals {
	enum policy_approvals_mode mode;
	unsigned int may_ask; /* questions about anything else are denied; never: 0 */
};
/* The result of all files: the strictest mode, and only the questions that every file permits. A
 * project's file cannot set on-failure. */
void policy_get_approvals(const struct policy *policy, struct policy_approvals *ret);
/* "FILE:LINE: approvals ...": the line that forbids questions about @about; false: none does. */
bool policy_may_not_ask(const struct policy *policy, enum policy_approvals_about about,
			char ret_rule[POLICY_TEXT_MAX]);

/* What happens to a command whose connection was denied. The strictest of all files applies. */
enum policy_on_denial {
	POLICY_DENIAL_REPORT, /* it continues, and its result reports the denial; the default */
	POLICY_DENIAL_FAIL,   /* it continues, and counts as failed */
	POLICY_DENIAL_STOP,   /* it is ended */
};
enum policy_on_denial policy_get_on_denial(const struct policy *policy);

/* What a program is asked about. Bits. */
enum policy_helper_kind {
	POLICY_HELPS_EXEC = 1 << 0,
	POLICY_HELPS_PATCH = 1 << 1,
	POLICY_HELPS_NETWORK = 1 << 2,
	POLICY_HELPS_PERMISSIONS = 1 << 3,
	POLICY_HELPS_ELICITATION = 1 << 4,
	POLICY_HELPS_ALL = (1 << 5) - 1,
};
/* `hook PROGRAM WORD... for KIND...`, and `reviewer PROGRAM WORD... for KIND... [trusted]`. */
#define POLICY_HELPER_WORDS_MAX 64
struct policy_helper {
	bool is_reviewer;
	bool is_trusted;    /* it may answer without comparisons */
	unsigned int kinds; /* those that were requested */
	enum policy_layer layer;
	char **argv;                /* owned, NULL-terminated; [0] is absolute, or begins with ~/ */
	char rule[POLICY_TEXT_MAX]; /* "FILE:LINE: hook ...": all of it */
};
/* The @index-th of those for any of @kinds, in the order of the files; a project's own never count.
 * False: there is none. policy_helper_done() frees its contents. */
bool policy_get_helper(const struct policy *policy, unsigned int kinds, size_t index,
		       struct policy_helper *ret);
void policy_helper_done(struct policy_helper *helper);
const char *policy_helper_kind_name(enum policy_helper_kind kind); /* "exec"; "": no one kind */
