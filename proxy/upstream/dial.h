/* dial: destination + verdict → a connected socket to a checked address. Resolves the name (after
 * the allow), checks every address with policy_decide_address(), and races them (Happy Eyeballs,
 * RFC 8305). The sandbox's own loopback is dialled inside the sandbox, with a socket from its
 * init. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

struct dial;
struct dialer;
struct err;
struct loop;
struct policy_upstream;
struct proxy_config;
struct resolver;

struct dial_result {
	int fd; /* connected, nonblocking, TCP_NODELAY; the callee takes it; -1: see @verdict */
	struct policy_verdict verdict; /* allow (as submitted), or a denial with its reason */
	struct addr addr; /* the dialled address, or the last one that was refused or failed;
			     family 0: an upstream proxy resolved the name */
	/* How long the name took, and the race or the upstream proxy until there was a connection
	 * or none: rounded up; 0: not done. */
	uint32_t dns_ms, dial_ms;
	char cause[128]; /* text for people, or "" */
};
typedef void (*dial_fn)(struct dial_result *result, void *arg);

/* Keeps all; returned owned. */
struct dialer *dialer_new(struct loop *loop, struct resolver *resolver,
			  const struct policy *policy);
/* The gate's own port on the host's loopback; 0: it has none. */
void dialer_set_own_port(struct dialer *dialer, uint16_t port);
void dialer_set_metrics_port(struct dialer *dialer, uint16_t port); /* the same, of --metrics */
/* The listeners of @service, which no client may reach. Borrowed. */
struct proxy_service;
void dialer_set_service(struct dialer *dialer, const struct proxy_service *service);
/* The upstream proxies, and the names that the operator gave addresses to: these are dialled
 * directly. Kept. -EBADMSG with @why: no certificate of a proxy can be verified. */
int dialer_set_upstreams(struct dialer *dialer, const struct proxy_config *config, struct err *why);
/* @fd, connected by a dial, has ended: is what it sent not complete? */
bool dialer_was_cut(const struct dialer *dialer, int fd);
/* The upstream proxy through which @dst is reached; NULL: it is dialled directly. Borrowed. */
const struct policy_upstream *dialer_upstream(const struct dialer *dialer,
					      const struct policy_destination *dst);
void dialer_free(struct dialer *dialer);
/* For addresses that are checked from now on. Kept. */
void dialer_set_policy(struct dialer *dialer, const struct policy *policy);
/* An exec's channel to its init (SOCK_SEQPACKET, taken). A request is one byte (4 or 6); the
 * response is one message with one socket. */
void dialer_set_inner(struct dialer *dialer, uint64_t exec, int inner);
void dialer_clear_inner(struct dialer *dialer, uint64_t exec);
/* @done runs from the loop, at most once. @verdict (allow) is copied. @is_tunnel: false: the bytes
 * will be HTTP requests, for which an upstream proxy by HTTP makes no tunnel. */
struct dial *dial_start(struct dialer *dialer, uint64_t exec, const struct policy_destination *dst,
			const struct policy_verdict *verdict, bool is_tunnel, dial_fn done,
			void *arg);
void dial_withdraw(struct dial *dial);
