/* turn: the gateway's work in the loop: decides what was submitted, writes it down, hands the
 * verdicts out. */
#pragma once

#include "gateway/core.h"

/* There is something to do: soon, from the loop, never from inside the caller. */
void turn_schedule(struct gateway *gw);
/* @waiter will be decided, or its decision handed out. */
void turn_enqueue(struct gateway *gw, struct waiter *waiter);
/* Writes @record, stamped, at once. 0; -EIO: it is not in the files, and whoever waits, and whoever
 * comes, is denied. */
int turn_write_down(struct gateway *gw, const struct sink_record *record);
/* Writes down that @waiter was denied with @reason and counts it; hands nothing out. */
void turn_record_denial(struct gateway *gw, const struct waiter *waiter, enum policy_reason reason);
