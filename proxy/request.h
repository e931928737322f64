/* request: one destination that was requested and decided: its facts, its verdict, the bytes it
 * moved, and its one report. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

struct gateway_client;
struct gateway_ticket;

/* A request lives as long as a tunnel, so the verdict is stored packed: its texts in one
 * allocation. */
struct request {
	struct policy_facts facts;
	struct addr resolved; /* the address that was dialled or refused; family 0: none */
	int64_t started_ms;
	uint64_t bytes_up, bytes_down; /* on the upstream leg */
	char *plea;  /* the reason of a proposal; NULL: a request that will be dialled */
	char *texts; /* rule, because, by: three strings, or NULL */
	struct gateway_ticket *ticket; /* from the allow; returned with the report */
	uint32_t rate_count, rate_s;   /* of the limits */
	uint32_t dns_ms, dial_ms;      /* as in struct gateway_report */
	enum policy_action action;
	enum policy_reason reason;
	enum policy_protocol promise;
	bool may_private;
	bool has_verdict;
	bool is_reported;
	bool is_resolved_upstream; /* by an upstream proxy: the address is not known */
};

/* Borrows @facts. Returned owned. */
struct request *request_new(const struct policy_facts *facts, int64_t now_ms);
void request_free(struct request *request);
/* Makes it a proposal. */
void request_keep_plea(struct request *request, const char *plea);
void request_keep_verdict(struct request *request, const struct policy_verdict *verdict);
/* Zeroed (deny, none) before there is a verdict. */
void request_get_verdict(const struct request *request, struct policy_verdict *ret);

/* Reports how it ended, or that the gate refused it (@is_refused: the verdict becomes a denial for
 * @reason). Only the first call reports. @cause may be NULL. */
void request_report(struct request *request, struct gateway_client *client,
		    enum policy_reason reason, bool is_refused, const char *cause, int64_t now_ms);
