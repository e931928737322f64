/* refusal: what the kernel refused, the probable reason, and what to do about it, as text for
 * people. */
#pragma once

#include "exec/run/wire.h"

struct err;

/* The program cannot be executed; another file has its name by now. The exit status. */
int refusal_of_exec(struct err *why, const char *program, int error);
int refusal_of_other(struct err *why, const char *program);

/* Each writes @why and returns -errno. @error is positive. */
int refusal_of_clone(struct err *why, int error);
int refusal_of_launch(struct err *why, const char *step, int error);
/* A WIRE_FAILED from init: its text is checked and escaped first. */
int refusal_of_step(struct err *why, const struct wire_message *message);
