/* static_hosts: names that need no DNS: from the operator (--resolve), localhost, then the hosts
 * file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

struct static_hosts;
struct proxy_config;

/* Copies the mappings of @config; takes @hosts, the text of the hosts file (NULL: there is no
 * file). Returned owned. */
struct static_hosts *static_hosts_new(const struct proxy_config *config, char *hosts);
/* Replaces the hosts file's text with @hosts, which is taken. */
void static_hosts_set_hosts(struct static_hosts *known, char *hosts);
void static_hosts_free(struct static_hosts *known);
/* At most @max addresses of @name (canonical); *@ret_is_mapped: the operator gave them. Returns how
 * many; 0: unknown name. */
size_t static_hosts_find(struct static_hosts *known, const char *name, struct addr *ret, size_t max,
			 bool *ret_is_mapped);
