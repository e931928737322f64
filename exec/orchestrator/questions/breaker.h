/* breaker: counts a reviewer's denials, and says when to ask persons instead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BREAKER_IN_A_ROW 3
#define BREAKER_REVIEWS  50 /* the last reviews that count */
#define BREAKER_DENIALS  10 /* among them */

struct breaker {
	uint64_t denials; /* one bit per review, the newest is the lowest */
	unsigned int in_a_row;
	bool is_open; /* stays set */
};
void breaker_count(struct breaker *breaker, bool is_denial);
