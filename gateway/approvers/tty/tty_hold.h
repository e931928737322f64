/* tty_hold: takes the terminal from the command, returns it, and decides when keys have an effect.
 * Private to tty*.c. */
#pragma once

#include <stdbool.h>

#include "gateway/approvers/screen/tty_input.h"

#define TTY_FENCE_MS 1000 /* for the terminal to answer the status report */
#define TTY_GUARD_MOST_MS                                                                          \
	2000 /* the guard does not last longer than this while a person keeps typing */
/* a background job checks this often whether it is in the foreground */
#define TTY_RECHECK_MS      1000
#define TTY_CLAIM_MS        50 /* and whether another gate on this terminal still asks */
#define TTY_QUEUE_MAX_BYTES (64U << 10)

struct approver;

/* Pauses the command and takes the terminal. False: not possible now. */
bool tty_hold_seize(struct approver *self);
void tty_hold_release(struct approver *self);
void tty_hold_flush(struct approver *self);
/* The terminal, or the window, was closed. */
void tty_hold_lost(struct approver *self);
/* Takes the view down and returns the terminal; what waits is shown again from the loop. */
void tty_hold_leave(struct approver *self);
/* All input from before the drawing has arrived. */
void tty_hold_guard(struct approver *self);
/* @event came during the guard. */
void tty_hold_guarded(struct approver *self, enum tty_event event);
