/* proxy: the worker that reads hostile bytes. Whatever the way in (HTTP, CONNECT, SOCKS5), it
 * becomes the same facts, one function decides (gateway_submit), and only a checked address is
 * dialled. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct err;
struct gateway_client;
struct loop;
struct policy;
struct proxy;

/* A name the operator has mapped (--resolve, /etc/hosts). */
struct proxy_mapping {
	const char *name; /* canonical */
	struct addr addr;
};

struct proxy_config {
	const struct policy *policy; /* for policy_decide_address(); kept */
	/* --resolve: beats every other source, and names an address by its operator, so that it may
	 * be private (metadata not). */
	const struct proxy_mapping *resolves;
	size_t resolve_count;
	/* --dns ADDRESS[:PORT]: the only server asked; family 0: the host's resolv.conf and hosts
	 * file. */
	struct addr dns_addr;
	uint16_t dns_port;
	/* Of the gate itself on the host's loopback: refused whatever the policy says. 0: none. */
	uint16_t own_port;
};

/* Keeps all three. The client's callbacks are the caller's to wire to proxy_open() and
 * proxy_close(). Returned owned. */
struct proxy *proxy_new(struct loop *loop, struct gateway_client *client,
			const struct proxy_config *config, struct err *why);
void proxy_free(struct proxy *proxy);
/* The config's policy, changed by its owner, is another: connections to addresses that it denies
 * are cut. */
void proxy_policy_changed(struct proxy *proxy);

/* An exec's way out: @http and @socks are listening TCP sockets inside its namespace, @inner a
 * SOCK_SEQPACKET to its init that hands out sockets of that namespace (proxy/dial.c). All taken. 0
 * or -errno. */
int proxy_open(struct proxy *proxy, uint64_t exec, int http, int socks, int inner);
/* Closes its listeners and every connection, with a report each. Unknown is fine. */
void proxy_close(struct proxy *proxy, uint64_t exec);

/* The body of the worker process: loop, link (@socket, taken), proxy; confined (seccomp, no files,
 * not dumpable) before the first hostile byte. Returns when the gateway is gone or says so; the
 * exit status. */
int proxy_worker(int socket, const struct proxy_config *config);
