/* index: from a key to the rules that have it. Open addressing; a slot is the number of a rule and,
 * in the bits above it, a part of the key's hash. Made once, when all rules are there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "policies/policy_impl.h"

#define INDEX_HITS_MAX (POLICY_HOST_MAX + 1) /* even if every byte were a dot */

/* The chain of rules for the suffix of a name that begins at byte @at. */
struct index_hit {
	uint32_t head, at;
};

/* Rules are chained newest first, so every next is a lower number. An image has its index. */
void index_build(struct policy *policy);
/* False: rules were added since, and nothing may be decided. */
bool index_is_whole(const struct policy *policy);
/* Every suffix of @host on a label boundary that a rule may be about: of @host itself those for it,
 * of shorter ones those for what is below. Returns how many. @len: at most POLICY_HOST_MAX. */
size_t index_find_names(const struct policy *policy, const char *host, size_t len,
			struct index_hit ret[INDEX_HITS_MAX]);
/* The chain of rules for exactly this block, or RULE_NONE; @addr is masked here. */
uint32_t index_find_block(const struct policy *policy, const struct addr *addr, uint8_t bits);
bool index_has_length(const struct policy *policy, uint8_t family, uint8_t bits);
/* The key of a block as it stands in policy->names. */
void index_block_key(const struct addr *addr, uint8_t bits, char ret[PATTERN_BLOCK_KEY]);
