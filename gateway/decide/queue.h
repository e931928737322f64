/* queue: the requests to be decided next, and the turn of the loop in which the gateway does so. */
#pragma once

#include "gateway/state.h"

struct sink_record;

/* Runs gw->take_turn soon, from the loop, never inside the caller. */
void queue_schedule(struct gateway *gw);
/* @waiter is to be decided, or has a decision to be sent. */
void queue_add(struct waiter *waiter);
/* Writes @record, stamped, at once. 0; -EIO: it is not in the files, and all waiting and later
 * requests are denied. */
int queue_write_down(struct gateway *gw, const struct sink_record *record);
