/* request: one thing that was asked for and decided: its facts, its verdict, what it moved, and the
 * one report about it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

struct gateway_client;
struct gateway_ticket;
struct meter;

/* A request lives as long as a tunnel does, so the verdict is kept packed: its texts back to back.
 */
struct request {
	struct policy_facts facts;
	struct addr resolved; /* dialled or refused; family 0: none */
	int64_t started_ms;
	uint64_t bytes_up, bytes_down; /* on the upstream leg */
	char *plea;                    /* a proposal's reason; NULL: it is to be dialled */
	char *texts;                   /* rule, because, by: three strings, or NULL */
	struct gateway_ticket *ticket; /* it was allowed under this; goes with the report */
	struct meter *meter;           /* NULL: no limits */
	uint32_t rate_count, rate_s;   /* of the limits */
	enum policy_action action;
	enum policy_reason reason;
	enum policy_protocol promise;
	bool may_private;
	bool has_verdict;
	bool is_reported;
};

/* Borrows @facts. Returned owned. */
struct request *request_new(const struct policy_facts *facts, int64_t now_ms);
void request_free(struct request *request);
/* It is a proposal. */
void request_keep_plea(struct request *request, const char *plea);
void request_keep_verdict(struct request *request, const struct policy_verdict *verdict);
/* Zeroed (deny, none) before there is one. */
void request_get_verdict(const struct request *request, struct policy_verdict *ret);

/* How it ended, or that the gate refused it (@is_refused: the verdict becomes a denial for
 * @reason). Reports once; the second time does nothing. @cause may be NULL. */
void request_report(struct request *request, struct gateway_client *client,
		    enum policy_reason reason, bool is_refused, const char *cause, int64_t now_ms);
