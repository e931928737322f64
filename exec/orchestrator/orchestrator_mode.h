/* orchestrator_mode: the approval policy of a session: for which commands a question is asked. */
#pragma once

struct err;

enum orchestrator_mode {
	ORCHESTRATOR_NEVER, /* no question is asked; only the sandbox protects */
	ORCHESTRATOR_UNTRUSTED,
	ORCHESTRATOR_ON_REQUEST,
	ORCHESTRATOR_ON_FAILURE,
	ORCHESTRATOR_GRANULAR
};
/* The categories that may be asked about in ORCHESTRATOR_GRANULAR. */
enum orchestrator_category {
	ORCHESTRATOR_MAY_ASK_SANDBOX = 1 << 0,
	ORCHESTRATOR_MAY_ASK_RULES = 1 << 1,
	ORCHESTRATOR_MAY_ASK_PERMISSIONS = 1 << 2,
	ORCHESTRATOR_MAY_ASK_ELICITATION = 1 << 3,
	ORCHESTRATOR_MAY_ASK_NETWORK = 1 << 4,
	ORCHESTRATOR_MAY_ASK_ALL = (1 << 5) - 1
};
/* "untrusted", "on-request", "on-failure", "never", or "granular:WORD,WORD…" with words of sandbox,
 * rules, permissions, elicitation, network (those that may be asked about), or "reject:WORD,WORD…"
 * (those that may not). 0, or -EINVAL with @why. */
int orchestrator_mode_parse(const char *text, enum orchestrator_mode *ret_mode,
			    unsigned int *ret_categories, struct err *why);
