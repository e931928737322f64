/* memory: measures the memory that all processes of the sandbox use together, if no control group
 * limits it. It takes some processes at a time, so that a crowd of them does not delay init. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/run/wire.h"

struct memory {
	long proc;      /* the folder that lists them; -1: nothing is measured */
	uint64_t kib;   /* of those that were seen in this round */
	int64_t due_ms; /* when the next ones are looked at; CLOCK_MONOTONIC */
};

void memory_begin(struct memory *memory, const struct wire_limits *limits);
/* Milliseconds from now until memory_is_over() has something to do, at most @most. */
int64_t memory_wait_ms(const struct memory *memory, int64_t most);
/* Call it whenever init wakes up. @mounts: WIRE_MOUNTS; what is in new directories counts too.
 * True: they use more than the limit. */
bool memory_is_over(struct memory *memory, const struct wire_limits *limits, char *const *mounts);
