/* exec_process_result: how a command ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/exec_probe.h"

enum exec_process_end {
	EXEC_PROCESS_EXITED,
	EXEC_PROCESS_SIGNALLED,
	EXEC_PROCESS_NOT_STARTED,
	EXEC_PROCESS_KILLED
};

/* Of all its processes; all 0: not known, for example because the sandbox was killed. */
struct exec_usage {
	int64_t user_us, system_us;
	uint64_t max_rss_bytes; /* of the largest process */
};
/* The process in which a failure began. Clean: nothing was refused to it or to a process beside
 * it. */
struct exec_origin {
	bool is_clean;
	pid_t pid, parent;      /* is_clean: its process, as seen from here */
	int64_t from_ms, to_ms; /* is_clean: its lifetime; CLOCK_BOOTTIME */
};
struct exec_process_result {
	enum exec_process_end end;
	int status; /* exit code; signal; for NOT_STARTED 127 (not found), 126 (not executable) or
		       125 (no sandbox) */
	char why[512];    /* NOT_STARTED, KILLED: for people */
	uint64_t refused; /* on_refused: the number of refusals, including those not reported */
	struct exec_usage usage;
	unsigned int limits; /* BIT(enum policy_limit): the limits that were seen to be reached */
	struct exec_origin origin; /* on_refused, if the exit code is not 0 */
	struct exec_probe probe;   /* on_probed */
};
