/* gateway_decided: what was decided about commands, patches and permissions, for the records; by a
 * program that holds the gateway and asks about them itself. */
#pragma once

#include "gateway/gateway.h"

/* A decision about what is no destination, whoever made it. Borrowed for the call; text may be NULL
 * but @kind. */
struct gateway_decided {
	uint64_t exec;    /* 0: it belongs to none, or has not begun */
	const char *kind; /* "exec", "patch", "permissions", "elicitation", "program", "network" */
	bool is_allowed, is_unconfined, is_retry;
	enum policy_reason reason;
	const char *by, *through; /* who said so, and by what way it came; "policy": nobody did */
	const char *shown;        /* what it is about; its secrets are taken out */
	const char *words, *cause;
	int64_t waited_ms; /* for the answer */
};
/* Written down before it counts: not 0, and an allow is none. */
int gateway_decided(struct gateway *gw, const struct gateway_decided *decided);
