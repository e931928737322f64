/* The front of connections that were made without the proxy: the sandbox hands them to one
 * listener, and the address of the accepted socket is the one that the program wanted. The name
 * that was resolved to it is the destination. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/inside_net.h"
#include "base/mem.h"
#include "policies/policies_gate.h"
#include "proxy/admit.h"
#include "proxy/connection.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/relay/closing.h"
#include "proxy/relay/tunnel.h"

#define HTTP_PORT  80
#define METHOD_MAX 20

/* A program that expects TLS is told by an alert, any other by a reset: it does not take the end
 * for a complete answer. */
static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	bool is_tls = refusal->dst && refusal->dst->protocol == POLICY_HTTPS;

	connection_drop_upstream(connection);
	if (is_tls && closing_alert(connection, CLOSING_ACCESS_DENIED) == 0)
		closing_linger(connection);
	else
		connection_abort(connection, refusal->reason);
}

static int read_reached(int fd, struct addr *ret, uint16_t *ret_port)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return -errno;
	int r = addr_from_sockaddr((const struct sockaddr *)&name, ret, ret_port);

	if (r == 0)
		addr_unmap(ret); /* the listener is for both families */
	return r;
}

/* The name is the destination; an address that no name has is one itself. */
static int set_destination(struct connection *connection, uint16_t port,
			   struct policy_destination *ret)
{
	char text[ADDR_TEXT_MAX];
	const char *host = names_host(&connection->way->nameserver.names, &connection->reached);

	if (!host)
		host = addr_text(&connection->reached, text);
	return policy_destination_set(ret, host, strlen(host), port, NULL);
}

static void begin_tunnel(struct connection *connection, const struct policy_destination *dst)
{
	const struct policy_facts facts = { .dst = *dst,
					    .carries = dst->protocol,
					    .way = POLICY_WAY_CAPTURED,
					    .exec = connection->way->exec };

	admit_begin(connection, &facts);
	if (policy_destination_is_loopback(dst) || !strcmp(dst->host, POLICY_GATE_HOST))
		admit_refuse(connection, POLICY_OWN_LISTENER, NULL);
	else
		admit_submit(connection, NULL);
}

static void on_open(struct connection *connection)
{
	struct policy_destination dst;
	uint16_t port;

	if (read_reached(connection->client.fd, &connection->reached, &port) < 0) {
		connection_abort(connection, POLICY_RESET);
		return;
	}
	if (port == INSIDE_NET_DNS) {
		connection->front = dns_front();
		return;
	}
	if (set_destination(connection, port, &dst) < 0) {
		admit_refuse(connection, POLICY_BAD_HOST, NULL);
		return;
	}
	if (port != HTTP_PORT || policy_destination_is_loopback(&dst)) {
		begin_tunnel(connection, &dst);
		return;
	}
	connection->captured = mem_new(sizeof(*connection->captured));
	*connection->captured = dst;
}

/* Do the bytes begin as an HTTP request, with a method and a space? 0: yes; -EAGAIN: there are too
 * few; -EBADMSG. */
static int look_for_method(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && i < METHOD_MAX; i++) {
		if (bytes[i] == ' ' && i > 0)
			return 0;
		if (bytes[i] != '-' && (bytes[i] < 'A' || bytes[i] > 'Z'))
			return -EBADMSG;
	}
	return len < METHOD_MAX ? -EAGAIN : -EBADMSG;
}

/* On port 80: each HTTP request is decided, as on the proxy's own port; other bytes are one
 * tunnel. */
static int on_input(struct connection *connection)
{
	int r = look_for_method(buffer_at(&connection->in), connection->in.len);

	if (r == 0) {
		connection->front = http1_front();
	} else if (r == -EBADMSG) {
		auto_free struct policy_destination *dst = take(connection->captured);

		begin_tunnel(connection, dst);
		r = 0;
	}
	return r;
}

const struct front *captured_front(void)
{
	static const struct front front = {
		.name = "captured",
		.way = POLICY_WAY_CAPTURED,
		.on_open = on_open,
		.on_input = on_input,
		.on_refused = on_refused,
		.on_connected = tunnel_begin,
	};

	return &front;
}
