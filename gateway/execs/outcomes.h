/* outcomes: tells the program that embeds the gateway what happened to the requests of each exec:
 * from the loop, in order, and with a last event. Without such a program it does nothing. */
#pragma once

#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/gateway_agent.h"
#include "gateway/link/keys.h"

struct outcome; /* of one exec; outlives it until the last event was reported */

struct outcomes {
	struct loop *loop;
	const struct gateway_embedded *embedded; /* NULL: there is no such program */
	struct loop_timer task;
	TAILQ_HEAD(outcome_queue, outcome) all;
	struct outcome_queue news; /* those with events to report */
};

void outcomes_init(struct outcomes *outcomes, struct loop *loop,
		   const struct gateway_embedded *embedded);
/* Reports nothing from now on. */
void outcomes_done(struct outcomes *outcomes);

/* For a new exec; NULL: there is no such program, and the functions below do nothing. Valid until
 * outcomes_end(). */
struct outcome *outcomes_begin(struct outcomes *outcomes, uint64_t exec);
void outcomes_end(struct outcomes *outcomes, struct outcome *outcome);
/* It waits on one more question (@by 1), or on one less (-1). */
void outcomes_wait(struct outcomes *outcomes, struct outcome *outcome, int by);
/* @pid: of a process that asked; 0: not known. */
void outcomes_verdict(struct outcomes *outcomes, struct outcome *outcome,
		      const struct policy_destination *dst, const struct policy_verdict *verdict,
		      pid_t pid);
/* A request was refused after its verdict, or cut. */
void outcomes_report(struct outcomes *outcomes, struct outcome *outcome,
		     const struct gateway_report *report);
