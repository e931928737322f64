/* names: the addresses that names have inside one sandbox. A name keeps its address as long as the
 * exec lives, no address is used twice, and the number of names is limited. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* Embedded; zeroed is empty. */
struct names {
	uint32_t first; /* numbers up to this one are not used: a worker that died gave them out */
	char **hosts;   /* by number - 1 */
	uint32_t *slots;
	size_t count, slot_count;
	uint64_t seed; /* the command chooses the names */
};

void names_done(struct names *names);
/* The number of @host (canonical), a new one if it has none. 0: there are too many. */
uint32_t names_add(struct names *names, const char *host);
/* @family: AF_INET or AF_INET6. */
struct addr names_address(uint32_t number, int family);
/* The host with that address. Borrowed; NULL: no name has it. */
const char *names_host(const struct names *names, const struct addr *addr);
