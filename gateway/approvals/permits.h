/* permits: additional destinations for one command, granted by the program that runs it:
 * gateway_grant_exec(). */
#pragma once

#include "gateway/state.h"

/* Parses one exact destination into an approval key. -EINVAL with @why: invalid. */
int permits_destination(const char *text, struct policy_destination *ret, struct err *why);
