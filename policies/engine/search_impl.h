/* search: finds every rule that matches a request, in one walk over the index. Never allocates. */
#pragma once

#include <stdbool.h>

#include "policies/engine/pattern_impl.h"
#include "policies/policies_tools.h"

#define SEARCH_ACTIONS (RULE_ONLY + 1)

struct search {
	const struct policy *policy;
	struct pattern_target target;
	const struct policy_request *request; /* NULL: not known */
	const char *by; /* the text of the rule that allowed the request, so its conditions were
			   met; NULL */
	int64_t now;    /* seconds since 1970; 0: unknown */
	bool is_explicit_only;   /* loopback: rules that loosen or ask must name it, `*` does not */
	bool is_tightening_only; /* an embedded address: it can be denied or asked about, never
				    allowed */
	const struct policy_asker *asker; /* NULL: not known */
	/* The results, by enum rule_action. The rule shown is the most permissive one, then the
	 * first. */
	uint32_t best[SEARCH_ACTIONS];   /* number of the rule, from 1; 0: none */
	uint8_t weights[SEARCH_ACTIONS]; /* of that rule */
	bool is_private[SEARCH_ACTIONS]; /* a rule says `private` or names the address */
	bool is_tcp[SEARCH_ACTIONS];     /* a rule says tcp:// */
	/* Rules that allow within limits or until a time, and rules that ask with limits. They are
	 * used only if no rule without limits allows, and are kept separately, because what such a
	 * rule says of tcp and of private addresses applies within its own limits only. */
	uint32_t bounded[SEARCH_ACTIONS];
	uint8_t bounded_weights[SEARCH_ACTIONS];
	/* The first rule that would match if this version enforced all its clauses. */
	uint32_t not_enforced[SEARCH_ACTIONS];
	/* The first rule that would have matched before it ended. */
	uint32_t expired[SEARCH_ACTIONS];
};

/* Was a rule found, with or without limits? */
static inline bool search_has(const struct search *search, enum rule_action action)
{
	return search->best[action] || search->bounded[action];
}
/* Does @rule itself say `private`, or name the address? */
bool search_says_private(const struct search *search, const struct rule *rule);
/* Does @rule match the request, whose host is known to match? */
enum policy_match search_judge(const struct search *search, const struct rule *rule);
/* "FILE:LINE: the line" */
void search_show(const struct policy *policy, const struct rule *rule, char out[POLICY_TEXT_MAX]);
/* Adds rules for every host, and those for the name @target.dst->host. */
void search_any(struct search *search);
void search_name(struct search *search);
/* Adds rules for blocks with @target.addr, or with an IPv4 address embedded in it. */
void search_address(struct search *search);
