#include "gateway/approvers/programs/reviewer_breaker.h"

static bool breaker_open(struct reviewer_breaker *breaker, int64_t ms)
{
	breaker->fitness = REVIEWER_UNFIT;
	breaker->failures = breaker->denials = 0;
	breaker->open_ms = ms > REVIEWER_OPEN_MAX_MS ? REVIEWER_OPEN_MAX_MS : ms;
	return true;
}

bool reviewer_breaker_failed(struct reviewer_breaker *breaker)
{
	if (breaker->fitness == REVIEWER_UNFIT)
		return false;
	if (breaker->fitness == REVIEWER_ON_TRIAL)
		return breaker_open(breaker, breaker->open_ms * 2);
	if (++breaker->failures < REVIEWER_FAILURES_MAX)
		return false;
	return breaker_open(breaker, REVIEWER_OPEN_MS);
}

void reviewer_breaker_answered(struct reviewer_breaker *breaker)
{
	if (breaker->fitness == REVIEWER_UNFIT)
		return;
	breaker->fitness = REVIEWER_FIT;
	breaker->failures = 0;
}

bool reviewer_breaker_used(struct reviewer_breaker *breaker, bool is_denial)
{
	breaker->denials = is_denial ? breaker->denials + 1 : 0;
	if (breaker->denials < REVIEWER_DENIALS_MAX || breaker->fitness == REVIEWER_UNFIT)
		return false;
	return breaker_open(breaker, REVIEWER_OPEN_MS);
}

void reviewer_breaker_try(struct reviewer_breaker *breaker)
{
	breaker->fitness = REVIEWER_ON_TRIAL;
}
