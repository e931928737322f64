/* probe: tries the ways out of a sandbox that a command must not have, from inside. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec_probe.h"

/* From the plan; the lists end with NULL. */
struct probe_setting {
	uint32_t flags; /* enum wire_flag */
	bool is_scoped; /* Landlock blocks abstract sockets of others */
	char *const *mounts, *const *sockets, *const *baits; /* WIRE_MOUNTS, _SOCKETS, _BAITS */
};

/* Tries all of them. The caller is confined as the command will be, and single-threaded. A call
 * that succeeds is undone, but the process should end then. */
void probe_try(const struct probe_setting *setting, struct exec_probe *ret);
