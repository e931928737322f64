#include "proxy/upstream/upstream_proxy.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/limits.h"
#include "proxy/upstream/happy_eyeballs.h"
#include "proxy/upstream/own_ports.h"
#include "proxy/upstream/resolve.h"
#include "proxy/tls/tls_bridge.h"
#include "proxy/upstream/upstream_talk.h"

#define READ_BYTES 2048

/* Waits for exactly one of @query, @race, @bridge or @event, and for the deadline. */
struct upstream_proxy {
	struct upstream_proxy_ways ways;
	bool is_tunnel;
	upstream_proxy_fn done;
	void *arg;
	struct resolve_query *query;
	struct happy_eyeballs *race;
	struct tls_bridge *bridge;
	struct loop_timer deadline;
	struct event event;
	bool has_event;
	int fd;
	size_t sent; /* of the message */
	struct upstream_talk talk;
};

static void upstream_proxy_free(struct upstream_proxy *proxy)
{
	loop_timer_stop(&proxy->deadline);
	resolve_withdraw(proxy->query);
	happy_eyeballs_withdraw(proxy->race);
	tls_bridge_withdraw(proxy->bridge);
	if (proxy->has_event)
		event_del(&proxy->event);
	fd_close(proxy->fd);
	explicit_bzero(proxy->talk.out, sizeof(proxy->talk.out)); /* the login */
	free(proxy);
}

void upstream_proxy_withdraw(struct upstream_proxy *proxy)
{
	if (proxy)
		upstream_proxy_free(proxy);
}

/* Calls @done and frees the proxy. */
static void deliver(void *arg)
{
	struct upstream_proxy *proxy = arg;
	struct upstream_proxy_result result = { .reason = proxy->talk.reason };
	upstream_proxy_fn done = proxy->done;

	memcpy(result.cause, proxy->talk.cause, sizeof(result.cause));
	result.fd = result.reason == POLICY_NONE ? fd_take(&proxy->fd) : -1;
	arg = proxy->arg;
	upstream_proxy_free(proxy);
	done(&result, arg);
}

static void fail(struct upstream_proxy *proxy, enum policy_reason reason, const char *cause)
{
	(void)upstream_talk_fail(&proxy->talk, reason, cause);
	deliver(proxy);
}

static void on_deadline(void *arg)
{
	fail(arg, POLICY_PROXY_TIMEOUT, "did not answer in time");
}

/* 0: all is sent; -EAGAIN: the rest waits; or another -errno. */
static int send_message(struct upstream_proxy *proxy)
{
	const struct upstream_talk *talk = &proxy->talk;

	while (proxy->sent < talk->out_len) {
		ssize_t n = send(proxy->fd, talk->out + proxy->sent, talk->out_len - proxy->sent,
				 MSG_NOSIGNAL);

		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		proxy->sent += (size_t)n;
	}
	return 0;
}

/* The bytes are looked at first: what follows the answer belongs to the tunnel and stays in the
 * socket. As upstream_talk_read(), or another -errno. */
static int read_answer(struct upstream_proxy *proxy)
{
	char bytes[READ_BYTES];
	size_t used = 0;
	ssize_t n = recv(proxy->fd, bytes, sizeof(bytes), MSG_PEEK);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		return -ECONNRESET;
	int r = upstream_talk_read(&proxy->talk, bytes, (size_t)n, &used);

	if (used > 0 && recv(proxy->fd, bytes, used, 0) != (ssize_t)used)
		return -EIO; /* the bytes were there */
	return r;
}

static void on_event(evutil_socket_t fd, short what, void *arg);

static void wait_for(struct upstream_proxy *proxy, short what)
{
	event_assign(&proxy->event, loop_base(proxy->ways.loop), proxy->fd, what, on_event, proxy);
	event_add(&proxy->event, NULL);
	proxy->has_event = true;
}

