/* policies_limits: `limit KIND N` lines: how much of the shared resources a command may use. */
#pragma once

#include <stdint.h>

struct policy;

enum policy_limit {
	POLICY_LIMIT_PROCESSES,   /* and threads, at once */
	POLICY_LIMIT_MEMORY,      /* bytes, of all processes and what they keep in memory */
	POLICY_LIMIT_TMP,         /* bytes, in each directory that is the command's own and empty */
	POLICY_LIMIT_FILES,       /* open in one process */
	POLICY_LIMIT_QUESTIONS,   /* open at once */
	POLICY_LIMIT_RECORDS,     /* of denials, each second */
	POLICY_LIMIT_CONNECTIONS, /* of clients, at once */
	POLICY_LIMITS
};
/* "processes": the word of the line. Static. */
const char *policy_limit_name(enum policy_limit limit);
/* The smallest of the lines that count, or the default. A project's file can only go below the
 * default, and cannot limit records. */
uint64_t policy_limit_held(const struct policy *policy, enum policy_limit limit);
