/* pty: relays between the command's pseudo terminal and the real one, which is in raw mode
 * meanwhile and is restored in every case. */
#pragma once

#include <stdint.h>

struct err;
struct loop;
struct pty;

/* Runs once, from the loop, when all output is written and the terminal is restored. */
typedef void (*pty_drained_fn)(void *arg);

/* Opens the terminal among 0–2 (@flags: enum wire_flag) a second time, so that the flags of the new
 * descriptor do not affect other processes. Changes nothing yet. Returned owned, or NULL with @why.
 * Keeps @loop. */
struct pty *pty_new(struct loop *loop, uint32_t flags, struct err *why);
void pty_free(struct pty *pty); /* restores the terminal */

/* Takes @master: sets its modes and size to the terminal's, and starts to relay. */
void pty_start(struct pty *pty, int master);

/* While a question is on the terminal: output stops at the end of a sequence, keys are not read,
 * and modes that the command has set are off. pty_release() continues. Both are idempotent. */
void pty_hold(struct pty *pty);
void pty_release(struct pty *pty);

/* The command was stopped: restores the terminal. pty_resume() takes it again once we are
 * continued. */
void pty_suspend(struct pty *pty);
void pty_resume(struct pty *pty);

/* The command has ended: writes what is left and calls @drained, later. */
void pty_end(struct pty *pty, pty_drained_fn drained, void *arg);
