/* metrics: the numbers of the gateway over HTTP, on loopback or a Unix socket, for programs that
 * watch it. It reads nothing but a path and changes nothing. Private to metrics*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/net/listener.h"
#include "gateway/approvers/metrics/metrics_counts.h"
#include "base/page/served.h"

#define METRICS_CLIENTS_MAX    8
#define METRICS_HEAD_MAX_BYTES 4096
#define METRICS_ANSWER_MAX     (2U << 20) /* bytes; every number at once has less */

struct approver;
struct evbuffer;

/* Takes @fd. */
void metrics_client_new(struct approver *server, int fd);

struct approver {
	struct gateway *gw;
	struct loop *loop;
	struct listener listener;
	bool is_local; /* clients come by a Unix socket */
	char *version;
	struct served_all clients;
	struct metrics_counts counts;
};
/* Appends the numbers. 0 or -ENOMEM. */
int metrics_write(const struct approver *self, struct evbuffer *out);
