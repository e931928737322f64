/* layers: which statements of a file count, by its layer. */
#pragma once

#include "policies/engine/policy_impl.h"

bool layers_may_loosen(const struct policy *policy, uint32_t source);
bool layers_may_set(const struct policy *policy, uint32_t source);
/* The default for a destination or a command without a rule: no file and no option can loosen the
 * managed layer's. */
enum policy_action layers_otherwise(const struct policy *policy);
