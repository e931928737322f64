/* traffic: counts requests and bytes per destination, for a limited number of destinations. */
#pragma once

#include <stddef.h>

#include "gateway/gateway_tools.h"
#include "gateway/link/keys.h"

#define TRAFFIC_MAX 4096

struct traffic {
	struct key_table table; /* destination → its index in @list */
	struct gateway_trip *list;
	size_t count;
	struct gateway_trip others; /* the sum of the destinations after TRAFFIC_MAX */
};

void traffic_init(struct traffic *trips);
void traffic_done(struct traffic *trips);
struct traffic *traffic_new(void); /* returned owned */
void traffic_free(struct traffic *trips);

/* Counts a verdict that was sent. */
void traffic_count_verdict(struct traffic *trips, const struct policy_facts *facts,
			   const struct policy_verdict *verdict);
/* The report names the program that was denied @dst, for a limited number of destinations: is it
 * still to be found out? */
bool traffic_wants_program(const struct traffic *trips, const struct policy_destination *dst);
/* A denial that was counted: of @program ("": it cannot be found; NULL: not looked up). */
void traffic_note_denial(struct traffic *trips, const struct policy_facts *facts,
			 const char *program);
/* Counts the end of a request; @verdict: of @report, with the rule that cut it, if one did. In
 * both, NULL counts nothing. */
void traffic_count_report(struct traffic *trips, const struct gateway_report *report,
			  const struct policy_verdict *verdict);
