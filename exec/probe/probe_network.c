#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/inside_net.h"
#include "exec/init/sys.h"
#include "exec/probe/probe_impl.h"
#include "exec/run/wire.h"
#include "exec/stages/netlink.h"

/* TCP to an address outside is handed to the gate (exec/stages/capture.c), so a connect(2) there
 * succeeds and proves nothing. Therefore the kernel is asked where packets to such an address go,
 * and a UDP packet must come back to a socket of the sandbox. The servers on the host's loopback
 * are the gate's own baits. */

#define PORT_ANY 0

static const uint8_t outside_4[4] = INSIDE_NET_NOBODYS_4;
static const uint8_t outside_6[16] = INSIDE_NET_NOBODYS_6;
static const uint8_t metadata_4[4] = { 169, 254, 169, 254 };
static const uint8_t loopback_4[4] = { 127, 0, 0, 1 };
static const uint8_t loopback_6[16] = { [15] = 1 };
static const uint8_t any[16];

union name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static uint32_t fill(union name *ret, int family, const uint8_t *address, uint16_t port)
{
	memset(ret, 0, sizeof(*ret));
	if (family == AF_INET6) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons(port);
		memcpy(&ret->v6.sin6_addr, address, sizeof(ret->v6.sin6_addr));
		return sizeof(ret->v6);
	}
	ret->v4.sin_family = AF_INET;
	ret->v4.sin_port = htons(port);
	memcpy(&ret->v4.sin_addr, address, sizeof(ret->v4.sin_addr));
	return sizeof(ret->v4);
}

static bool has_host_network(const struct probe_setting *setting)
{
	return (setting->flags & WIRE_HOST_NETWORK) != 0;
}

/* 1, 0: not in time; or -errno. */
static long wait_until(long fd, short events)
{
	struct pollfd poll = { .fd = (int)fd, .events = events };
	struct timespec most = { .tv_sec = PROBE_WAIT_MS / 1000 };

	return sys(ppoll, &poll, 1, &most, NULL, SYS_SIGSET_BYTES);
}

