/* setting: what one line that is no rule keeps. */
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
	SETTING_ENV, /* a name of a variable */
	SETTING_COUNT
};

struct setting {
	int64_t value; /* milliseconds; how many are needed; of agent_line.c: its own */
	uint32_t text, source, number; /* text: in policy->names; 0: none */
	uint8_t kind;
};
