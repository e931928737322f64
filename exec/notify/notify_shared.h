/* notify_shared: the state of the process that inspects a command's calls, which the gate can read
 * at any time. */
#pragma once

#include <stdint.h>

#include "exec/run/failure.h"

/* In memory shared by both, because the process may be blocked and unable to send. */
struct notify_shared {
	uint64_t refused; /* refusals, reported or not, see exec_process_result.refused */
	int64_t since_ms; /* start of the current work; 0: it waits for work */
	uint64_t request; /* the call it works on, or 0; the answer to it without inspection is: */
	int32_t error;
	struct failure failure; /* valid once the command has ended */
};
/* Enclose everything that may take long. */
void notify_shared_begin(struct notify_shared *shared, uint64_t request, int error);
void notify_shared_end(struct notify_shared *shared);
