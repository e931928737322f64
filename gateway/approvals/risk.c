#include "gateway/approvals/risk.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/approver_impl.h"
#include "policies/policies_tools.h"

unsigned int risk_of(struct known_destinations *seen, const struct policy_destination *dst)
{
	bool is_literal = dst->addr.family != 0;
	struct policy_host_warning lookalike;
	bool was_allowed = known_destinations_has(seen, dst),
	     is_domain_known = known_destinations_has_domain(seen, dst);
	unsigned int risk = policy_host_is_listed(dst->host) ? APPROVER_LISTED : 0;

	if (!is_domain_known && !policy_host_is_known(dst->host))
		risk |= APPROVER_FIRST_SEEN;
	if (!is_domain_known && !is_literal && policy_host_warning(dst->host, &lookalike))
		risk |= APPROVER_LOOKALIKE;
	if (!was_allowed && is_literal)
		risk |= APPROVER_LITERAL;
	if (!was_allowed && dst->protocol == POLICY_TCP)
		risk |= APPROVER_RAW_TCP;
	return risk;
}

static void risk_add(char out[RISK_WORDS_MAX], const char *words)
{
	size_t len = strlen(out);

	(void)snprintf(out + len, RISK_WORDS_MAX - len, "%s%s", len > 0 ? "; " : "",
		       words); /* may be cut */
}

void risk_words(unsigned int risk, const struct policy_destination *dst, char out[RISK_WORDS_MAX])
{
	static const struct {
		unsigned int bit;
		const char *words;
	} all[] = {
		{ APPROVER_LISTED, "a place to drop or tunnel data, by the baseline preset" },
		{ APPROVER_LITERAL, "an address without a name" },
		{ APPROVER_RAW_TCP, "any bytes: nothing holds them to a protocol" },
		{ APPROVER_FIRST_SEEN, "never allowed before on this machine" },
	};
	struct policy_host_warning lookalike;

	out[0] = '\0';
	if (risk & APPROVER_LOOKALIKE && policy_host_warning(dst->host, &lookalike))
		risk_add(out, lookalike.text);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (risk & all[i].bit)
			risk_add(out, all[i].words);
	}
}

void risk_typed(const struct policy_destination *dst, char out[POLICY_HOST_MAX])
{
	const char *domain = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;

	(void)snprintf(out, POLICY_HOST_MAX, "%s", domain ? domain : dst->host);
}
