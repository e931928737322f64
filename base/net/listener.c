#include "base/net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/fd.h"
#include "base/log.h"

#define ACCEPT_BATCH 64 /* connections accepted before the others get their turn */

static void on_pause_over(void *arg)
{
	struct listener *listener = arg;

	event_add(&listener->event, NULL);
}

/* There is no descriptor left: clients in the backlog wait until some connections have closed. A
 * retry at once would spin, because the listener stays readable. */
static void listener_pause(struct listener *listener, int errnum)
{
	log_warn("cannot accept a connection: %s; trying again in a second", strerror(errnum));
	event_del(&listener->event);
	loop_timer_start(listener->loop, &listener->pause, LISTENER_PAUSE_MS, on_pause_over,
			 listener);
}

static uint16_t port_of(const struct sockaddr_storage *peer)
{
	struct addr addr;
	uint16_t port;

	return addr_from_sockaddr((const struct sockaddr *)peer, &addr, &port) == 0 ? port : 0;
}

static void listener_accept(struct listener *listener)
{
	struct sockaddr_storage peer = { 0 };

	for (int i = 0; i < ACCEPT_BATCH && listener->is_open; i++) {
		socklen_t len = sizeof(peer);
		int fd = accept4(listener->fd, (struct sockaddr *)&peer, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			listener->fn(fd, port_of(&peer), listener->arg);
			continue;
		}
		if (errno == EAGAIN)
			return; /* all are in */
		if (errno != EINTR && errno != ECONNABORTED && errno != EPROTO)
			return listener_pause(listener, errno);
	}
}

static void on_connections(evutil_socket_t fd, short what, void *arg)
{
	listener_accept(arg);
}

int listener_open(struct listener *listener, struct loop *loop, int fd, listener_fn fn, void *arg)
{
	int on = 1;
	int r = fd_set_nonblocking(fd, true);

	/* On Linux an accepted socket inherits it, which saves a call per connection. Unix sockets
	 * do not have it. */
	if (r == 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 &&
	    errno != EOPNOTSUPP)
		r = -errno;
	if (r < 0) {
		fd_close(fd);
		return r;
	}
	listener->loop = loop;
	listener->fd = fd;
	listener->is_open = true;
	listener->fn = fn;
	listener->arg = arg;
	event_assign(&listener->event, loop_base(loop), fd, EV_READ | EV_PERSIST, on_connections,
		     listener);
	event_add(&listener->event, NULL);
	return 0;
}

void listener_close(struct listener *listener)
{
	if (!listener->is_open)
		return;
	listener->is_open = false;
	event_del(&listener->event);
	loop_timer_stop(&listener->pause);
	fd_close(listener->fd);
}
