#include "cli/proxy/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/given.h"
#include "cli/options.h"
#include "cli/proxy/clients.h"
#include "cli/proxy/local_socket.h"
#include "proxy/proxy_service.h"

#define BACKLOG        1024
#define DEFAULT_LISTEN "127.0.0.1:3128"
#define LOCAL          LISTENERS_LOCAL
#define SERVED         "sallyport: clients of HTTP and SOCKS5 are served at "

int listeners_parse(const char *text, struct addr *ret, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool has_brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
	uint64_t port;

	if (len == 0 || text_to_u64(colon + 1, strlen(colon + 1), UINT16_MAX, &port) < 0 ||
	    addr_parse(has_brackets ? text + 1 : text, has_brackets ? len - 2 : len, ret) < 0 ||
	    has_brackets != (ret->family == AF_INET6))
		return -EINVAL;
	*ret_port = (uint16_t)port;
	return 0;
}

static bool is_in(const struct addr *addr, const struct addr_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (addr_block_has(&blocks[i], addr))
			return true;
	}
	return false;
}

bool listeners_is_loopback(const struct addr *addr)
{
	static const struct addr_block blocks[] = {
		{ { AF_INET, { 127 } }, 8 },
		{ { AF_INET6, { [15] = 1 } }, 128 },
	};

	return is_in(addr, blocks, ARRAY_SIZE(blocks));
}

/* Private use, shared and link-local: RFC 1918, RFC 6598, RFC 3927, RFC 4193, RFC 4291. */
static bool is_private(const struct addr *addr)
{
	static const struct addr_block blocks[] = {
		{ { AF_INET, { 10 } }, 8 },           { { AF_INET, { 172, 16 } }, 12 },
		{ { AF_INET, { 192, 168 } }, 16 },    { { AF_INET, { 100, 64 } }, 10 },
		{ { AF_INET, { 169, 254 } }, 16 },    { { AF_INET6, { 0xfc } }, 7 },
		{ { AF_INET6, { 0xfe, 0x80 } }, 10 },
	};

	return is_in(addr, blocks, ARRAY_SIZE(blocks));
}

/* The owner's choice: other machines can connect, and what that means is said. An exit status. */
static int check_reach(const struct addr *addr, const char *shown, bool is_bounded)
{
	if (listeners_is_loopback(addr))
		return CLI_OK;
	if (!is_bounded)
		return options_wrong(CLI_PROXY,
				     "clients on other machines can reach %s: name them with "
				     "--client or --credentials-file, or say --open",
				     shown);
	if (!is_private(addr))
		log_warn("%s is not a private address: every machine that can reach it can try to "
			 "use this proxy, and sees its answers",
			 shown);
	return CLI_OK;
}

