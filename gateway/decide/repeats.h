/* repeats: counts frequent denials instead of recording each, so that no command fills the disk
 * with records. Allows are always recorded one by one. */
#pragma once

#include "gateway/state.h"

/* In each second, the first denials of an exec, as many as `limit records` says, have records of
 * their own. After them, this many different denials are counted separately, and the rest
 * together. */
#define REPEATS_EACH 32

/* True: this denial is counted, and the count is written within a second. False: it needs a record
 * of its own. */
bool repeats_take(struct gateway *gw, const struct policy_facts *facts,
		  const struct policy_verdict *verdict);
/* Writes the counts: of an exec that ends, or of all. The caller schedules the turn that commits
 * them. */
void repeats_exec_ended(struct gateway *gw, uint64_t exec);
void repeats_done(struct gateway *gw);
