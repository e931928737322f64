/* permits: what one command may reach besides, said by whoever runs it: gateway_grant_exec(). */
#pragma once

#include "gateway/core.h"

/* The approval key of one exact destination in words; *@ret_carries: the protocol that was said.
 * -EINVAL with words: it is none. */
int permits_destination(const char *text, struct policy_destination *ret,
			enum policy_protocol *ret_carries, struct err *why);
