/* gateway_warning: says whether a destination can be allowed, and what a person is warned of first,
 * for a program that grants destinations before a connection waits for them. */
#pragma once

#include "gateway/gateway.h"
#include "policies/policies.h"

/* Would gateway_grant_exec() accept @destination for a command of @argv? NULL: the command is not
 * known yet, so no rule with `from` applies. A program that asks a person first can call it to
 * avoid a useless question. 0, or what gateway_grant_exec() would return, with @why. */
int gateway_may_grant(struct gateway *gw, const char *destination, const char *const *argv,
		      struct err *why);

#define GATEWAY_WARNING_MAX 1024
struct gateway_warning {
	/* What a person has to type to allow it, letter for letter: the registrable domain, or the
	 * whole host if it has none. "": nothing, there is no warning. */
	char typed[POLICY_HOST_MAX];
	char words[GATEWAY_WARNING_MAX]; /* visible text, or "" */
};
/* For @destination, as for gateway_grant_exec(): the warning that a question about it would show
 * now. 0, or -EINVAL with @why: no such destination. */
int gateway_warn(struct gateway *gw, const char *destination, struct gateway_warning *ret,
		 struct err *why);
/* A person has allowed it: from now on it is not shown as new. */
void gateway_warned(struct gateway *gw, const char *destination);
