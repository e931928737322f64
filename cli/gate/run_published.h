/* run_published: the ports of --publish: clients of the host's loopback are connected to servers of
 * the command. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proxy/proxy.h"

#define RUN_PUBLISHED_MAX (PROXY_PUBLISHED_MAX / 2) /* each port is opened for IPv4 and IPv6 */

struct run_published {
	uint16_t port;   /* on the host */
	uint16_t inside; /* of the command's server */
};

/* PORT or PORT:INSIDE. 0 or -EINVAL. */
int run_published_parse(const char *text, struct run_published *ret);

/* Listens on 127.0.0.1 and, where there is IPv6, on ::1. Returns the listeners owned; a port that
 * is in use is an error, which is printed. An exit status. */
int run_published_open(const struct run_published *ports, size_t count,
		       struct proxy_published ret[PROXY_PUBLISHED_MAX], size_t *ret_count);
void run_published_close(struct proxy_published *listeners, size_t *count);
/* A listening TCP socket at @address, which no other process has: returned owned, or -errno. */
int run_published_listen(const struct sockaddr *address, socklen_t len);
/* For the record. Returned owned. */
char *run_published_text(const struct run_published *ports, size_t count);
