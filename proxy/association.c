#include "proxy/association.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event_struct.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/connection.h"
#include "proxy/flow.h"
#include "proxy/parse/socks5.h"
#include "proxy/upstream/dial.h"
#include "proxy/upstream/dial_impl.h"
#include "proxy/upstream/exec_sockets.h"

#define BATCH 64 /* datagrams read before the others get their turn */

/* What its flows share, and its client. */
struct association {
	struct connection *connection; /* the client's */
	struct exec_sockets_request *request;
	int fd;                    /* -1: not here yet */
	struct sockaddr_in client; /* family 0: it has not sent yet; a port may be known */
	struct event event;
	struct flows flows;
	uint64_t bad_count; /* datagrams that belong to no flow */
};

/* What cannot be sent is lost, as any packet may be. */
static void deliver(const struct flow *flow, char *bytes, size_t len)
{
	struct association *association = container_of(flow->flows, struct association, flows);
	struct iovec parts[] = { { (void *)(uintptr_t)flow->key, flow->key_len }, { bytes, len } };
	const struct msghdr message = { .msg_name = &association->client,
					.msg_namelen = sizeof(association->client),
					.msg_iov = parts,
					.msg_iovlen = 2 };

	(void)sendmsg(association->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void take_datagram(struct association *association, const uint8_t *bytes, size_t len)
{
	struct socks5_request dst;
	int head = socks5_parse_datagram(bytes, len, &dst);

	if (head < 0)
		association->bad_count++;
	else
		flow_take(&association->flows, bytes, (size_t)head, &dst, bytes + head,
			  len - (size_t)head);
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
	/* The program that made the association is the one that asks. */
	association->flows = (struct flows){ .way = connection->way,
					     .by = POLICY_WAY_SOCKS5,
					     .peer_port = connection->peer_port,
					     .deliver = deliver };
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

static void association_free(struct association *association, enum policy_reason reason)
{
	struct connection *connection = association->connection;
	char cause[120];

	flow_close_all(&association->flows, reason);
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
