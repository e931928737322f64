/* gateway_warning: whether a destination can be allowed, and why one plain answer should not be
 * enough for that, for a program that grants beforehand what no connection waits for yet. */
#pragma once

#include "gateway/gateway.h"
#include "policies/policies.h"

/* Would gateway_grant_exec() take @destination for a command of @argv? NULL: for one that is not
 * known yet, so that no rule with `from` speaks of it. Whoever asks a person first asks for
 * nothing. 0, or what it would return, with @why. */
int gateway_may_grant(struct gateway *gw, const char *destination, const char *const *argv,
		      struct err *why);

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
