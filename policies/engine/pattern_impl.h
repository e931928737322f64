/* pattern: one destination of a rule: host or block, ports, protocol. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/language/flaw_impl.h"
#include "policies/engine/policy_impl.h"

/* The properties of a request that a rule matches. */
struct pattern_target {
	const struct policy_destination *dst;
	const struct addr
		*addr; /* the literal, or the address that the name resolved to; NULL: not known */
	enum policy_protocol carries;
};

/* Parses "[protocol://]host[:ports]"; adds names and ports to @policy. -EBADMSG with @flaw->at in
 * @text. */
int pattern_parse(struct policy *policy, const char *text, size_t len, bool may_be_broad,
		  struct pattern *ret, struct flaw *flaw);
/* Parses "8000-8100,9000" into policy->ports; in ports.c. */
int ports_parse(struct policy *policy, const char *text, size_t len, struct pattern *ret,
		struct flaw *flaw);

/* The parts of a match. For a rule from the index, the host is known to match. */
bool match_host(const struct policy *policy, const struct pattern *pattern,
		const struct pattern_target *target);
bool ports_has(const struct policy *policy, const struct pattern *pattern, uint16_t port);
/* Narrow: the protocol of the rule covers what the request promises. For rules that loosen
 * (allow). */
bool match_covers(const struct pattern *pattern, uint16_t port, enum policy_protocol carries);
/* Wide: the flow may carry the protocol. For rules that tighten (deny, ask). */
bool match_touches(const struct pattern *pattern, enum policy_protocol carries);
/* The same for a rule that asks: it is about UDP only if it says so. */
bool match_asks(const struct pattern *pattern, enum policy_protocol carries);
/* Can one host match both? An exception that cannot match with its rule is an error. */
bool match_meets(const struct policy *policy, const struct pattern *left,
		 const struct pattern *right);
/* Does @outer match every host that @inner matches? */
bool match_contains(const struct policy *policy, const struct pattern *outer,
		    const struct pattern *inner);
/* As match_meets(), by port and protocol, for a rule and an exception as search.c matches them. */
bool match_meets_flow(const struct policy *policy, const struct pattern *pattern,
		      const struct pattern *exception, bool loosens);
/* Does the pattern name the host or address, rather than match every one? */
bool match_is_explicit(const struct policy *policy, const struct pattern *pattern);
