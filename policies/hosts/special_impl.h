/* special: special-purpose addresses: the IANA registries of both families, and the addresses of
 * cloud metadata services, in one table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

/* The order is the strength: the strongest class of an address and those embedded in it applies. */
enum special_class {
	SPECIAL_GLOBAL,   /* ordinary unicast */
	SPECIAL_PRIVATE,  /* private, loopback, link-local, documentation, ...: needs a rule that
			     says so */
	SPECIAL_NEVER,    /* unspecified, broadcast, multicast */
	SPECIAL_METADATA, /* gives credentials to every client */
};

enum special_class special_class(const struct addr *addr);

/* The class of all its addresses; SPECIAL_GLOBAL if they differ. */
enum special_class special_class_of_block(const struct addr_block *block);

/* The IPv4 addresses that packets to @addr may be delivered to (NAT64, 6to4, Teredo, ISATAP,
 * translated, compatible). Returns how many were written to @ret. */
#define SPECIAL_EMBEDDED_MAX 5
size_t special_embedded(const struct addr *addr, struct addr ret[SPECIAL_EMBEDDED_MAX]);

/* For diff, which needs all the boundaries used above. By number, NULL after the last: the blocks
 * of the registries; the blocks that carry IPv4 (ISATAP: all of IPv6, in two forms). */
const struct addr_block *special_block(size_t number);
const struct addr_block *special_carrier(size_t number);
/* Writes @v4 into @addr in the layout of that carrier. True: as the last four octets, behind any
 * prefix. */
bool special_embed(size_t carrier, const struct addr *v4, struct addr *addr);
