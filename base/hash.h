/* hash: one step of a hash for tables in memory. It protects nothing by itself: where others choose
 * the keys, begin with a random number. */
#pragma once

#include <stdint.h>

/* A multiplication, then folds the high half back. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}
