/* gateway_metrics: the listening socket of the gateway's numbers, for programs that watch it.
 * sallyport(1), METRICS. */
#pragma once

#include <stdbool.h>

struct gateway_metrics {
	int fd;        /* listens; gateway_new() takes it and writes -1. < 0: none */
	bool is_local; /* it is a Unix socket */
};
