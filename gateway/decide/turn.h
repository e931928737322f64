/* turn: the gateway's work in the loop: decides requests, writes the records, sends the
 * verdicts. */
#pragma once

#include "gateway/state.h"

/* A loop_fn for gw->take_turn; @arg is the gateway. */
void turn_take(void *arg);
/* For gw->let_go: its worker has let @waiter go. Records it, and cuts it if it is denied here. */
void turn_let_go(struct waiter *waiter);