static void go_on(struct upstream_proxy *proxy)
{
	int r = send_message(proxy);

	if (r == -EAGAIN) {
		wait_for(proxy, EV_WRITE);
		return;
	}
	r = r == 0 ? read_answer(proxy) : r;
	if (r == 1) {
		proxy->sent = 0;
		wait_for(proxy, EV_WRITE);
	} else if (r == -EAGAIN) {
		wait_for(proxy, EV_READ);
	} else if (r == 0 || r == -EBADMSG) {
		deliver(proxy);
	} else {
		fail(proxy, POLICY_PROXY_FAILED, "closed the connection without an answer");
	}
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_proxy *proxy = arg;

	(void)fd, (void)what; /* both are known */
	proxy->has_event = false;
	go_on(proxy);
}

static void on_connected(struct upstream_proxy *proxy, int fd)
{
	proxy->fd = fd;
	if (proxy->is_tunnel)
		go_on(proxy);
	else
		deliver(proxy);
}

static void on_bridge(int fd, const char *cause, void *arg)
{
	struct upstream_proxy *proxy = arg;

	proxy->bridge = NULL;
	if (fd < 0)
		fail(proxy, POLICY_PROXY_FAILED, cause);
	else
		on_connected(proxy, fd);
}

static void on_race(int fd, const struct addr *addr, void *arg)
{
	struct upstream_proxy *proxy = arg;
	auto_free char *cause = NULL;

	(void)addr;
	proxy->race = NULL;
	if (fd < 0) {
		if (proxy->talk.upstream->proxy.addr.family == 0)
			resolve_forget(proxy->ways.resolver, proxy->talk.upstream->proxy.host);
		cause = mem_printf("cannot be reached: %s", strerror(-fd));
		fail(proxy, fd == -ETIMEDOUT ? POLICY_PROXY_TIMEOUT : POLICY_PROXY_FAILED, cause);
		return;
	}
	if (proxy->talk.upstream->is_tls)
		proxy->bridge = tls_bridge_start(proxy->ways.bridges, fd,
						 &proxy->talk.upstream->proxy, on_bridge, proxy);
	else
		on_connected(proxy, fd);
}

/* The operator named this proxy, so its address may be private, and is not checked. */
static void connect_to(struct upstream_proxy *proxy, const struct addr *addrs, size_t count)
{
	uint16_t port = proxy->talk.upstream->proxy.port;

	for (size_t i = 0; i < count; i++) {
		if (!own_ports_has(proxy->ways.own, &addrs[i], port))
			continue;
		(void)upstream_talk_fail(&proxy->talk, POLICY_PROXY_FAILED, "is this proxy itself");
		loop_defer(proxy->ways.loop, &proxy->deadline, deliver, proxy);
		return;
	}
	proxy->race = happy_eyeballs_start(proxy->ways.loop, addrs, count, port, on_race, proxy);
}

static void on_resolved(const struct resolve_answer *answer, void *arg)
{
	struct upstream_proxy *proxy = arg;
	auto_free char *cause = NULL;

	proxy->query = NULL;
	if (answer->reason == POLICY_DONE && answer->count > 0) {
		connect_to(proxy, answer->addrs, answer->count);
		return;
	}
	cause = mem_printf("cannot be found: %s", answer->cause);
	fail(proxy, POLICY_PROXY_FAILED, cause);
}

struct upstream_proxy *upstream_proxy_start(const struct upstream_proxy_ways *ways,
					    const struct policy_upstream *upstream,
					    const struct policy_destination *dst, bool is_tunnel,
					    upstream_proxy_fn done, void *arg)
{
	struct upstream_proxy *proxy = mem_new(sizeof(*proxy));

	proxy->ways = *ways;
	proxy->is_tunnel = is_tunnel;
	proxy->done = done;
	proxy->arg = arg;
	proxy->fd = -1;
	upstream_talk_begin(&proxy->talk, upstream, dst);
	loop_timer_start(ways->loop, &proxy->deadline, LIMITS_PROXY_MS, on_deadline, proxy);
	if (upstream->proxy.addr.family != 0)
		connect_to(proxy, &upstream->proxy.addr, 1);
	else
		proxy->query =
			resolve_start(ways->resolver, upstream->proxy.host, on_resolved, proxy);
	return proxy;
}
