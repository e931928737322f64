/* attempt: one run of a command, its clock, and the record of what the network refused it. */
#pragma once

#include "exec/orchestrator/core.h"

/* In the orchestrator's list, running. */
struct attempt *attempt_new(struct call *call);
struct attempt *attempt_find(const struct orchestrator *orchestrator, uint64_t number);
void attempt_free(struct attempt *attempt);
/* What happens now is still its own: it runs, or lives on behind its call. */
bool attempt_is_live(const struct attempt *attempt);

/* The operations themselves come from a task. */
void attempt_hold_clock(struct attempt *attempt);
void attempt_release_clock(struct attempt *attempt);
void attempt_stop(struct attempt *attempt, const char *why);
/* A denial: 0, -EINVAL, -ESTALE. Stops it, where that is asked for. */
int attempt_block(struct attempt *attempt, const struct orchestrator_block *block);
/* What the network did to it, so far or in the end. */
struct orchestrator_network_outcome attempt_outcome(const struct attempt *attempt);
