#include "tests/hostile/hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif
#define PROTOCOL_MPTCP   262
#define PROTOCOL_UDPLITE 136
#define PROTOCOL_DCCP    33
#define WAIT_MS          700

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Addresses outside; the test runner adds addresses that do answer. */
static const char *const everywhere[] = {
	"192.0.2.1",       "8.8.8.8",     "169.254.169.254",
	"10.0.0.1",        "224.0.0.251", "127.0.0.53",
	"255.255.255.255", "2001:db8::1", "2606:4700:4700::1111",
	"ff02::fb",        "fe80::1",
};

union address {
	struct sockaddr head;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

static socklen_t make_address(const char *host, const char *port, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
		return sizeof(ret->v4);
	}
	if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) != 1)
		hostile_escaped("%s is no address to try", host);
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_scope_id = 1;
	ret->v6.sin6_port = htons((uint16_t)strtoul(port, NULL, 10));
	return sizeof(ret->v6);
}

/* 0 when a connection was made; an address that neither answers nor refuses was not reached. */
static int finish_connect(int fd, int r)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	if (r < 0 && errno == EINPROGRESS) {
		if (poll(&wait, 1, WAIT_MS) != 1)
			return -1;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error != 0)
			return -1;
		return 0;
	}
	return r;
}

/* The gate accepts every connection, and resets what it denies: only bytes, or a connection that
 * stays open, come from elsewhere. */
static int hear(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char byte;

	if (poll(&wait, 1, WAIT_MS) != 1)
		return 0;
	return recv(fd, &byte, 1, 0) > 0 ? 0 : -1;
}

static void try_stream(const char *how, int protocol, bool is_fast, const char *host,
		       const char *port)
{
	union address to;
	socklen_t len = make_address(host, port, &to);
	int fd = socket(to.head.sa_family, SOCK_STREAM | SOCK_NONBLOCK, protocol);
	char what[128];
	int r;

	if (fd < 0) {
		hostile_held();
		return;
	}
	if (is_fast)
		r = (int)sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &to.head, len);
	else
		r = connect(fd, &to.head, len);
	snprintf(what, sizeof(what), "a %s connection to %s port %s", how, host, port);
	hostile_try(what, finish_connect(fd, r) == 0 ? hear(fd) : -1);
	close(fd);
}

/* Asks and waits for an answer: that a datagram could be sent says nothing, on our own loopback. */
static void try_datagram(const char *how, int protocol, const char *host, const char *port)
{
	union address to;
	socklen_t len = make_address(host, port, &to);
	int fd = socket(to.head.sa_family, SOCK_DGRAM, protocol), on = 1;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char what[128], answer[64];

	if (fd < 0) {
		hostile_held();
		return;
	}
	snprintf(what, sizeof(what), "a %s datagram to %s port %s", how, host, port);
	(void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	if (connect(fd, &to.head, len) == 0 && send(fd, "ping", 4, 0) == 4 &&
	    poll(&wait, 1, WAIT_MS) == 1)
		hostile_try(what, recv(fd, answer, sizeof(answer), 0));
	else
		hostile_held();
	close(fd);
}

static void try_all(const char *host, const char *port)
{
	static const struct {
		const char *how;
		int protocol;
		bool is_fast;
	} streams[] = {
		{ "TCP", IPPROTO_TCP, false },
		{ "TCP Fast Open", IPPROTO_TCP, true },
		{ "MPTCP", PROTOCOL_MPTCP, false },
		{ "SCTP", IPPROTO_SCTP, false },
	};

	for (size_t i = 0; i < LENGTH(streams); i++)
		try_stream(streams[i].how, streams[i].protocol, streams[i].is_fast, host, port);
	try_datagram("UDP", IPPROTO_UDP, host, port);
	try_datagram("UDP-Lite", PROTOCOL_UDPLITE, host, port);
	/* DCCP has a socket type of its own. */
	int fd = socket(AF_INET, SOCK_DCCP, PROTOCOL_DCCP);

	if (fd >= 0) {
		union address to;
		socklen_t len = make_address("192.0.2.1", port, &to);

		hostile_try("a DCCP connection", connect(fd, &to.head, len));
		close(fd);
	}
}

/* K01, K02, K03, K17. @args: ADDRESS PORT, any number of them; the addresses of listeners outside.
 */
static void direct(char **args)
{
	for (; args[0] != NULL && args[1] != NULL; args += 2)
		try_all(args[0], args[1]);
	/* On port 53 the gate's own resolver answers. */
	for (size_t i = 0; i < LENGTH(everywhere); i++)
		try_all(everywhere[i], "853");
}

/* K03: everything that needs no connection. */
static void raw(char **args)
{
	static const struct {
		const char *what;
		int family, type, protocol;
	} sockets[] = {
		{ "an ICMP socket", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "an ICMPv6 socket", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 },
		{ "a raw ICMP socket", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "a raw TCP socket", AF_INET, SOCK_RAW, IPPROTO_TCP },
		{ "a raw IP socket", AF_INET, SOCK_RAW, IPPROTO_RAW },
		{ "a raw IPv6 socket", AF_INET6, SOCK_RAW, IPPROTO_RAW },
		{ "a packet socket", AF_PACKET, SOCK_RAW, 0x0300 },
		{ "a cooked packet socket", AF_PACKET, SOCK_DGRAM, 0x0300 },
		{ "an old packet socket", AF_INET, 10 /* SOCK_PACKET */, 0x0300 },
	};

	for (size_t i = 0; i < LENGTH(sockets); i++)
		hostile_try(sockets[i].what,
			    socket(sockets[i].family, sockets[i].type, sockets[i].protocol));
}

/* K04: a filter that compares 64 bits misses what the kernel, reading 32, takes. */
static void families(char **args)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
	int pair[2];
	char what[64];

	for (long family = 0; family < 64; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		    family == AF_NETLINK)
			continue;
		snprintf(what, sizeof(what), "a socket of family %ld", family);
		for (size_t i = 0; i < LENGTH(types); i++) {
			hostile_try_error(what, syscall(SYS_socket, family, types[i], 0),
					  EAFNOSUPPORT);
			hostile_try_error(what, syscall(SYS_socket, family | 1L << 32, types[i], 0),
					  EAFNOSUPPORT);
		}
		hostile_try(what, socketpair((int)family, SOCK_STREAM, 0, pair));
	}
	/* The same behind the types' flags. */
	hostile_try_error("a vsock socket with flags",
			  syscall(SYS_socket, AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0),
			  EAFNOSUPPORT);
}

