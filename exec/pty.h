/* pty: relays between the command's pseudo terminal and the real one, which is raw meanwhile and
 * restored at every end. */
#pragma once

#include <stdint.h>

struct err;
struct loop;
struct pty;

/* Runs once, from the loop: all output is written, the terminal is as it was. */
typedef void (*pty_drained_fn)(void *arg);

/* Opens the terminal among 0–2 (@flags: enum wire_flag) a second time for itself, so that its own
 * modes of the descriptor reach nobody else. Changes nothing yet. Returned owned, or NULL with
 * @why. Keeps @loop. */
struct pty *pty_new(struct loop *loop, uint32_t flags, struct err *why);
void pty_free(struct pty *pty); /* restores the terminal */

/* Takes @master: gives it the terminal's modes and size, and starts to relay. */
void pty_start(struct pty *pty, int master);

/* While a question is on the terminal: output stops at the end of a sequence, keys are not read,
 * modes the command has set are off; and go on. Both idempotent. */
void pty_hold(struct pty *pty);
void pty_release(struct pty *pty);

/* The command was stopped: gives the terminal back, and takes it again once we are continued. */
void pty_suspend(struct pty *pty);
void pty_resume(struct pty *pty);

/* The command is gone: writes what is left and calls @drained, later. */
void pty_end(struct pty *pty, pty_drained_fn drained, void *arg);
