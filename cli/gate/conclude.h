/* conclude: the end of a gate that has no one command, as of agents and of clients without a
 * sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gate;
struct run_summary;

/* Settles the exit status, for the last record, and prints the report. @summary has what is not of
 * the gate, and keeps nothing else. @is_failed: the worker has died. @status: of what was served.
 * Returns the exit status. */
int conclude(const struct gate *gate, struct run_summary *summary, bool is_failed, int status,
	     int64_t started_ms);
