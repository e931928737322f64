/* search: every rule that matches a request, in one walk over the index. Never allocates. */
#pragma once

#include <stdbool.h>

#include "policies/pattern_impl.h"

#define SEARCH_ACTIONS (RULE_ANSWER_ALLOW + 1)

struct search {
	const struct policy *policy;
	struct pattern_target target;
	bool is_explicit_only;   /* loopback: what loosens or asks must name it, `*` does not */
	bool is_tightening_only; /* an embedded address: it can be denied or asked about, never
				    allowed */
	/* What was found, by enum rule_action. The rule shown is the one that says most, then the
	 * first. */
	const struct rule *best[SEARCH_ACTIONS];
	bool is_private[SEARCH_ACTIONS]; /* a rule says `private` or names the address */
	bool is_tcp[SEARCH_ACTIONS];     /* a rule says tcp:// */
};

/* Rules for every host, and those for the name @target.dst->host. */
void search_any(struct search *search);
void search_name(struct search *search);
/* Rules for blocks that have @target.addr, or an IPv4 address embedded in it. */
void search_address(struct search *search);
