/* permits: what one command may reach besides, said by whoever runs it: gateway_grant_exec(). */
#pragma once

#include "gateway/core.h"

/* The approval key of one exact destination in words. -EINVAL with words: it is none. */
int permits_destination(const char *text, struct policy_destination *ret, struct err *why);
