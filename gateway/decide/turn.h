/* turn: the gateway's work in the loop: decides requests, writes the records, sends the
 * verdicts. */
#pragma once

#include "gateway/state.h"

/* A loop_fn for gw->take_turn; @arg is the gateway. */
void turn_take(void *arg);
