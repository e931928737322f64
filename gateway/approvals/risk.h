/* risk: what a person is warned of before allowing a destination. */
#pragma once

#include "gateway/gateway_warning.h"
#include "policies/policies.h"

struct gateway;

#define RISK_WORDS_MAX GATEWAY_WARNING_MAX

/* Bits of enum approver_risk for @dst. */
unsigned int risk_of(const struct gateway *gw, const struct policy_destination *dst);
/* Describes @risk in visible text; "" for 0. */
void risk_words(const struct gateway *gw, unsigned int risk, const struct policy_destination *dst,
		char out[RISK_WORDS_MAX]);
/* What has to be typed: the registrable domain, or the whole host if it has none. */
void risk_typed(const struct policy_destination *dst, char out[POLICY_HOST_MAX]);
