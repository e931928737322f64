/* refusal: what the kernel refused, why it probably did, and what to do about it, in words for
 * people. */
#pragma once

#include "exec/wire.h"

struct err;

/* Each writes @why and returns -errno. @error is positive. */
int refusal_of_clone(struct err *why, int error);
int refusal_of_launch(struct err *why, const char *step, int error);
/* A WIRE_FAILED of init's: its words are checked and made visible first. */
int refusal_of_step(struct err *why, const struct wire_message *message);