/* With an address init sends it, which has a capability for the network. */
static long route_request(uint16_t type, const void *body, size_t len, bool is_named)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct {
		struct nlmsghdr head;
		char body[64];
	} request = { .head = { .nlmsg_type = type,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE } };
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[4096];
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0)
		return -1;
	request.head.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
	memcpy(request.body, body, len);
	if (sendto(fd, &request, request.head.nlmsg_len, 0,
		   is_named ? (const struct sockaddr *)&kernel : NULL,
		   is_named ? sizeof(kernel) : 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0) {
		close(fd);
		return -1;
	}
	close(fd);
	errno = -answer.error.error;
	return answer.head.nlmsg_type == NLMSG_ERROR && answer.error.error == 0 ? 0 : -1;
}

/* K14: the network namespace is its own, and still not its to change. */
static void netlink(char **args)
{
	const struct ifinfomsg link = { .ifi_index = 1, .ifi_change = IFF_UP };
	const struct ifaddrmsg addr = { .ifa_family = AF_INET,
					.ifa_prefixlen = 24,
					.ifa_index = 1 };
	const struct rtmsg route = { .rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN };
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char what[64];

	for (long protocol = 1; protocol < 32; protocol++) {
		snprintf(what, sizeof(what), "a netlink socket of protocol %ld", protocol);
		hostile_try_error(what, syscall(SYS_socket, AF_NETLINK, SOCK_RAW, protocol),
				  EPROTONOSUPPORT);
		hostile_try_error(what,
				  syscall(SYS_socket, AF_NETLINK, SOCK_RAW, protocol | 1L << 32),
				  EPROTONOSUPPORT);
	}
	for (int named = 0; named < 2; named++) {
		hostile_try_error("changing the link",
				  route_request(RTM_NEWLINK, &link, sizeof(link), named), EPERM);
		hostile_try_error("adding an address",
				  route_request(RTM_NEWADDR, &addr, sizeof(addr), named), EPERM);
		hostile_try_error("adding a route",
				  route_request(RTM_NEWROUTE, &route, sizeof(route), named), EPERM);
	}
	hostile_try_error("taking lo down", ioctl(fd, SIOCSIFFLAGS, &request), EPERM);
	close(fd);
}

static size_t count_lines(const char *path, const char *allowed)
{
	FILE *file = fopen(path, "re");
	char line[512];
	size_t count = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strstr(line, allowed) == NULL)
			count++;
	}
	if (file != NULL)
		fclose(file);
	return count;
}

/* No interface but loopback, no route at all; the heads of the tables are one or two lines. */
static void interfaces(char **args)
{
	if (count_lines("/proc/net/dev", " lo:") > 2)
		hostile_escaped("there is an interface besides lo");
	if (count_lines("/proc/net/route", "Iface") > 0)
		hostile_escaped("there is a route");
	if (count_lines("/proc/net/ipv6_route", " lo") > 0)
		hostile_escaped("there is an IPv6 route");
	if (access("/proc/net/dev", R_OK) < 0)
		hostile_skip("/proc/net cannot be read");
	hostile_held();
}

