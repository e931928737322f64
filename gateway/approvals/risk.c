#include "gateway/approvals/risk.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvals/known_destinations.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/state.h"
#include "policies/policies_tools.h"

const char *gateway_typed_because(const struct approver_question *question,
				  const struct approver_answer *answer)
{
	bool is_always = answer->scope == GATEWAY_ALWAYS;

	if (answer->action != POLICY_ALLOW)
		return NULL;
	if (question->agent) /* its lines say why */
		return question->typed[0] ? "a destination to be careful with" : NULL;
	if (question->risk & APPROVER_REAL_RISKS)
		return question->warning && question->warning[0] ? question->warning
								 : "it is risky";
	if (question->is_private)
		return "an address of your own network or machine";
	if (is_always && answer->width.is_domain)
		return "a whole domain, always";
	if (is_always && answer->width.is_every_port)
		return "every port, always";
	if (is_always && question->dst.protocol == POLICY_TCP)
		return "raw TCP, always";
	if (is_always && question->dst.protocol == POLICY_UDP)
		return "UDP, always";
	return NULL;
}

/* What @host can be taken for, in words. False: nothing. */
static bool risk_lookalike(const struct gateway *gw, const char *host, char words[RISK_WORDS_MAX])
{
	struct policy_host_warning letters;
	struct policy_host_resembles other;
	bool is_other = policy_host_warning(host, &letters) ||
			policy_host_resembles(gw->config.policy, host, &other);

	if (is_other)
		(void)snprintf(words, RISK_WORDS_MAX, "%s",
			       letters.text[0] ? letters.text : other.text);
	return is_other;
}

unsigned int risk_of(const struct gateway *gw, const struct policy_destination *dst)
{
	struct known_destinations *seen = gw->seen;
	bool is_literal = dst->addr.family != 0;
	char words[RISK_WORDS_MAX];
	bool was_allowed = known_destinations_has(seen, dst),
	     is_domain_known = known_destinations_has_domain(seen, dst);
	unsigned int risk = policy_host_is_listed(dst->host) ? APPROVER_LISTED : 0;

	if (policy_is_configured(gw->config.policy, dst))
		return 0;
	if (!is_domain_known && !policy_host_is_known(dst->host))
		risk |= APPROVER_FIRST_SEEN;
	if (!is_domain_known && !is_literal && risk_lookalike(gw, dst->host, words))
		risk |= APPROVER_LOOKALIKE;
	if (!was_allowed && is_literal)
		risk |= APPROVER_LITERAL;
	if (!was_allowed && (dst->protocol == POLICY_TCP || dst->protocol == POLICY_UDP))
		risk |= APPROVER_RAW_TCP;
	return risk;
}

static void risk_add(char out[RISK_WORDS_MAX], const char *words)
{
	size_t len = strlen(out);

	(void)snprintf(out + len, RISK_WORDS_MAX - len, "%s%s", len > 0 ? "; " : "",
		       words); /* may be cut */
}

void risk_words(const struct gateway *gw, unsigned int risk, const struct policy_destination *dst,
		char out[RISK_WORDS_MAX])
{
	const struct {
		unsigned int bit;
		const char *words;
	} all[] = {
		{ APPROVER_LISTED, "a known file-drop or tunnel service (baseline list)" },
		{ APPROVER_LITERAL, "a bare IP address" },
		{ APPROVER_RAW_TCP, dst->protocol == POLICY_UDP
					    ? "UDP: the protocol cannot be checked"
					    : "raw TCP: the protocol cannot be checked" },
	};
	char lookalike[RISK_WORDS_MAX];

	out[0] = '\0';
	if (risk & APPROVER_LOOKALIKE && risk_lookalike(gw, dst->host, lookalike))
		risk_add(out, lookalike);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (risk & all[i].bit)
			risk_add(out, all[i].words);
	}
	if (risk & APPROVER_FIRST_SEEN) {
		char typed[POLICY_HOST_MAX];

		risk_typed(dst, typed);
		auto_free char *shown = text_visible_dup(typed);
		auto_free char *words =
			mem_printf("%s has never been allowed on this machine", shown);
		risk_add(out, words);
	}
}

void risk_typed(const struct policy_destination *dst, char out[POLICY_HOST_MAX])
{
	const char *domain = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;

	(void)snprintf(out, POLICY_HOST_MAX, "%s", domain ? domain : dst->host);
}
