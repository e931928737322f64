/* breaker: counts a reviewer's denials, and says when persons are to be asked in its place. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BREAKER_IN_A_ROW 3
#define BREAKER_REVIEWS  50 /* looked back at */
#define BREAKER_DENIALS  10 /* among them */

struct breaker {
	uint64_t denials; /* a bit a review, the newest lowest */
	unsigned int in_a_row;
	bool is_open; /* until breaker_close() */
};
void breaker_count(struct breaker *breaker, bool is_denial);
void breaker_close(struct breaker *breaker);
