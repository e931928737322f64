/* gateway_decided: records decisions about commands, patches and permissions, for a program that
 * holds the gateway and asks about them itself. */
#pragma once

#include "gateway/gateway.h"

/* A decision about something other than a destination, by any decider. Borrowed for the call; text
 * may be NULL, except @kind. */
struct gateway_decided {
	uint64_t exec;    /* 0: it belongs to no exec, or to one that has not begun */
	const char *kind; /* "exec", "patch", "permissions", "elicitation", "program", "network" */
	bool is_allowed, is_unconfined, is_retry;
	enum policy_reason reason;
	const char *by, *through; /* the decider ("policy": a rule); the channel of the answer */
	const char *shown;        /* the subject; its secrets are removed */
	const char *program;      /* the path of the file */
	const char *grants;       /* what it may access in addition */
	const char *rule, *words; /* of the decider */
	int64_t waited_ms;        /* until the answer */
};
/* Writes the decision down before it takes effect: if the result is not 0, an allow does not
 * count. */
int gateway_decided(struct gateway *gw, const struct gateway_decided *decided);
