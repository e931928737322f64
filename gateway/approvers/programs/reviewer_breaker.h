/* reviewer_breaker: decides whether a reviewer is asked. It opens after several failures in a row,
 * longer each time, and after several denials in a row: only people are asked then. After that time
 * one question is a test. No I/O. Private to reviewer*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REVIEWER_FAILURES_MAX 3
#define REVIEWER_DENIALS_MAX  10
#define REVIEWER_OPEN_MS      (60 * INT64_C(1000)) /* doubles with each failed test */
#define REVIEWER_OPEN_MAX_MS  (10 * 60 * INT64_C(1000))

enum reviewer_fitness { REVIEWER_FIT, REVIEWER_UNFIT, REVIEWER_ON_TRIAL };

/* Zeroed: the reviewer is asked. */
struct reviewer_breaker {
	enum reviewer_fitness fitness;
	unsigned int failures, denials; /* in a row */
	int64_t open_ms;                /* how long it was open last time */
};

/* The reviewer crashed, was late or malformed; or it answered. True: the breaker opened, for
 * @breaker->open_ms. */
bool reviewer_breaker_failed(struct reviewer_breaker *breaker);
void reviewer_breaker_answered(struct reviewer_breaker *breaker);
/* Its answer was used: a denial, or not. True as above. */
bool reviewer_breaker_used(struct reviewer_breaker *breaker, bool is_denial);
/* The open time is over. */
void reviewer_breaker_try(struct reviewer_breaker *breaker);
