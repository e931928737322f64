/* outcomes: what the network did to each exec, told to the program that embeds the gateway: from
 * the loop, in order, and with an end. Does nothing when nobody wants to hear of it. */
#pragma once

#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/gateway_agent.h"
#include "gateway/keys.h"

struct outcome; /* of one exec; outlives it until the last event is told */

struct outcomes {
	struct loop *loop;
	const struct gateway_embedded *embedded; /* NULL: nobody listens */
	struct loop_timer task;
	TAILQ_HEAD(outcome_queue, outcome) all;
	struct outcome_queue news; /* with something to tell */
};

void outcomes_init(struct outcomes *outcomes, struct loop *loop,
		   const struct gateway_embedded *embedded);
/* Tells nothing any more. */
void outcomes_done(struct outcomes *outcomes);

/* Of a new exec; NULL: nobody listens, and all below does nothing. Lives until outcomes_end(). */
struct outcome *outcomes_begin(struct outcomes *outcomes, uint64_t exec);
void outcomes_end(struct outcomes *outcomes, struct outcome *outcome);
/* It waits on one question more (@by 1), or less (-1). */
void outcomes_wait(struct outcomes *outcomes, struct outcome *outcome, int by);
void outcomes_verdict(struct outcomes *outcomes, struct outcome *outcome,
		      const struct policy_destination *dst, const struct policy_verdict *verdict);
/* Refused after the verdict, or cut. */
void outcomes_report(struct outcomes *outcomes, struct outcome *outcome,
		     const struct gateway_report *report);
