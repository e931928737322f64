#include <string.h>

#include "base/mem.h"
#include "policies/engine/pattern_impl.h"
#include "policies/engine/rules_impl.h"

static struct addr_block match_block(const struct policy *policy, const struct pattern *pattern)
{
	const char *key = rules_key(policy, pattern);
	struct addr_block block = { .base.family = (uint8_t)key[1], .bits = (uint8_t)key[2] };

	memcpy(block.base.bytes, key + 3, sizeof(block.base.bytes));
	return block;
}

/* Is @name the pattern's name (*@ret_is_apex), or a subdomain? */
static bool match_suffix(const char *name, size_t len, const char *top, size_t top_len,
			 bool *ret_is_apex)
{
	*ret_is_apex = len == top_len;
	if (len < top_len || memcmp(name + len - top_len, top, top_len) != 0)
		return false;
	return len == top_len || name[len - top_len - 1] == '.';
}

static bool match_name(const char *name, size_t len, const struct pattern *pattern, const char *top)
{
	bool is_apex;

	if (!match_suffix(name, len, top, pattern->key_len, &is_apex))
		return false;
	return pattern->kind == PATTERN_TREE || is_apex == (pattern->kind == PATTERN_EXACT);
}

bool match_host(const struct policy *policy, const struct pattern *pattern,
		const struct pattern_target *target)
{
	if (pattern->kind == PATTERN_ANY)
		return true;
	if (pattern->kind == PATTERN_BLOCK) {
		struct addr_block block = match_block(policy, pattern);

		return target->addr && addr_block_has(&block, target->addr);
	}
	const char *host = target->dst->host;

	return match_name(host, strnlen(host, POLICY_HOST_MAX), pattern,
			  rules_key(policy, pattern));
}

bool match_covers(const struct pattern *pattern, uint16_t port, enum policy_protocol carries)
{
	enum policy_protocol said = pattern->protocol;

	if (said == POLICY_NO_PROTOCOL)
		said = policy_protocol_of_port(port);
	if (said == POLICY_TCP)
		return carries == POLICY_TCP || carries == POLICY_HTTP || carries == POLICY_HTTPS;
	return said == carries;
}

bool match_touches(const struct pattern *pattern, enum policy_protocol carries)
{
	if (pattern->protocol == POLICY_NO_PROTOCOL || carries == pattern->protocol)
		return true;
	if (pattern->protocol == POLICY_UDP || carries == POLICY_UDP)
		return false;
	return pattern->protocol == POLICY_TCP || carries == POLICY_TCP;
}

bool match_asks(const struct pattern *pattern, enum policy_protocol carries)
{
	if (carries == POLICY_UDP)
		return pattern->protocol == POLICY_UDP;
	return match_touches(pattern, carries);
}

static bool match_blocks_meet(const struct policy *policy, const struct pattern *left,
			      const struct pattern *right)
{
	struct addr_block a = match_block(policy, left), b = match_block(policy, right);

	return a.bits <= b.bits ? addr_block_has(&a, &b.base) : addr_block_has(&b, &a.base);
}

bool match_meets(const struct policy *policy, const struct pattern *left,
		 const struct pattern *right)
{
	const char *a = rules_key(policy, left), *b = rules_key(policy, right);
	bool is_apex;

	if (left->kind == PATTERN_ANY || right->kind == PATTERN_ANY)
		return true;
	if (left->kind == PATTERN_BLOCK || right->kind == PATTERN_BLOCK)
		return left->kind != right->kind || match_blocks_meet(policy, left, right);
	if (left->kind == PATTERN_EXACT)
		return match_name(a, left->key_len, right, b);
	if (right->kind == PATTERN_EXACT)
		return match_name(b, right->key_len, left, a);
	return match_suffix(a, left->key_len, b, right->key_len, &is_apex) ||
	       match_suffix(b, right->key_len, a, left->key_len, &is_apex);
}

bool match_contains(const struct policy *policy, const struct pattern *outer,
		    const struct pattern *inner)
{
	const char *name = rules_key(policy, inner), *top = rules_key(policy, outer);
	bool is_apex;

	if (outer->kind == PATTERN_ANY || inner->kind == PATTERN_ANY)
		return outer->kind == PATTERN_ANY;
	if (outer->kind == PATTERN_BLOCK && inner->kind == PATTERN_BLOCK) {
		struct addr_block wide = match_block(policy, outer);
		struct addr_block narrow = match_block(policy, inner);

		return wide.bits <= narrow.bits && addr_block_has(&wide, &narrow.base);
	}
	if (outer->kind == PATTERN_BLOCK || inner->kind == PATTERN_BLOCK ||
	    !match_suffix(name, inner->key_len, top, outer->key_len, &is_apex))
		return false;
	return is_apex ? outer->kind == PATTERN_TREE || outer->kind == inner->kind
		       : outer->kind != PATTERN_EXACT;
}

/* By port and protocol: can any request match both the rule and the exception? Between the ends of
 * their ranges, only ports 80 and 443 have a different meaning. */
static bool match_flow_meets(const struct policy *policy, const struct pattern *pattern,
			     const struct pattern *exception, bool loosens, uint16_t port)
{
	static const enum policy_protocol all[] = { POLICY_HTTP, POLICY_HTTPS, POLICY_TCP,
						    POLICY_UDP };

	if (!ports_has(policy, pattern, port) ||
	    (exception->has_ports && !ports_has(policy, exception, port)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		bool is_ruled = loosens ? match_covers(pattern, port, all[i])
					: match_touches(pattern, all[i]);
		bool is_excepted = loosens ? match_touches(exception, all[i])
					   : exception->protocol == POLICY_NO_PROTOCOL ||
						     match_covers(exception, port, all[i]);

		if (is_ruled && is_excepted)
			return true;
	}
	return false;
}

static bool match_edges_meet(const struct policy *policy, const struct pattern *edges,
			     const struct pattern *pattern, const struct pattern *exception,
			     bool loosens)
{
	for (uint32_t i = 0; i < edges->port_count; i++) {
		const struct pattern_port *range = &policy->ports[edges->ports + i];

		if (match_flow_meets(policy, pattern, exception, loosens, range->first) ||
		    match_flow_meets(policy, pattern, exception, loosens, range->last))
			return true;
	}
	return false;
}

bool match_meets_flow(const struct policy *policy, const struct pattern *pattern,
		      const struct pattern *exception, bool loosens)
{
	static const uint16_t others[] = { 79, 80, 81, 442, 443, 444 };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (match_flow_meets(policy, pattern, exception, loosens, others[i]))
			return true;
	}
	return match_edges_meet(policy, pattern, pattern, exception, loosens) ||
	       match_edges_meet(policy, exception, pattern, exception, loosens);
}

bool match_is_explicit(const struct policy *policy, const struct pattern *pattern)
{
	if (pattern->kind == PATTERN_ANY)
		return false;
	/* A block of length 0 is equal to `*`. */
	return pattern->kind != PATTERN_BLOCK || match_block(policy, pattern).bits > 0;
}
