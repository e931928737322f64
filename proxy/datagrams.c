#include "proxy/datagrams.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event_struct.h>

#include "base/addr.h"
#include "base/fd.h"
#include "base/inside_net.h"
#include "base/mem.h"
#include "proxy/connection.h"
#include "proxy/flow.h"
#include "proxy/parse/packet.h"
#include "proxy/upstream/exec_sockets.h"

#define BATCH 64 /* datagrams read before the others get their turn */

enum datagrams_socket { LISTENER, RAW4, RAW6, SOCKETS };

struct datagrams {
	struct flows flows;
	int fds[SOCKETS]; /* -1: not here */
	struct datagrams_wish {
		struct datagrams *datagrams;
		struct exec_sockets_request *request;
	} wishes[SOCKETS];
	struct event event;
};

static void send_packet(const struct datagrams *datagrams, const struct addr *to,
			struct iovec *parts, size_t count)
{
	struct sockaddr_storage name;
	const struct msghdr message = { .msg_name = &name,
					.msg_namelen = addr_to_sockaddr(to, 0, &name),
					.msg_iov = parts,
					.msg_iovlen = count };

	(void)sendmsg(datagrams->fds[to->family == AF_INET ? RAW4 : RAW6], &message,
		      MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* From the client to the server. */
static struct packet_way way_of(const struct flow *flow)
{
	struct packet_way way;

	memcpy(&way, flow->key, sizeof(way));
	return way;
}

static void deliver(const struct flow *flow, char *bytes, size_t len)
{
	const struct datagrams *datagrams = container_of(flow->flows, struct datagrams, flows);
	const struct packet_way there = way_of(flow);
	const struct packet_way back = { there.to, there.from, there.to_port, there.from_port };
	uint8_t head[PACKET_HEAD_MAX];
	size_t head_len = packet_write_head(&back, bytes, len, head);
	struct iovec parts[] = { { head, head_len }, { bytes, len } };

	if (head_len > 0)
		send_packet(datagrams, &there.from, parts, ARRAY_SIZE(parts));
}

/* A connected socket learns it at once: QUIC falls back. */
static void refuse(const struct flow *flow)
{
	const struct datagrams *datagrams = container_of(flow->flows, struct datagrams, flows);
	const struct packet_way way = way_of(flow);
	uint8_t packet[PACKET_REFUSAL_MAX];
	struct iovec part = { packet, packet_write_refusal(&way, packet) };

	send_packet(datagrams, &way.from, &part, 1);
}

/* The command can give a datagram any source; to another address an answer would be captured. */
static bool is_own(const struct addr *addr)
{
	static const uint8_t own_4[4] = INSIDE_NET_OWN_4, own_6[16] = INSIDE_NET_OWN_6;
	static const uint8_t loopback_6[16] = { [15] = 1 };

	if (addr->family == AF_INET)
		return addr->bytes[0] == IN_LOOPBACKNET || memcmp(addr->bytes, own_4, 4) == 0;
	return memcmp(addr->bytes, own_6, 16) == 0 || memcmp(addr->bytes, loopback_6, 16) == 0;
}

static int read_name(const void *name, struct addr *ret, uint16_t *ret_port)
{
	int r = addr_from_sockaddr(name, ret, ret_port);

	if (r == 0)
		addr_unmap(ret); /* the socket is for both families */
	return r;
}

/* Where the datagram came from, and the address it was sent to, which comes with it. */
static int read_way(struct msghdr *message, struct packet_way *ret)
{
	memset(ret, 0, sizeof(*ret)); /* it is a key, with its padding */
	int r = read_name(message->msg_name, &ret->from, &ret->from_port);

	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); r == 0 && head;
	     head = CMSG_NXTHDR(message, head)) {
		struct sockaddr_storage name = { 0 };
		size_t len = head->cmsg_len - CMSG_LEN(0);

		if ((head->cmsg_level != SOL_IP || head->cmsg_type != IP_ORIGDSTADDR) &&
		    (head->cmsg_level != SOL_IPV6 || head->cmsg_type != IPV6_ORIGDSTADDR))
			continue;
		memcpy(&name, CMSG_DATA(head), len < sizeof(name) ? len : sizeof(name));
		r = read_name(&name, &ret->to, &ret->to_port);
	}
	return r == 0 && ret->from.family == ret->to.family && ret->to_port != 0 &&
			       is_own(&ret->from)
		       ? 0
		       : -EBADMSG;
}

