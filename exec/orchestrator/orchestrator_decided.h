/* orchestrator_decided: every decision of an orchestrator, by any party, for the records. */
#pragma once

#include "exec/orchestrator/orchestrator_request.h"

#define ORCHESTRATOR_NAME_MAX 128

enum orchestrator_by {
	ORCHESTRATOR_BY_RULE, /* a rule of the policy, or a fixed rule */
	ORCHESTRATOR_BY_MODE, /* the approval mode: no rule matches, and no question may be asked */
	ORCHESTRATOR_BY_EARLIER, /* an earlier answer that is remembered */
	ORCHESTRATOR_BY_PERSON,
	ORCHESTRATOR_BY_NOBODY, /* the client, which asked no person */
	ORCHESTRATOR_BY_HOOK,
	ORCHESTRATOR_BY_REVIEWER,
	ORCHESTRATOR_BY_TIMEOUT,    /* the last one asked did not answer in time */
	ORCHESTRATOR_BY_ABSENCE,    /* there was no one to ask */
	ORCHESTRATOR_BY_DEPARTURE,  /* the one asked has disconnected */
	ORCHESTRATOR_BY_WITHDRAWAL, /* the request, or its exec, was cancelled */
	ORCHESTRATOR_BYS
};
/* How long a person's answer is valid. */
enum orchestrator_holds {
	ORCHESTRATOR_HOLDS_ONCE,
	ORCHESTRATOR_HOLDS_SESSION,
	ORCHESTRATOR_HOLDS_ALWAYS,
	ORCHESTRATOR_HOLDS_ABORT /* once, and the agent is to stop */
};
/* The decision about one request; if several wait for one answer, there is one for each. All
 * borrowed, text is never NULL. */
struct orchestrator_decided {
	uint64_t request;
	enum orchestrator_kind kind; /* also NETWORK: a retry for destinations only */
	const struct orchestrator_request *wanted;
	enum orchestrator_by by;
	const char *name;    /* HOOK, REVIEWER: its name; PERSON: the name, or "" */
	const char *through; /* PERSON: how the answer came; NULL: from the client */
	enum orchestrator_holds holds;
	bool is_allowed, is_retry, is_confined;
	const char *grants; /* the accesses granted in addition: "write /a; https://a.test:443" */
	const char *rule;   /* RULE: "FILE:LINE: the line", or "" */
	const char *words;  /* the decider's, or the reason */
	int64_t waited_ms;
};
