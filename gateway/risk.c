#include "gateway/risk.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/approver_impl.h"
#include "policies/policies_tools.h"

/* A label of another script is never what somebody reads as ASCII. */
static bool risk_is_lookalike(const struct policy_destination *dst)
{
	return strncmp(dst->host, "xn--", 4) == 0 || strstr(dst->host, ".xn--");
}

unsigned int risk_of(struct seen *seen, const struct policy_destination *dst)
{
	bool is_literal = dst->addr.family != 0;
	bool was_allowed = seen_has(seen, dst), is_domain_known = seen_has_domain(seen, dst);
	unsigned int risk = policy_host_is_listed(dst->host) ? APPROVER_LISTED : 0;

	if (!is_domain_known && !policy_host_is_known(dst->host))
		risk |= APPROVER_FIRST_SEEN;
	if (!is_domain_known && risk_is_lookalike(dst))
		risk |= APPROVER_LOOKALIKE;
	if (!was_allowed && is_literal)
		risk |= APPROVER_LITERAL;
	if (!was_allowed && dst->protocol == POLICY_TCP)
		risk |= APPROVER_RAW_TCP;
	return risk;
}

void risk_words(unsigned int risk, const struct policy_destination *dst, char out[RISK_WORDS_MAX])
{
	static const struct {
		unsigned int bit;
		const char *words;
	} all[] = {
		{ APPROVER_LISTED, "a place to drop or tunnel data, by the baseline preset" },
		{ APPROVER_LOOKALIKE, "a name in another script, that may look like another" },
		{ APPROVER_LITERAL, "an address without a name" },
		{ APPROVER_RAW_TCP, "any bytes: nothing holds them to a protocol" },
		{ APPROVER_FIRST_SEEN, "never allowed before on this machine" },
	};
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (risk & all[i].bit)
			len += (size_t)snprintf(out + len, RISK_WORDS_MAX - len, "%s%s",
						len > 0 ? "; " : "", all[i].words);
	}
}
