/* metrics: the numbers of the gateway over HTTP, on loopback or a Unix socket, for programs that
 * watch it. It reads nothing but a path and changes nothing. Private to metrics*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/net/listener.h"
#include "gateway/approvers/metrics/metrics_counts.h"

#define METRICS_CLIENTS_MAX    8
#define METRICS_HEAD_MAX_BYTES 4096
#define METRICS_REQUEST_MS     5000  /* for a whole request to arrive */
#define METRICS_DRAIN_MS       10000 /* for a client to read the answer */
#define METRICS_LINGER_MS      1000  /* for a client to close the connection after its answer */
#define METRICS_ANSWER_MAX     (2U << 20) /* bytes; every number at once has less */

struct approver;
struct evbuffer;
struct metrics_client;

/* Takes @fd; returned owned. */
struct metrics_client *metrics_client_new(struct approver *server, int fd);
void metrics_client_free(struct metrics_client *client);
bool metrics_client_is_closed(const struct metrics_client *client);

struct approver {
	struct gateway *gw;
	struct loop *loop;
	struct listener listener;
	struct loop_timer sweep;
	bool is_local; /* clients come by a Unix socket */
	char *version;
	struct metrics_client *clients[METRICS_CLIENTS_MAX];
	size_t client_count;
	struct metrics_counts counts;
};
void metrics_sweep(struct approver *self); /* a client was closed: frees it from the loop */
/* Appends the numbers. 0 or -ENOMEM. */
int metrics_write(const struct approver *self, struct evbuffer *out);
