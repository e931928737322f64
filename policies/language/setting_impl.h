/* setting: the value of one line that is not a rule. */
#pragma once

#include <stdint.h>

enum setting_kind {
	SETTING_APPROVALS,
	SETTING_PROMPT_TIMEOUT,
	SETTING_WRITE,
	SETTING_HIDE,
	SETTING_LATER,
	SETTING_APPROVER,
	SETTING_APPROVERS_NEEDED,
	SETTING_ON_DENIAL,
	SETTING_HELPER,
	SETTING_READ, /* paths, as the two */
	SETTING_PROTECT,
	SETTING_UNPROTECT,
	SETTING_ENV,         /* a name of a variable */
	SETTING_LIMIT,       /* of what, by its word */
	SETTING_SOCKET,      /* a path, or "$" and a name */
	SETTING_CACHE,       /* an enum policy_cache */
	SETTING_UPSTREAM,    /* "URL", or "URL PATH" with the file of the login; no text: none */
	SETTING_AUTHORITIES, /* behind the UPSTREAM of its line: the file with its authorities */
	SETTING_DURABLE,     /* 1: strict */
	SETTING_KEEP,        /* bytes, and the age as it is written; no text: any */
	SETTING_COUNT
};

struct setting {
	int64_t value; /* milliseconds; a number of approvers; or private to agent_line.c */
	uint32_t text, source, number; /* text: in policy->names; 0: none */
	uint8_t kind;
};
