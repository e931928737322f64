/* trips: what went where, counted per destination, bounded. */
#pragma once

#include <stddef.h>

#include "gateway/gateway_tools.h"
#include "gateway/keys.h"

#define TRIPS_MAX 4096

struct trips {
	struct key_table table; /* destination → its place in @list */
	struct gateway_trip *list;
	size_t count;
	struct gateway_trip others; /* destinations past TRIPS_MAX, together */
};

void trips_init(struct trips *trips);
void trips_done(struct trips *trips);

/* A verdict that was handed out. */
void trips_count_verdict(struct trips *trips, const struct policy_destination *dst,
			 const struct policy_verdict *verdict);
/* What became of it. Both: NULL counts nothing. */
void trips_count_report(struct trips *trips, const struct gateway_report *report);
