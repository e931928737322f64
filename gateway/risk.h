/* risk: why one key should not be enough to allow something. */
#pragma once

#include "gateway/gateway_warning.h"
#include "gateway/seen.h"
#include "policies/policies.h"

#define RISK_WORDS_MAX GATEWAY_WARNING_MAX

/* Bits of enum approver_risk for @dst. */
unsigned int risk_of(struct seen *seen, const struct policy_destination *dst);
/* In words, visible text; "" for 0. */
void risk_words(unsigned int risk, const struct policy_destination *dst, char out[RISK_WORDS_MAX]);
/* What has to be typed where it is not 0: the registrable domain, or all of a host that has none.
 */
void risk_typed(const struct policy_destination *dst, char out[POLICY_HOST_MAX]);
