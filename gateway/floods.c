#include "gateway/floods.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gateway/bounds.h"
#include "policies/policies_tools.h"

#define FLOODS_ONE 1000 /* a question, in a bucket */

struct flood_domain {
	struct key_node node;
	struct policy_destination key; /* only its host: the registrable domain, or the address */
	struct flood_bucket bucket;
	TAILQ_ENTRY(flood_domain) entry;
};

struct flood_rate {
	int64_t burst, per_s;
};
static const struct flood_rate of_session = { GATEWAY_FLOOD_SESSION, GATEWAY_FLOOD_SESSION_PER_S };
static const struct flood_rate of_exec = { GATEWAY_FLOOD_EXEC, GATEWAY_FLOOD_EXEC_PER_S };
static const struct flood_rate of_domain = { GATEWAY_FLOOD_DOMAIN, GATEWAY_FLOOD_DOMAIN_PER_S };

void floods_init(struct floods *floods)
{
	*floods = (struct floods){ 0 };
	keys_init(&floods->domains);
	TAILQ_INIT(&floods->oldest);
}

static void domain_free(struct floods *floods, struct flood_domain *domain)
{
	TAILQ_REMOVE(&floods->oldest, domain, entry);
	keys_remove(&floods->domains, &domain->node);
	free(domain);
}

void floods_done(struct floods *floods)
{
	while (!TAILQ_EMPTY(&floods->oldest))
		domain_free(floods, TAILQ_FIRST(&floods->oldest));
	keys_done(&floods->domains);
}

/* One question a second is one thousandth a millisecond. */
static void bucket_refill(struct flood_bucket *bucket, const struct flood_rate *rate,
			  int64_t now_ms)
{
	int64_t back = (now_ms - bucket->at_ms) * rate->per_s;

	bucket->used = back < bucket->used ? bucket->used - back : 0;
	bucket->at_ms = now_ms;
}

static bool bucket_has(const struct flood_bucket *bucket, const struct flood_rate *rate)
{
	return bucket->used + FLOODS_ONE <= rate->burst * FLOODS_ONE;
}

/* NULL: too many domains were asked about so lately that none can be forgotten. */
static struct flood_domain *domain_at(struct floods *floods, const struct policy_destination *dst,
				      int64_t now_ms)
{
	const char *name = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;
	struct policy_destination key = { .port = 0 };
	struct flood_domain *domain, *first = TAILQ_FIRST(&floods->oldest);

	(void)snprintf(key.host, sizeof(key.host), "%s", name ? name : dst->host);
	struct key_node *node = keys_find(&floods->domains, 0, &key);

	if (node)
		return container_of(node, struct flood_domain, node);
	if (floods->domains.count >= GATEWAY_FLOOD_DOMAINS_MAX) {
		bucket_refill(&first->bucket, &of_domain, now_ms);
		if (first->bucket.used > 0)
			return NULL;
		domain_free(floods, first);
	}
	domain = mem_new(sizeof(*domain));
	domain->key = key;
	keys_add(&floods->domains, &domain->node, 0, &domain->key);
	TAILQ_INSERT_TAIL(&floods->oldest, domain, entry);
	return domain;
}

const char *floods_take(struct floods *floods, struct flood_bucket *exec,
			const struct policy_destination *dst, int64_t now_ms)
{
	struct flood_domain *domain = domain_at(floods, dst, now_ms);

	if (!domain)
		return "too many domains were asked about lately";
	bucket_refill(&floods->session, &of_session, now_ms);
	bucket_refill(&domain->bucket, &of_domain, now_ms);
	if (exec)
		bucket_refill(exec, &of_exec, now_ms);
	if (!bucket_has(&floods->session, &of_session))
		return "this session has asked too many questions";
	if (!bucket_has(&domain->bucket, &of_domain))
		return "too many questions were asked about this domain";
	if (exec && !bucket_has(exec, &of_exec))
		return "this command has asked too many questions";
	floods->session.used += FLOODS_ONE;
	domain->bucket.used += FLOODS_ONE;
	if (exec)
		exec->used += FLOODS_ONE;
	TAILQ_REMOVE(&floods->oldest, domain, entry);
	TAILQ_INSERT_TAIL(&floods->oldest, domain, entry);
	return NULL;
}
