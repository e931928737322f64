#include "cli/gate/run_published.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "exec/exec_egress.h"

#define BACKLOG 64

static int parse_port(const char *text, size_t len, uint16_t *ret)
{
	uint64_t port;

	if (text_to_u64(text, len, UINT16_MAX, &port) < 0 || port == 0)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

int run_published_parse(const char *text, struct run_published *ret)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	struct run_published out;

	if (parse_port(text, len, &out.port) < 0)
		return -EINVAL;
	out.inside = out.port;
	if (colon && parse_port(colon + 1, strlen(colon + 1), &out.inside) < 0)
		return -EINVAL;
	/* The gate's listeners there serve the command, and nobody on the host. */
	if (out.inside == EXEC_HTTP_PORT || out.inside == EXEC_SOCKS_PORT)
		return -EINVAL;
	*ret = out;
	return 0;
}

int run_published_listen(const struct sockaddr *address, socklen_t len)
{
	auto_close int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	/* A port can be used again at once; no other process can be listening on it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, address, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return fd_take(&fd);
}

static int listen_v4(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };

	return run_published_listen((const struct sockaddr *)&address, sizeof(address));
}

/* -EADDRNOTAVAIL: this host has no ::1. */
static int listen_v6(uint16_t port)
{
	const struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					      .sin6_port = htons(port),
					      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = run_published_listen((const struct sockaddr *)&address, sizeof(address));

	return fd == -EAFNOSUPPORT ? -EADDRNOTAVAIL : fd;
}

static int refuse(uint16_t port, const char *host, int error)
{
	if (error == -EADDRINUSE)
		return cli_fail(CLI_NO_SANDBOX,
				"--publish: port %u of %s is in use; choose another port of the "
				"host, as in --publish PORT:INSIDE",
				port, host);
	return cli_fail(CLI_NO_SANDBOX, "--publish: cannot listen on port %u of %s: %s", port, host,
			strerror(-error));
}

int run_published_open(const struct run_published *ports, size_t count,
		       struct proxy_published ret[PROXY_PUBLISHED_MAX], size_t *ret_count)
{
	for (size_t i = 0; i < count; i++) {
		int v4 = listen_v4(ports[i].port);

		if (v4 < 0)
			return refuse(ports[i].port, "127.0.0.1", v4);
		ret[(*ret_count)++] = (struct proxy_published){ v4, ports[i].inside };
		int v6 = listen_v6(ports[i].port);

		/* In use: a client of `localhost` would reach another program there. */
		if (v6 < 0 && v6 != -EADDRNOTAVAIL)
			return refuse(ports[i].port, "::1", v6);
		if (v6 >= 0)
			ret[(*ret_count)++] = (struct proxy_published){ v6, ports[i].inside };
	}
	return CLI_OK;
}

void run_published_close(struct proxy_published *listeners, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		fd_close(listeners[i].fd);
	*count = 0;
}

char *run_published_text(const struct run_published *ports, size_t count)
{
	char *text = mem_strdup("ports of the host's loopback:");

	for (size_t i = 0; i < count; i++)
		mem_append(&text, "%s %u to %u", i > 0 ? "," : "", ports[i].port, ports[i].inside);
	return text;
}
