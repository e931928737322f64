/* domains: remembers the registrable domains of recently used hosts, because a search in the public
 * suffix list takes as long as the rest of the search for a remembered answer. */
#pragma once

struct domains;

struct domains *domains_new(void);
void domains_free(struct domains *domains);
/* As policy_host_domain(): a pointer into @host; NULL: it has no domain. */
const char *domains_find(struct domains *domains, const char *host);
