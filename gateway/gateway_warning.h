/* gateway_warning: why one plain answer should not be enough to allow a destination, for a program
 * that grants beforehand what no connection waits for yet. */
#pragma once

#include "gateway/gateway.h"
#include "policies/policies.h"

#define GATEWAY_WARNING_MAX 1024
struct gateway_warning {
	/* What a person has to type before it is allowed, letter for letter: the registrable
	 * domain, or all of a host that has none. "": nothing, it is known. */
	char typed[POLICY_HOST_MAX];
	char words[GATEWAY_WARNING_MAX]; /* visible text, or "" */
};
/* Of @destination, as for gateway_grant_exec(), and as a question about it would have it now. 0, or
 * -EINVAL with @why: no such destination. */
int gateway_warn(struct gateway *gw, const char *destination, struct gateway_warning *ret,
		 struct err *why);
/* A person has typed it, and allowed it: it warns no more of what was not allowed before. */
void gateway_warned(struct gateway *gw, const char *destination);
