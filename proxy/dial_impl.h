/* dial: what one dial (dial.c) and the dialler of all (dialer.c) know of each other. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct dial;
struct inner;
struct loop;
struct policy;
struct resolver;

struct dial_inner {
	LIST_ENTRY(dial_inner) link;
	uint64_t exec;
	struct inner *inner;
};

struct dialer {
	struct loop *loop;
	struct resolver *resolver;
	const struct policy *policy;
	uint16_t own_port;
	LIST_HEAD(dial_list, dial) dials;
	size_t dial_count;
	LIST_HEAD(dial_inner_list, dial_inner) inners;
};

/* The channel of @exec, or NULL. Borrowed. */
struct inner *dialer_inner(struct dialer *dialer, uint64_t exec);

/* Denies the dials of @exec that wait for a socket of its channel: it closes. */
void dial_end_inside(struct dialer *dialer, uint64_t exec);
