/* pattern: one destination of a rule: host or block, ports, protocol. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/flaw_impl.h"
#include "policies/policy_impl.h"

/* What a request looks like to a rule. */
struct pattern_target {
	const struct policy_destination *dst;
	const struct addr *addr; /* the literal, or what the name resolved to; NULL: not known */
	enum policy_protocol carries;
};

/* Reads "[protocol://]host[:ports]"; names and ports go into @policy. -EBADMSG with @flaw->at in
 * @text. */
int pattern_parse(struct policy *policy, const char *text, size_t len, bool may_be_broad,
		  struct pattern *ret, struct flaw *flaw);
/* "8000-8100,9000", into policy->ports; in ports.c. */
int ports_parse(struct policy *policy, const char *text, size_t len, struct pattern *ret,
		struct flaw *flaw);

/* The parts of a match. For a rule found in the index the host is known to match already. */
bool match_host(const struct policy *policy, const struct pattern *pattern,
		const struct pattern_target *target);
bool ports_has(const struct policy *policy, const struct pattern *pattern, uint16_t port);
/* Narrow: the protocol of the rule covers what the request promises. What loosens (allow) matches
 * so. */
bool match_covers(const struct pattern *pattern, uint16_t port, enum policy_protocol carries);
/* Wide: the flow may carry it. What tightens (deny, ask) matches so. */
bool match_touches(const struct pattern *pattern, enum policy_protocol carries);
/* Can anything match both, by host? An exception that cannot meet its rule is a mistake. */
bool match_meets(const struct policy *policy, const struct pattern *left,
		 const struct pattern *right);
/* The same by port and protocol, of a rule and an exception as search.c matches them. */
bool match_meets_flow(const struct policy *policy, const struct pattern *pattern,
		      const struct pattern *exception, bool loosens);
/* Does it name the host or address, rather than stand for all of them? */
bool match_is_explicit(const struct policy *policy, const struct pattern *pattern);