static void take_datagram(struct datagrams *datagrams, const struct packet_way *way,
			  const char *bytes, size_t len)
{
	struct socks5_request dst = { .port = way->to_port };

	dst.host_len = strlen(addr_text(&way->to, dst.host));
	flow_take(&datagrams->flows, (const uint8_t *)way, sizeof(*way), &dst, bytes, len);
}

/* False: there is no more, or the socket fails. */
static bool read_one(struct datagrams *datagrams)
{
	char *bytes = datagrams->flows.way->proxy->shared.bytes;
	struct packet_way way;
	struct sockaddr_storage from = { 0 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(struct sockaddr_in6))];
	} control;
	struct iovec part = { .iov_base = bytes, .iov_len = LIMITS_READ_BYTES };
	struct msghdr message = { .msg_name = &from,
				  .msg_namelen = sizeof(from),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t got = recvmsg(datagrams->fds[LISTENER], &message, MSG_DONTWAIT);

	if (got < 0)
		return errno == EINTR;
	if (read_way(&message, &way) == 0)
		take_datagram(datagrams, &way, bytes, (size_t)got);
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	for (int i = 0; i < BATCH && read_one(arg); i++)
		;
}

/* The listener comes last: its datagrams can be answered. */
static void on_socket(int fd, void *arg)
{
	struct datagrams_wish *wish = arg;
	struct datagrams *datagrams = wish->datagrams;
	struct loop *loop = datagrams->flows.way->proxy->loop;

	wish->request = NULL;
	datagrams->fds[wish - datagrams->wishes] = fd < 0 ? -1 : fd;
	if (fd < 0 || wish != &datagrams->wishes[LISTENER])
		return;
	event_assign(&datagrams->event, loop_base(loop), fd, EV_READ | EV_PERSIST, on_readable,
		     datagrams);
	event_add(&datagrams->event, NULL);
}

struct datagrams *datagrams_begin(struct way *way, struct exec_sockets *inner)
{
	static const struct {
		enum datagrams_socket at;
		enum exec_sockets_kind kind;
	} wanted[] = {
		{ RAW4, EXEC_SOCKETS_RAW4 },
		{ RAW6, EXEC_SOCKETS_RAW6 },
		{ LISTENER, EXEC_SOCKETS_CAPTURED },
	};
	struct datagrams *datagrams = mem_new(sizeof(*datagrams));

	datagrams->flows = (struct flows){
		.way = way, .by = POLICY_WAY_CAPTURED, .deliver = deliver, .refuse = refuse
	};
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct datagrams_wish *wish = &datagrams->wishes[wanted[i].at];

		datagrams->fds[wanted[i].at] = -1;
		wish->datagrams = datagrams;
		wish->request = exec_sockets_ask(inner, wanted[i].kind, on_socket, wish);
	}
	return datagrams;
}

void datagrams_end(struct datagrams *datagrams)
{
	if (!datagrams)
		return;
	flow_close_all(&datagrams->flows, POLICY_EXEC_ENDED);
	if (datagrams->fds[LISTENER] >= 0)
		event_del(&datagrams->event);
	for (size_t i = 0; i < SOCKETS; i++) {
		exec_sockets_withdraw(datagrams->wishes[i].request);
		if (datagrams->fds[i] >= 0)
			fd_close(datagrams->fds[i]);
	}
	free(datagrams);
}
