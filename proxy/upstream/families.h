/* families: the order in which the addresses of both families are tried (RFC 8305 §4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

/* Is there an IPv6 route to the Internet? Asks the routing table by connecting a UDP socket, which
 * sends nothing. */
bool families_has_v6_route(void);

/* Writes at most @max of both lists to @ret: alternating, the preferred family first, each address
 * once. Returns how many. */
size_t families_interleave(const struct addr *v4, size_t v4_count, const struct addr *v6,
			   size_t v6_count, bool is_v6_first, struct addr *ret, size_t max);
