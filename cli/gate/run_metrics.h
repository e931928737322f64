/* run_metrics: the listening socket of --metrics. */
#pragma once

#include <stdint.h>

#include "cli/options.h"
#include "cli/proxy/local_socket.h"
#include "gateway/gateway_metrics.h"

struct run_metrics {
	struct gateway_metrics gateway; /* for the gateway, which takes the socket */
	struct local_sockets sockets;
	uint16_t port; /* of the loopback; 0: none */
};
#define RUN_METRICS_NONE ((struct run_metrics){ .gateway = { .fd = -1 } })

/* 0, or an exit status after the error was printed. */
int run_metrics_check(enum cli_command command, const char *place);
/* Listens at @place (NULL: nowhere); a path begins in @cwd. An exit status; prints what is wrong,
 * or where the counts are. */
int run_metrics_open(const char *place, const char *cwd, struct run_metrics *ret);
/* Closes what the gateway has not taken, and removes a Unix socket. */
void run_metrics_close(struct run_metrics *metrics);
