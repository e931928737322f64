/* turn: the gateway's work in the loop: decides what was submitted, writes it down, hands the
 * verdicts out. */
#pragma once

#include "gateway/core.h"

/* There is something to do: soon, from the loop, never from inside the caller. */
void turn_schedule(struct gateway *gw);
/* @waiter will be decided, or its decision handed out. */
void turn_enqueue(struct gateway *gw, struct waiter *waiter);
/* Writes down that @waiter was denied with @reason and counts it; hands nothing out. */
void turn_record_denial(struct gateway *gw, const struct waiter *waiter, enum policy_reason reason);
