#include "cli/gate/run_metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate/run_published.h"
#include "cli/proxy/listeners.h"

/* The path of a Unix socket; NULL: it is an address. */
static const char *path_of(const char *place)
{
	size_t len = strlen(LISTENERS_LOCAL);

	return strncmp(place, LISTENERS_LOCAL, len) == 0 ? place + len : NULL;
}

int run_metrics_check(enum cli_command command, const char *place)
{
	auto_free char *shown = text_visible_dup(place);
	struct addr addr;
	uint16_t port;

	if (path_of(place))
		return path_of(place)[0] != '\0'
			       ? CLI_OK
			       : options_wrong(command, "--metrics: `%s` has no path after it",
					       shown);
	if (listeners_parse(place, &addr, &port) < 0)
		return options_wrong(command, "--metrics: `%s` is not ADDRESS:PORT or unix:PATH",
				     shown);
	if (!listeners_is_loopback(&addr))
		return options_wrong(
			command,
			"--metrics: `%s` is not a loopback address: every process "
			"that can connect reads the counts without a password, so only "
			"this machine may; use 127.0.0.1:PORT, [::1]:PORT or unix:PATH",
			shown);
	return CLI_OK;
}

/* The holder of a session leaves its folder, so the path does not depend on it. */
static int open_local(const char *path, const char *cwd, struct run_metrics *ret)
{
	auto_free char *whole = path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", cwd, path);
	int status = local_socket_open(&ret->sockets, whole, false, &ret->gateway.fd);

	if (status == CLI_OK)
		(void)fprintf(stderr, "sallyport: metrics are at " LISTENERS_LOCAL "%s\n", whole);
	return status;
}

static int open_tcp(const char *place, struct run_metrics *ret)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	char shown[ADDR_PORT_MAX];
	struct addr addr;
	uint16_t port;

	if (listeners_parse(place, &addr, &port) < 0)
		return CLI_USAGE; /* run_metrics_check() has refused it */
	socklen_t len = addr_to_sockaddr(&addr, port, &name);
	int fd = run_published_listen((const struct sockaddr *)&name, len);

	if (fd < 0)
		return cli_fail(CLI_NO_SANDBOX, "--metrics: cannot listen at %s: %s",
				addr_port_text(&addr, port, shown), strerror(-fd));
	ret->gateway.fd = fd;
	if (getsockname(fd, (struct sockaddr *)&name, &size) < 0 ||
	    addr_from_sockaddr((const struct sockaddr *)&name, &addr, &ret->port) < 0)
		return cli_fail(CLI_NO_SANDBOX, "--metrics: the socket has no address");
	(void)fprintf(stderr, "sallyport: metrics are at http://%s/metrics\n",
		      addr_port_text(&addr, ret->port, shown));
	return CLI_OK;
}

int run_metrics_open(const char *place, const char *cwd, struct run_metrics *ret)
{
	const char *path = place ? path_of(place) : NULL;

	if (!place)
		return CLI_OK;
	ret->gateway.is_local = path != NULL;
	return path ? open_local(path, cwd, ret) : open_tcp(place, ret);
}

void run_metrics_close(struct run_metrics *metrics)
{
	fd_close(metrics->gateway.fd);
	local_socket_remove(&metrics->sockets);
	*metrics = RUN_METRICS_NONE;
}
