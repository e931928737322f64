/* dial: destination + verdict → a connected socket to a checked address. Resolves (after the
 * allow), checks every address with policy_decide_address(), races the checked ones (Happy
 * Eyeballs, RFC 8305), and says exactly why not. The inside's own loopback is dialled inside, by a
 * socket its init hands out. */
#pragma once

#include <stdint.h>

#include "policies/policies.h"

struct dial;
struct dialer;
struct loop;
struct resolver;

struct dial_result {
	int fd; /* connected, nonblocking, TCP_NODELAY; taken by the callee; -1: see @verdict */
	struct policy_verdict verdict; /* allow (as submitted), or a denial with its reason */
	struct addr addr;              /* dialled, or the one that was refused or failed last */
	char cause[128];               /* words for people, or "" */
};
typedef void (*dial_fn)(struct dial_result *result, void *arg);

/* Keeps all; returned owned. */
struct dialer *dialer_new(struct loop *loop, struct resolver *resolver,
			  const struct policy *policy);
/* On the host's loopback this port is the gate's own; 0: none is. */
void dialer_set_own_port(struct dialer *dialer, uint16_t port);
void dialer_free(struct dialer *dialer);
/* For addresses that are looked at from now on. Kept. */
void dialer_set_policy(struct dialer *dialer, const struct policy *policy);
/* An exec's channel to its init (SOCK_SEQPACKET, taken): one byte (4 or 6) out, one message with
 * one socket back. */
void dialer_set_inner(struct dialer *dialer, uint64_t exec, int inner);
void dialer_clear_inner(struct dialer *dialer, uint64_t exec);
/* @done runs from the loop, at most once. @verdict (allow) is copied. */
struct dial *dial_start(struct dialer *dialer, uint64_t exec, const struct policy_destination *dst,
			const struct policy_verdict *verdict, dial_fn done, void *arg);
void dial_withdraw(struct dial *dial);
