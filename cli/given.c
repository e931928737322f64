#include "cli/given.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* LISTEN_PID is our pid, and LISTEN_FDS is the number of descriptors. */
size_t given_count(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t number, found;

	if (!pid || !count || text_to_u64(pid, strlen(pid), INT32_MAX, &number) < 0 ||
	    (pid_t)number != getpid() || text_to_u64(count, strlen(count), GIVEN_MAX, &found) < 0)
		return 0;
	return (size_t)found;
}
