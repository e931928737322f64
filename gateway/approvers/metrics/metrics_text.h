/* metrics_text: numbers in the text format 0.0.4 of Prometheus. Private to metrics*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/approvers/metrics/metrics_counts.h"

struct evbuffer;

/* What is true now, and what others count. */
struct metrics_now {
	const char *version;
	uint64_t connections, grants, workers;
	bool is_recording;     /* the audit log can be written */
	uint64_t denied, lost; /* for lack of a record; records that were dropped */
};

/* Appends everything to @out. 0, or -ENOMEM: @out is not complete. */
int metrics_text(struct evbuffer *out, const struct metrics_counts *counts,
		 const struct metrics_now *now);