/* K16, A01: a program with the gate's port would get the connections to the gate. @args: PORT… */
static void gate_ports(char **args)
{
	static const char *const hosts[] = { "127.0.0.1", "0.0.0.0" };

	for (; args[0] != NULL; args++) {
		for (size_t i = 0; i < LENGTH(hosts); i++) {
			union address name;
			socklen_t len = make_address(hosts[i], args[0], &name);
			int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

			(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
			(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
			if (bind(fd, &name.head, len) == 0)
				hostile_try(args[0], listen(fd, 1));
			else
				hostile_try_error(args[0], -1, EADDRINUSE);
			close(fd);
		}
	}
}

/* The length counts the NUL behind a path, or the one in front of an abstract name. */
static socklen_t make_path(const char *path, bool is_abstract, union address *ret)
{
	size_t len = strlen(path);

	memset(ret, 0, sizeof(*ret));
	ret->path.sun_family = AF_UNIX;
	if (len > sizeof(ret->path.sun_path) - 2)
		hostile_escaped("%s is too long to try", path);
	memcpy(ret->path.sun_path + (is_abstract ? 1 : 0), path, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

static void try_unix(const char *path, bool is_abstract)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	union address to;
	socklen_t len = make_path(path, is_abstract, &to);

	/* The NUL behind a path belongs to it, behind an abstract name it would be part of the
	 * name. */
	for (size_t i = 0; i < LENGTH(types); i++) {
		int fd = socket(AF_UNIX, types[i] | SOCK_NONBLOCK, 0);

		hostile_try(path, connect(fd, &to.head, len));
		if (types[i] == SOCK_DGRAM)
			hostile_try(path, sendto(fd, "x", 1, MSG_NOSIGNAL, &to.head, len));
		close(fd);
	}
}

/* K05, D05, A01. @args: paths of the host's sockets. */
static void unix_paths(char **args)
{
	for (; args[0] != NULL; args++)
		try_unix(args[0], false);
}

/* K06. @args: abstract names outside. */
static void unix_abstract(char **args)
{
	for (; args[0] != NULL; args++)
		try_unix(args[0], true);
}

/* K08: rings connect without a system call that a filter sees. */
static void io_uring(char **args)
{
	char params[256] = { 0 };

	hostile_try_error("io_uring_setup", syscall(SYS_io_uring_setup, 4, params), ENOSYS);
	hostile_try_error("io_uring_setup with high bits",
			  syscall(SYS_io_uring_setup, 4L | 1L << 32, params), ENOSYS);
	hostile_try_error("io_uring_enter", syscall(SYS_io_uring_enter, 0, 1, 1, 1, NULL, 0),
			  ENOSYS);
	hostile_try_error("io_uring_register", syscall(SYS_io_uring_register, 0, 0, NULL, 0),
			  ENOSYS);
}

#define SHRINKS 3000

/* What a message is made of, seen by the processes that change it meanwhile. */
struct shrinking {
	struct iovec part;
	char bytes[8 << 20];
};

static void connect_pair(int pair[2])
{
	union address name;
	socklen_t len = make_address("127.0.0.1", "0", &name);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, &name.head, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, &name.head, &len) < 0)
		hostile_skip("no listener of our own");
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(pair[0], &name.head, len) < 0)
		hostile_skip("no connection to ourselves");
	pair[1] = accept(listener, NULL, NULL);
	close(listener);
}

static void flip_on(struct shrinking *it, int fd)
{
	volatile size_t *len = &it->part.iov_len;

	for (;;) {
		*len = sizeof(it->bytes);
		usleep(30);
		*len = 1;
		usleep(30);
	}
}

static void drain_on(struct shrinking *it, int fd)
{
	static char sink[1 << 18];

	while (recv(fd, sink, sizeof(sink), 0) > 0)
		;
}

/* Fills the buffer of init with zeros. */
static void send_zeros(struct shrinking *it, int fd)
{
	struct iovec part = { .iov_base = it->bytes, .iov_len = 256 << 10 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	for (;;)
		(void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static pid_t beside(void (*fn)(struct shrinking *it, int fd), struct shrinking *it, int fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(it, fd);
		_exit(0);
	}
	return pid;
}

/* K10. A message of many parts becomes shorter than what was sent of it: init, which reads it again
 * for each part, would look for its rest in other memory. In the end it must be there. */
static void shrinking(char **args)
{
	struct shrinking *it =
		mmap(NULL, sizeof(*it), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pair[2], other[2];

	connect_pair(pair);
	connect_pair(other);
	it->part.iov_base = it->bytes;
	const pid_t children[] = { beside(flip_on, it, -1), beside(drain_on, it, pair[1]),
				   beside(drain_on, it, other[1]),
				   beside(send_zeros, it, other[0]) };

	for (int i = 0; i < SHRINKS; i++) {
		const struct msghdr message = { .msg_iov = &it->part, .msg_iovlen = 1 };

		if (sendmsg(pair[0], &message, MSG_NOSIGNAL) > (ssize_t)sizeof(it->bytes))
			hostile_escaped("more was sent than there is");
	}
	for (size_t i = 0; i < LENGTH(children); i++) {
		(void)kill(children[i], SIGKILL);
		(void)waitpid(children[i], NULL, 0);
	}
	hostile_held();
}

const struct hostile_case hostile_network[] = {
	{ "direct", direct },
	{ "raw", raw },
	{ "families", families },
	{ "netlink", netlink },
	{ "interfaces", interfaces },
	{ "gate-ports", gate_ports },
	{ "unix-paths", unix_paths },
	{ "unix-abstract", unix_abstract },
	{ "io-uring", io_uring },
	{ "shrinking", shrinking },
	{ 0 },
};