/* @is_first: no other process may have the port, not even one of ours. */
static int bind_to(const struct addr *addr, uint16_t port, bool is_first, int *ret)
{
	struct sockaddr_storage name;
	socklen_t len = addr_to_sockaddr(addr, port, &name);
	auto_close int fd = socket(addr->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* a port that was ours */
	if (addr->family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	/* Several workers share a port by SO_REUSEPORT. Set after bind(), it admits no socket that
	 * was there before. */
	if ((!is_first && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) ||
	    bind(fd, (struct sockaddr *)&name, len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

static bool has_name(int fd, struct addr *ret, uint16_t *ret_port)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);

	return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
	       addr_from_sockaddr((struct sockaddr *)&name, ret, ret_port) == 0;
}

static int listen_at(const char *text, bool is_bounded, struct proxy_service *ret)
{
	struct addr addr;
	uint16_t port;

	if (listeners_parse(text, &addr, &port) < 0)
		return options_wrong(CLI_PROXY, "--listen: `%s` is not ADDRESS:PORT or unix:PATH",
				     text);
	int status = check_reach(&addr, text, is_bounded);

	if (status != CLI_OK)
		return status;
	int r = bind_to(&addr, port, true, &ret->listeners[ret->listener_count]);

	if (r < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot listen at %s: %s", text, strerror(-r));
	ret->listener_count++;
	return CLI_OK;
}

static int listen_there(const char *text, const struct clients *clients,
			struct local_sockets *sockets, struct proxy_service *ret)
{
	if (ret->listener_count == PROXY_LISTENERS_MAX)
		return options_wrong(CLI_PROXY, "--listen: at most %d are possible",
				     PROXY_LISTENERS_MAX);
	if (strncmp(text, LOCAL, sizeof(LOCAL) - 1) != 0)
		return listen_at(text, clients_are_bounded(clients), ret);
	int status = local_socket_open(sockets, text + sizeof(LOCAL) - 1, clients->user_count > 0,
				       &ret->listeners[ret->listener_count]);

	ret->listener_count += status == CLI_OK;
	return status;
}

/* The owner of a Unix socket that is handed over has chosen who may connect. */
static int take_given(int fd, bool is_bounded, struct proxy_service *ret)
{
	int type = 0, is_listening = 0, family = 0;
	socklen_t size = sizeof(int);
	char shown[ADDR_PORT_MAX];
	struct addr addr;
	uint16_t port;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0 || !is_listening ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0 ||
	    (family != AF_UNIX && !has_name(fd, &addr, &port)))
		return cli_fail(CLI_ERROR,
				"descriptor %d, which was handed over (LISTEN_FDS), is not a "
				"listening TCP or Unix socket",
				fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return cli_fail(CLI_ERROR, "descriptor %d cannot be used: %s", fd, strerror(errno));
	ret->listeners[ret->listener_count++] = fd;
	return family == AF_UNIX
		       ? CLI_OK
		       : check_reach(&addr, addr_port_text(&addr, port, shown), is_bounded);
}

int listeners_open(const struct options *given, const struct clients *clients,
		   struct local_sockets *sockets, struct proxy_service *ret)
{
	auto_free char **places = options_get_all(given, OPT_LISTEN);
	size_t count = given_count();
	int status = CLI_OK;

	if (count > PROXY_LISTENERS_MAX)
		return cli_fail(CLI_ERROR, "more than %d sockets were handed over (LISTEN_FDS)",
				PROXY_LISTENERS_MAX);
	for (size_t i = 0; i < count && status == CLI_OK; i++)
		status = take_given(GIVEN_FD + (int)i, clients_are_bounded(clients), ret);
	for (char **place = places; place && *place && status == CLI_OK; place++)
		status = listen_there(*place, clients, sockets, ret);
	if (status == CLI_OK && ret->listener_count == 0)
		status = listen_there(DEFAULT_LISTEN, clients, sockets, ret);
	return status;
}

static bool is_given(int fd)
{
	return fd >= GIVEN_FD && (size_t)(fd - GIVEN_FD) < given_count();
}

int listeners_repeat(struct proxy_service *service)
{
	for (size_t i = 0; i < service->listener_count; i++) {
		char shown[ADDR_PORT_MAX];
		struct addr addr;
		uint16_t port;
		int fd = service->listeners[i], more = -1;

		if (is_given(fd) || !has_name(fd, &addr, &port))
			continue;
		int r = bind_to(&addr, port, false, &more);

		if (r < 0)
			return cli_fail(CLI_NO_SANDBOX, "cannot listen at %s: %s",
					addr_port_text(&addr, port, shown), strerror(-r));
		fd_close(fd); /* the worker before has it */
		service->listeners[i] = more;
	}
	return CLI_OK;
}

void listeners_announce(const struct proxy_service *service, const struct local_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++)
		(void)fprintf(stderr, SERVED "%s%s\n", LOCAL, sockets->all[i].path);
	for (size_t i = 0; i < service->listener_count; i++) {
		char shown[ADDR_PORT_MAX];
		struct addr addr;
		uint16_t port;

		if (has_name(service->listeners[i], &addr, &port))
			(void)fprintf(stderr, SERVED "%s\n", addr_port_text(&addr, port, shown));
	}
}

void listeners_close(struct proxy_service *service)
{
	for (size_t i = 0; i < service->listener_count; i++)
		fd_close(service->listeners[i]);
	service->listener_count = 0;
}
