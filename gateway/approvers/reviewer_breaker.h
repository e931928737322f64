/* reviewer_breaker: whether a reviewer is fit to be asked. It opens after failures in a row, for
 * longer each time, and after denials in a row: then people are asked. After that time one question
 * tries it. Pure. Private to reviewer*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REVIEWER_FAILURES_MAX 3
#define REVIEWER_DENIALS_MAX  10
#define REVIEWER_OPEN_MS      (60 * INT64_C(1000)) /* doubles with each failure of the try */
#define REVIEWER_OPEN_MAX_MS  (10 * 60 * INT64_C(1000))

enum reviewer_fitness { REVIEWER_FIT, REVIEWER_UNFIT, REVIEWER_ON_TRIAL };

/* Zeroed is fit. */
struct reviewer_breaker {
	enum reviewer_fitness fitness;
	unsigned int failures, denials; /* in a row */
	int64_t open_ms;                /* how long it was open the last time */
};

/* It crashed, was late or malformed; or it answered. True: it opened, for @breaker->open_ms. */
bool reviewer_breaker_failed(struct reviewer_breaker *breaker);
void reviewer_breaker_answered(struct reviewer_breaker *breaker);
/* Its answer was used: a denial, or something else. True as above. */
bool reviewer_breaker_used(struct reviewer_breaker *breaker, bool is_denial);
/* The time is over. */
void reviewer_breaker_try(struct reviewer_breaker *breaker);
