/* risk: the reasons why one key is not enough to allow a destination. */
#pragma once

#include "gateway/gateway_warning.h"
#include "gateway/approvals/known_destinations.h"
#include "policies/policies.h"

#define RISK_WORDS_MAX GATEWAY_WARNING_MAX

/* Bits of enum approver_risk for @dst. */
unsigned int risk_of(struct known_destinations *seen, const struct policy_destination *dst);
/* Describes @risk in visible text; "" for 0. */
void risk_words(unsigned int risk, const struct policy_destination *dst, char out[RISK_WORDS_MAX]);
/* What has to be typed if the risk is not 0: the registrable domain, or the whole host if it has
 * none. */
void risk_typed(const struct policy_destination *dst, char out[POLICY_HOST_MAX]);
