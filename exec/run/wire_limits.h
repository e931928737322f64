/* wire_limits: the part of the plan that limits the command's resources. */
#pragma once

#include <stdint.h>

/* Strings that init passes to the kernel unchanged. */
enum wire_text {
	WIRE_TMP_OPTIONS,   /* options of the file system mounted there, as in mount(2) */
	WIRE_FRESH_OPTIONS, /* of other fresh directories */
	WIRE_DEV_OPTIONS,
	WIRE_PID_MAX,
	WIRE_TEXTS
};
#define WIRE_TEXT_MAX 48

struct wire_limits {
	uint32_t processes;   /* and threads, at once */
	uint64_t memory;      /* of each process; 0: unchanged */
	uint64_t memory_all;  /* of all processes; 0: a control group limits it, or nothing does */
	uint64_t memory_left; /* if the machine has less than this available; 0: always */
	uint32_t files;       /* open in one process; 0: unchanged */
	char texts[WIRE_TEXTS][WIRE_TEXT_MAX]; /* NUL-terminated, never empty */
};
