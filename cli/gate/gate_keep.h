/* gate_keep: shortens the audit log as the policy's `audit keep` says, in a process of its own that
 * nothing waits for. */
#pragma once

#include "base/loop.h"

struct policy;
struct run_places;

struct gate_keep {
	struct loop *loop; /* NULL: not started */
	const struct run_places *places;
	struct policy *const *policy; /* the one that is in force */
	struct loop_timer timer;
};

/* Looks now and then, for a gate that runs for long. Keeps all of it. */
void gate_keep_start(struct gate_keep *keep, struct loop *loop, const struct run_places *places,
		     struct policy *const *policy);
/* Looks for the last time, after the gateway has ended. */
void gate_keep_end(struct gate_keep *keep);
