/* index: finds the rules of a key. Open addressing; a slot has a rule number and, in the bits
 * above, a part of the key's hash. Built once, when all rules are known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "policies/engine/policy_impl.h"

#define INDEX_HITS_MAX (POLICY_HOST_MAX + 1) /* enough even if every byte were a dot */

/* The chain of rules for the suffix of a name that starts at byte @at. */
struct index_hit {
	uint32_t head, at;
};

/* Chains are newest first, so every next rule has a lower number. An image contains its index. */
void index_build(struct policy *policy);
/* The rule that exceeds the number of rules of one host that a decision may read, 0: there is none.
 * Numbered from 1. */
#define INDEX_HOST_MAX 5000 /* rules of one key with their exceptions and clauses: 0.5 ms */
uint32_t index_crowded(const struct policy *policy);
/* False: rules were added since, and no decision is possible. */
bool index_is_whole(const struct policy *policy);
/* Every suffix of @host on a label boundary that has rules: for @host itself those that match it,
 * for shorter suffixes those that match subdomains. Returns how many. @len: at most
 * POLICY_HOST_MAX. */
size_t index_find_names(const struct policy *policy, const char *host, size_t len,
			struct index_hit ret[INDEX_HITS_MAX]);
/* The chain of rules for exactly this block, or RULE_NONE; masks @addr. */
uint32_t index_find_block(const struct policy *policy, const struct addr *addr, uint8_t bits);
bool index_has_length(const struct policy *policy, uint8_t family, uint8_t bits);
/* The key of a block, as in policy->names. */
void index_block_key(const struct addr *addr, uint8_t bits, char ret[PATTERN_BLOCK_KEY]);
