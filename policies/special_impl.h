/* special: which addresses are not for everybody. The IANA special-purpose registries of both
 * families, plus what clouds put beside them, as one table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

/* The order is the strength: of an address and those embedded in it, the strongest class holds. */
enum special_class {
	SPECIAL_GLOBAL,   /* ordinary unicast */
	SPECIAL_PRIVATE,  /* private, loopback, link-local, documentation, ...: only by a rule that
			     says so */
	SPECIAL_NEVER,    /* unspecified, broadcast, multicast */
	SPECIAL_METADATA, /* hands out credentials to whoever asks */
};

enum special_class special_class(const struct addr *addr);

/* ::ffff:a.b.c.d is the IPv4 address a.b.c.d: the kernel dials the same host. Others stay. */
void special_unmap(struct addr *addr);

/* The IPv4 addresses that packets to @addr may end at (NAT64, 6to4, Teredo, ISATAP, translated,
 * compatible). Returns how many were written to @ret. */
#define SPECIAL_EMBEDDED_MAX 5
size_t special_embedded(const struct addr *addr, struct addr ret[SPECIAL_EMBEDDED_MAX]);

/* For whoever has to know every boundary of what is above (diff). By number, NULL behind the last:
 * the blocks of the registries; the blocks that carry IPv4 (ISATAP: all of IPv6, in two ways). */
const struct addr_block *special_block(size_t number);
const struct addr_block *special_carrier(size_t number);
/* Writes @v4 into @addr as that carrier does. True: as its last four octets, behind any prefix. */
bool special_embed(size_t carrier, const struct addr *v4, struct addr *addr);
