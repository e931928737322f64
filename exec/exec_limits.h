/* exec_limits: how much of the machine's resources one sandbox may use. 0: the default. */
#pragma once

#include <stdint.h>

struct exec_limits {
	uint64_t processes; /* and threads, at the same time; EXEC_PROCESSES */
	uint64_t memory;    /* bytes, of all processes and of their files in fresh directories;
			       EXEC_MEMORY_SHARE */
	uint64_t tmp;       /* bytes in each fresh directory; a share of the machine's memory */
	uint64_t files;     /* open in one process; the inherited limit */
};

/* Enough for a big build, a browser or a Java server, but less than the machine can hold. */
#define EXEC_PROCESSES 8192
/* In percent of the machine's memory: the rest is enough for a person to end the command. */
#define EXEC_MEMORY_SHARE 75
