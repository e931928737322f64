/* call: one request's way from start to done. */
#pragma once

#include "exec/orchestrator/core.h"

struct call *call_new(struct orchestrator *orchestrator,
		      const struct orchestrator_request *request);
struct call *call_find(const struct orchestrator *orchestrator, uint64_t number);
/* Is what it asks, or may it be, of @attempt? */
bool call_may_be_of(const struct call *call, const struct attempt *attempt);
void call_cancel(struct call *call);
/* What waits on a question of @attempt, which is over, has nobody to go on for. */
void call_cancel_questions(struct orchestrator *orchestrator, uint64_t attempt);
/* Its question has come to an end; it does not wait on it any more. */
void call_ruled(struct call *call, const struct ruling *ruling);
/* Its running attempt has ended so. */
void call_attempt_ended(struct call *call, const struct orchestrator_outcome *outcome);
void call_free(struct call *call);
