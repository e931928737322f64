#include "gateway/grants/domains.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/policies.h"
#include "policies/policies_tools.h"

#define DOMAINS_SLOTS 64 /* a power of two: each holds the last host with its hash */
#define DOMAINS_NONE  UINT16_MAX

struct domain {
	char host[POLICY_HOST_MAX]; /* "": free */
	uint16_t at;                /* offset of the domain in it; or DOMAINS_NONE */
};
struct domains {
	struct domain slots[DOMAINS_SLOTS];
};

struct domains *domains_new(void)
{
	return mem_new(sizeof(struct domains));
}

void domains_free(struct domains *domains)
{
	free(domains);
}

/* FNV-1a. A caller that makes two hosts collide only makes one of them as slow as without this
 * table. */
static struct domain *domains_slot(struct domains *domains, const char *host, size_t len)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)host[i]) * 16777619;
	return &domains->slots[hash % DOMAINS_SLOTS];
}

const char *domains_find(struct domains *domains, const char *host)
{
	size_t len = strlen(host);

	if (len == 0 || len >= POLICY_HOST_MAX)
		return policy_host_domain(host);
	struct domain *slot = domains_slot(domains, host, len);

	if (memcmp(slot->host, host, len + 1) != 0) {
		const char *domain = policy_host_domain(host);

		memcpy(slot->host, host, len + 1);
		slot->at = domain ? (uint16_t)(domain - host) : DOMAINS_NONE;
	}
	return slot->at == DOMAINS_NONE ? NULL : host + slot->at;
}
