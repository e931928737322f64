/* risk: why one key should not be enough to allow something. */
#pragma once

#include "gateway/seen.h"
#include "policies/policies.h"

#define RISK_WORDS_MAX 1024

/* Bits of enum approver_risk for @dst. */
unsigned int risk_of(struct seen *seen, const struct policy_destination *dst);
/* In words, visible text; "" for 0. */
void risk_words(unsigned int risk, const struct policy_destination *dst, char out[RISK_WORDS_MAX]);
