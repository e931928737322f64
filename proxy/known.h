/* known: names that need no DNS: mapped by the operator (--resolve), localhost, then the hosts
 * file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "proxy/proxy.h"

struct known;

/* Copies the mappings of @config; takes @hosts, the text of the hosts file (NULL: there is none).
 * Returned owned. */
struct known *known_new(const struct proxy_config *config, char *hosts);
void known_free(struct known *known);
/* At most @max addresses of @name (canonical); *@ret_is_mapped: they are the operator's. Returns
 * how many; 0: not known. */
size_t known_find(struct known *known, const char *name, struct addr *ret, size_t max,
		  bool *ret_is_mapped);
