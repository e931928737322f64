#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/capture.h"
#include "exec/stages/listening.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "exec/exec_egress.h"

#define BACKLOG 4096

static int raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	long fd = sys(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return (int)fd;
	long r = sys(ioctl, fd, SIOCSIFFLAGS, &request);

	(void)sys(close, fd);
	return (int)r;
}

/* No SO_REUSEPORT: else a program of the command could share the port, and receive connections that
 * are meant for the gate. */
static int listen_on(uint16_t port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return listening_open(&name, sizeof(name), BACKLOG);
}

int egress_open(struct init *init)
{
	int pair[2];
	int r = raise_loopback();

	if (r < 0)
		return r;
	init->step = WIRE_STEP_LISTENERS;
	init->http = listen_on(EXEC_HTTP_PORT);
	if (init->http < 0)
		return init->http;
	init->socks = listen_on(EXEC_SOCKS_PORT);
	if (init->socks < 0)
		return init->socks;
	struct capture capture;

	init->captured = capture_open(&capture, (init->plan.head->flags & WIRE_CAPTURE_UDP) != 0);
	if (capture.listener < 0 || capture.names < 0)
		return init->captured;
	init->capture = capture.listener;
	init->names = capture.names;
	init->datagrams = capture.datagrams;
	r = (int)sys(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
	if (r < 0)
		return r;
	init->inner = pair[0];
	init->inner_far = pair[1];
	/* Created here, it answers for this namespace, also to a process outside. */
	r = (int)sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		     NETLINK_SOCK_DIAG);
	if (r < 0)
		return r;
	init->sockets = r;
	return 0;
}
