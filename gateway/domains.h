/* domains: the registrable domains of the hosts that were looked up lately. A look at the public
 * suffix list costs as much as all else that finds a remembered answer. */
#pragma once

struct domains;

struct domains *domains_new(void);
void domains_free(struct domains *domains);
/* As policy_host_domain(): into @host; NULL: it has none. */
const char *domains_find(struct domains *domains, const char *host);
