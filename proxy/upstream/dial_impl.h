/* dial: what dial.c (one dial) and dialer.c (all of them) share. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proxy/upstream/own_ports.h"

struct dial;
struct exec_sockets;
struct loop;
struct policy;
struct proxy_config;
struct resolver;
struct tls_bridges;

struct dial_inner {
	LIST_ENTRY(dial_inner) link;
	uint64_t exec;
	struct exec_sockets *inner;
};

struct dialer {
	struct loop *loop;
	struct resolver *resolver;
	const struct policy *policy;
	uint16_t own_port, metrics_port;
	struct own_ports own_ports;        /* of listeners outside of every sandbox */
	const struct proxy_config *config; /* NULL: there is no upstream proxy */
	struct tls_bridges *bridges;       /* NULL: no upstream proxy has TLS */
	LIST_HEAD(dial_list, dial) dials;
	size_t dial_count;
	LIST_HEAD(dial_inner_list, dial_inner) inners;
};

/* The channel of @exec, or NULL. Borrowed. */
struct exec_sockets *dialer_inner(struct dialer *dialer, uint64_t exec);

/* Denies the dials of @exec that wait for a socket of its channel, which closes. */
void dial_end_inside(struct dialer *dialer, uint64_t exec);
