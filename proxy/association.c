#include "proxy/association.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/connection.h"
#include "proxy/entrance.h"
#include "proxy/flow.h"
#include "proxy/parse/socks5.h"
#include "proxy/upstream/dial.h"
#include "proxy/upstream/dial_impl.h"
#include "proxy/upstream/exec_sockets.h"

#define BATCH 64 /* datagrams read before the others get their turn */

static bool is_refused(const struct flow *flow)
{
	return !flow->connection;
}

static bool was_refused(const struct flow *flow)
{
	const struct loop *loop = flow->association->connection->proxy->loop;

	return is_refused(flow) && loop_now_ms(loop) >= flow->refused_until_ms;
}

static void forget_refused(struct association *association)
{
	struct flow *flow = LIST_FIRST(&association->flows);

	while (flow) {
		struct flow *next = LIST_NEXT(flow, link);

		if (was_refused(flow))
			flow_free(flow);
		flow = next;
	}
}

/* The one that was used last is the first: most datagrams are its own. */
static struct flow *find_flow(struct association *association, const uint8_t *head, size_t len)
{
	struct flow *flow;

	LIST_FOREACH (flow, &association->flows, link) {
		if (flow->head_len == len && memcmp(flow->head, head, len) == 0)
			break;
	}
	if (flow && was_refused(flow)) {
		flow_free(flow);
		return NULL;
	}
	if (flow && flow != LIST_FIRST(&association->flows)) {
		LIST_REMOVE(flow, link);
		LIST_INSERT_HEAD(&association->flows, flow, link);
	}
	return flow;
}

static struct flow *add_flow(struct association *association, const uint8_t *head, size_t len,
			     const struct socks5_request *dst)
{
	struct way *way = association->connection->way;

	if (association->flow_count >= LIMITS_FLOWS_MAX)
		forget_refused(association);
	if (association->flow_count < LIMITS_FLOWS_MAX && entrance_has_room(way))
		return flow_begin(association, head, len, dst);
	entrance_record_overload(way, flow_front());
	return NULL;
}

static void take_datagram(struct association *association, const uint8_t *bytes, size_t len)
{
	struct socks5_request dst;
	struct flow *flow;
	int head = socks5_parse_datagram(bytes, len, &dst);

	if (head < 0) {
		association->bad_count++;
		return;
	}
	flow = find_flow(association, bytes, (size_t)head);
	if (!flow)
		flow = add_flow(association, bytes, (size_t)head, &dst);
	if (flow)
		flow_send(flow, bytes + head, len - (size_t)head);
}

/* The first socket that sends is the client's, and stays it. */
static bool is_client(struct association *association, const struct sockaddr_in *from)
{
	struct sockaddr_in *client = &association->client;
	bool is_known = client->sin_family != 0;

	if (from->sin_family != AF_INET || (client->sin_port && from->sin_port != client->sin_port))
		return false;
	if (!is_known)
		*client = *from;
	return from->sin_addr.s_addr == client->sin_addr.s_addr;
}

/* False: there is no more, or the socket fails. */
static bool read_one(struct association *association)
{
	struct connection *connection = association->connection;
	char *bytes = connection->proxy->shared.bytes;
	struct sockaddr_in from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t got = recvfrom(association->fd, bytes, LIMITS_READ_BYTES, MSG_DONTWAIT,
			       (struct sockaddr *)&from, &from_len);

	if (got < 0)
		return errno == EINTR;
	if (!is_client(association, &from)) {
		association->bad_count++;
		return true;
	}
	connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	take_datagram(association, (const uint8_t *)bytes, (size_t)got);
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	for (int i = 0; i < BATCH && read_one(arg); i++)
		;
}

/* The port of @fd on 127.0.0.1; 0: it is none. */
static uint16_t port_of(int fd)
{
	struct sockaddr_in name = { 0 };
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0 || name.sin_family != AF_INET ||
	    name.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
		return 0;
	return ntohs(name.sin_port);
}

static void open_socket(struct association *association, int fd, uint16_t port)
{
	struct connection *connection = association->connection;
	uint8_t words[SOCKS5_REPLY_BYTES];

	association->fd = fd;
	event_assign(&association->event, loop_base(connection->proxy->loop), fd,
		     EV_READ | EV_PERSIST, on_readable, association);
	event_add(&association->event, NULL);
	socks5_write_associated(port, words);
	if (leg_write_bytes(&connection->client, words, sizeof(words)) < 0)
		connection_close(connection, POLICY_CLIENT_LEFT);
}

static void on_socket(int fd, void *arg)
{
	struct association *association = arg;
	uint16_t port = fd >= 0 ? port_of(fd) : 0;

	association->request = NULL;
	if (port > 0) {
		open_socket(association, fd, port);
		return;
	}
	if (fd >= 0)
		fd_close(fd);
	admit_refuse(association->connection,
		     fd == -EPIPE    ? POLICY_EXEC_ENDED
		     : fd == -EAGAIN ? POLICY_OVERLOADED
				     : POLICY_CONNECT_FAILED,
		     "the sandbox's init did not return a UDP socket");
}

void association_begin(struct connection *connection, uint16_t client_port)
{
	struct exec_sockets *inner = dialer_inner(connection->proxy->dialer, connection->way->exec);
	struct association *association = mem_new(sizeof(*association));

	association->connection = connection;
	association->fd = -1;
	association->client.sin_port = htons(client_port);
	LIST_INIT(&association->flows);
	connection->association = association;
	buffer_clear(&connection->in);
	connection_enter(connection, CONNECTION_DATAGRAMS);
	connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	if (connection->client.is_eof)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else if (!inner)
		admit_refuse(connection, POLICY_EXEC_ENDED, "the sandbox has ended");
	else
		association->request =
			exec_sockets_ask(inner, EXEC_SOCKETS_UDP, on_socket, association);
}

static void close_flows(struct association *association, enum policy_reason reason)
{
	struct flow *flow;

	while ((flow = LIST_FIRST(&association->flows))) {
		bool was_sent = flow->connection && flow->connection->state == CONNECTION_DATAGRAMS;

		if (is_refused(flow))
			flow_free(flow);
		else
			connection_close(flow->connection,
					 was_sent || reason != POLICY_CLIENT_CLOSED
						 ? reason
						 : POLICY_CLIENT_LEFT);
	}
}

static void association_free(struct association *association, enum policy_reason reason)
{
	struct connection *connection = association->connection;
	char cause[120];

	close_flows(association, reason);
	exec_sockets_withdraw(association->request);
	if (association->bad_count > 0 && !connection->request) {
		(void)snprintf(cause, sizeof(cause),
			       "%llu datagrams were dropped: they had no valid SOCKS5 head, were "
			       "fragments, or came from another socket",
			       (unsigned long long)association->bad_count);
		admit_record(connection, POLICY_MALFORMED, cause);
	}
	if (association->fd >= 0) {
		event_del(&association->event);
		fd_close(association->fd);
	}
	free(association);
}

void association_end(struct connection *connection, enum policy_reason reason, bool is_refused)
{
	if (connection->association)
		association_free(take(connection->association), reason);
}

/* Its bytes mean nothing; their end is that of the association. */
void association_on_client(struct connection *connection)
{
	ssize_t got = leg_read(&connection->client, connection->proxy->shared.bytes,
			       leg_read_size(&connection->client));

	if (got == 0)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else if (got < 0 && got != -EAGAIN)
		connection_close(connection, POLICY_RESET);
}

void association_on_deadline(struct connection *connection)
{
	connection_close(connection, POLICY_IDLE);
}