static long finish_connect(long fd)
{
	int error = 0;
	uint32_t len = sizeof(error);
	long r = wait_until(fd, POLLOUT);

	if (r == 0)
		return -ETIMEDOUT;
	if (r > 0)
		r = sys(getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return r < 0 ? r : -error;
}

static long connect_to(int family, const uint8_t *address, const char *port)
{
	union name name;
	uint32_t len = fill(&name, family, address, (uint16_t)probe_number(port));
	long fd = sys(socket, family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	long r = sys(connect, fd, &name, len);

	if (r == -EINPROGRESS)
		r = finish_connect(fd);
	(void)sys(close, fd);
	return r;
}

long probe_network_tcp(const struct probe_setting *setting)
{
	const char *port = probe_bait(setting, WIRE_BAIT_TCP);

	if (has_host_network(setting))
		return PROBE_SKIP(EXEC_TRY_NETWORK);
	return port ? connect_to(AF_INET, loopback_4, port) : PROBE_SKIP(EXEC_TRY_NOTHING);
}

long probe_network_tcp6(const struct probe_setting *setting)
{
	const char *port = probe_bait(setting, WIRE_BAIT_TCP6);

	if (has_host_network(setting))
		return PROBE_SKIP(EXEC_TRY_NETWORK);
	return port ? connect_to(AF_INET6, loopback_6, port) : PROBE_SKIP(EXEC_TRY_NO_IPV6);
}

/* Sends @batch to the kernel, and reads the head of its answer, with what follows. */
static long ask(const struct netlink_batch *batch, void *answer, size_t size)
{
	long fd = sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return fd;
	long r = sys(sendto, fd, batch->bytes, batch->len, 0, NULL, 0);

	if (r >= 0)
		r = sys(recvfrom, fd, answer, size, 0, NULL, NULL); /* the kernel has answered */
	(void)sys(close, fd);
	return r;
}

union answer {
	struct nlmsghdr head;
	struct {
		struct nlmsghdr head;
		union {
			struct nlmsgerr error;
			struct rtmsg route;
		};
	} body;
	char bytes[2048];
};

/* Where do packets to @address go? Closed: to the sandbox itself, or nowhere. */
static long look_up_route(int family, const uint8_t *address, size_t size)
{
	const struct rtmsg route = { .rtm_family = (uint8_t)family,
				     .rtm_dst_len = (uint8_t)(size * 8) };
	struct netlink_batch batch = { .len = 0 };
	union answer answer;

	memset(&answer, 0, sizeof(answer));
	netlink_add(&batch, RTM_GETROUTE, 0, &route, sizeof(route));
	netlink_put(&batch, RTA_DST, address, size);
	long r = ask(&batch, &answer, sizeof(answer));

	if (r < 0)
		return r;
	if (answer.head.nlmsg_type == NLMSG_ERROR)
		return answer.body.error.error;
	return answer.head.nlmsg_type == RTM_NEWROUTE && answer.body.route.rtm_type != RTN_UNICAST
		       ? -EHOSTUNREACH
		       : PROBE_OPEN;
}

long probe_network_route(const struct probe_setting *setting)
{
	return has_host_network(setting) ? PROBE_SKIP(EXEC_TRY_NETWORK)
					 : look_up_route(AF_INET, outside_4, sizeof(outside_4));
}

long probe_network_route6(const struct probe_setting *setting)
{
	return has_host_network(setting) ? PROBE_SKIP(EXEC_TRY_NETWORK)
					 : look_up_route(AF_INET6, outside_6, sizeof(outside_6));
}

long probe_network_metadata(const struct probe_setting *setting)
{
	return has_host_network(setting) ? PROBE_SKIP(EXEC_TRY_NETWORK)
					 : look_up_route(AF_INET, metadata_4, sizeof(metadata_4));
}

/* -EHOSTUNREACH: the packet that @from sends to @address has reached @to. */
static long come_back(long to, long from, int family, const uint8_t *address)
{
	union name name;
	uint32_t len = fill(&name, family, any, PORT_ANY);
	char byte;
	long r = sys(bind, to, &name, len);

	if (r == 0)
		r = sys(getsockname, to, &name, &len);
	if (r < 0)
		return r;
	uint16_t port = ntohs(family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);

	len = fill(&name, family, address, port);
	r = sys(connect, from, &name, len);
	if (r == 0)
		r = sys(sendto, from, "", 1, 0, NULL, 0);
	if (r < 0)
		return r;
	return wait_until(to, POLLIN) == 1 && sys(recvfrom, to, &byte, 1, 0, NULL, NULL) == 1
		       ? -EHOSTUNREACH
		       : PROBE_OPEN;
}

static long send_datagram(int family, const uint8_t *address)
{
	long to = sys(socket, family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long from = sys(socket, family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long r = to < 0 ? to : from < 0 ? from : come_back(to, from, family, address);

	(void)probe_close(to);
	(void)probe_close(from);
	return r;
}

long probe_network_udp(const struct probe_setting *setting)
{
	return has_host_network(setting) ? PROBE_SKIP(EXEC_TRY_NETWORK)
					 : send_datagram(AF_INET, outside_4);
}

long probe_network_udp6(const struct probe_setting *setting)
{
	return has_host_network(setting) ? PROBE_SKIP(EXEC_TRY_NETWORK)
					 : send_datagram(AF_INET6, outside_6);
}

long probe_network_icmp(const struct probe_setting *setting)
{
	if (has_host_network(setting))
		return PROBE_SKIP(EXEC_TRY_NETWORK);
	return probe_close(sys(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP));
}

long probe_network_raw(const struct probe_setting *setting)
{
	return probe_close(sys(socket, AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
}

long probe_network_raw6(const struct probe_setting *setting)
{
	return probe_close(sys(socket, AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
}

long probe_network_packet(const struct probe_setting *setting)
{
	return probe_close(sys(socket, AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

long probe_network_vsock(const struct probe_setting *setting)
{
	return probe_close(sys(socket, AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

long probe_network_netlink(const struct probe_setting *setting)
{
	return probe_close(sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
}

/* Removes an address that lo does not have: the kernel checks the right to do so first. */
long probe_network_interfaces(const struct probe_setting *setting)
{
	const struct ifaddrmsg address = { .ifa_family = AF_INET,
					   .ifa_prefixlen = 32,
					   .ifa_index = 1 };
	struct netlink_batch batch = { .len = 0 };

	netlink_add(&batch, RTM_DELADDR, NLM_F_ACK, &address, sizeof(address));
	netlink_put(&batch, IFA_LOCAL, outside_4, sizeof(outside_4));
	long r = netlink_send(&batch, NETLINK_ROUTE);

	return r == -EADDRNOTAVAIL ? PROBE_OPEN : r;
}
