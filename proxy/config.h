/* config: the settings a proxy starts with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct policy;
struct proxy_service;
struct policy_upstreams;

/* A name with addresses from the operator (--resolve, /etc/hosts). */
struct proxy_mapping {
	const char *name; /* canonical */
	struct addr addr;
};

/* A port of the host whose clients are connected to a server of the command. */
struct proxy_published {
	int fd;          /* listens on the host's loopback */
	uint16_t inside; /* the server's port, on the command's loopback */
};
#define PROXY_PUBLISHED_MAX 32

/* A worker that comes after others, which have died. The addresses that they gave to names are not
 * given to other names. */
struct proxy_turn {
	uint32_t before; /* how many there were */
	uint32_t names;  /* the largest number of a name (proxy/inside/names.h) that they used */
	/* The same from now on, for the next one; kept; NULL: there will be none. The memory is
	 * shared, and a worker that is taken over may write anything there. */
	uint32_t *names_used;
};

struct proxy_config {
	const struct policy *policy; /* for policy_decide_address(); kept */
	/* --resolve: has precedence over every other source. The operator named these addresses, so
	 * they may be private (but not cloud metadata). */
	const struct proxy_mapping *resolves;
	size_t resolve_count;
	/* --dns ADDRESS[:PORT]: the only server that is asked; family 0: the host's resolv.conf and
	 * hosts file. */
	struct addr dns_addr;
	uint16_t dns_port;
	/* The gate's own port on the host's loopback: refused whatever the policy says. 0: none. */
	uint16_t own_port;
	uint16_t metrics_port; /* the same, of --metrics */
	/* For the first exec, whose proxy takes the descriptors; kept. At most
	 * PROXY_PUBLISHED_MAX. */
	const struct proxy_published *published;
	size_t published_count;
	const struct policy_upstreams *upstreams; /* NULL: every server is dialled directly; kept */
	const struct proxy_service *service; /* NULL: clients are commands in sandboxes; kept */
	bool asks_nobody; /* --ci: what a refusal says to do is not for a person at hand */
	struct proxy_turn turn;
};

/* The sockets of an exec, in its network namespace, in the order in which the gateway sends them
 * (enum exec_egress_fd, exec/exec_egress.h; this layer may not include that header). */
enum proxy_fd {
	PROXY_HTTP, /* TCP listeners */
	PROXY_SOCKS,
	PROXY_CAPTURE, /* -1: there is none */
	PROXY_NAMES,   /* UDP: see nameserver.h; -1: there is none */
	PROXY_INNER,   /* SOCK_SEQPACKET to its init, which creates sockets there
			  (proxy/upstream/dial.c) */
	PROXY_FDS
};
