/* repeats: denials that come by the hundred are counted, so that no command fills the disk with
 * records. Nothing that is allowed is ever counted instead of written down. */
#pragma once

#include "gateway/core.h"

/* Of one exec, each second: so many denials have a record of their own. */
#define REPEATS_PER_S 64
/* Behind them, so many different ones are counted apart, and the others together. */
#define REPEATS_EACH 32

/* True: this denial is counted, and is written with the others within a second. False: it needs a
 * record of its own. */
bool repeats_take(struct gateway *gw, const struct policy_facts *facts,
		  const struct policy_verdict *verdict);
/* Writes down what was counted: of an exec that ends, or of all. The caller has a turn come. */
void repeats_exec_ended(struct gateway *gw, uint64_t exec);
void repeats_done(struct gateway *gw);
