#include "exec/orchestrator/questions/breaker.h"

void breaker_count(struct breaker *breaker, bool is_denial)
{
	uint64_t seen = (UINT64_C(1) << BREAKER_REVIEWS) - 1;

	breaker->denials = ((breaker->denials << 1) | is_denial) & seen;
	breaker->in_a_row = is_denial ? breaker->in_a_row + 1 : 0;
	if (breaker->in_a_row >= BREAKER_IN_A_ROW ||
	    __builtin_popcountll(breaker->denials) >= BREAKER_DENIALS)
		breaker->is_open = true;
}
