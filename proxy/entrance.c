#include "proxy/entrance.h"

#include "base/addr.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/upstream/pool.h"
#include "proxy/connection.h"
#include "proxy/way.h"

#define OVERLOAD_REPORT_MS 1000

static const struct front *(*const front_of[WAY_LISTENERS])(void) = {
	[WAY_HTTP] = http1_front,
	[WAY_SOCKS] = socks5_front,
	[WAY_CAPTURE] = captured_front,
	[WAY_DOOR] = http1_front,
};

void entrance_record_overload(struct way *way, const struct front *front)
{
	struct policy_facts facts = { .exec = way->exec, .way = front->way };
	int64_t now = loop_now_ms(way->proxy->loop);

	if (way->overloaded_ms && now - way->overloaded_ms < OVERLOAD_REPORT_MS)
		return;
	way->overloaded_ms = now;

	struct request *request = request_new(&facts, now);
	struct refusal refusal = { .reason = POLICY_OVERLOADED };

	bool is_own = front != published_front();

	if (is_own)
		denials_add(&way->denials, &refusal, loop_wall_us(way->proxy->loop));
	request_report(request, way->proxy->client, POLICY_OVERLOADED, true,
		       is_own ? "the command has too many connections"
			      : "the published ports have too many connections",
		       now);
	request_free(request);
}

/* Tells each client, and the command if it is its own. */
static void refuse_overload(struct way *way, const struct front *front, int fd)
{
	if (front->on_overload)
		front->on_overload(fd);
	fd_close(fd);
	entrance_record_overload(way, front);
}

bool entrance_has_room(const struct way *way)
{
	const struct proxy *proxy = way->proxy;
	const struct way *other;
	size_t all = 0;

	LIST_FOREACH (other, &proxy->ways, link)
		all += other->connection_count;
	return all < proxy->connections_all && way_has_room(way);
}

static void entrance_accept(struct way *way, enum way_listener kind, int fd, uint16_t peer_port)
{
	const struct front *front = front_of[kind]();

	if (entrance_has_room(way))
		connection_open(way, front, fd, peer_port);
	else
		refuse_overload(way, front, fd);
}

void entrance_admit(struct way *way, int fd, uint16_t peer_port)
{
	if (entrance_has_room(way))
		(void)connection_open(way, either_front(), fd, peer_port);
	else
		refuse_overload(way, either_front(), fd);
}

static void on_http(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_HTTP, fd, peer_port);
}

static void on_socks(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_SOCKS, fd, peer_port);
}

static void on_captured(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_CAPTURE, fd, peer_port);
}

static void on_door(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_DOOR, fd, peer_port);
}

static void on_published(int fd, uint16_t peer_port, void *arg)
{
	const struct way_published *published = arg;
	struct way *way = published->way;

	/* The port is of the host's loopback, where no program of the command is looked for. */
	if (way->visitor_count >= LIMITS_PUBLISHED_MAX)
		refuse_overload(way, published_front(), fd);
	else
		published_begin(connection_open(way, published_front(), fd, 0), published->inside);
}

/* Takes the descriptors in the config, for this exec. */
static int open_published(struct way *way)
{
	struct proxy *proxy = way->proxy;
	size_t count = proxy->published_count;
	int r = 0;

	proxy->published_count = 0;
	if (count > 0)
		way->published = mem_new(count * sizeof(*way->published));
	for (size_t i = 0; i < count; i++) {
		const struct proxy_published *from = &proxy->config->published[i];
		struct way_published *published = &way->published[way->published_count];

		if (r < 0) {
			fd_close(from->fd);
			continue;
		}
		published->way = way;
		published->inside = from->inside;
		way->published_count++;
		r = listener_open(&published->listener, proxy->loop, from->fd, on_published,
				  published);
	}
	return r;
}

void entrance_open_door(int listener, void *arg)
{
	struct way *way = arg;

	/* The other listeners stay open when this fails. */
	if (listener_open(&way->listeners[WAY_DOOR], way->proxy->loop, listener, on_door, way) < 0)
		log_warn("the Unix socket of exec %llu cannot be opened",
			 (unsigned long long)way->exec);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	struct addr addr;
	uint16_t port = 0;

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0 ||
	    addr_from_sockaddr((struct sockaddr *)&name, &addr, &port) < 0)
		return 0;
	return port;
}

int entrance_open(struct proxy *proxy, uint64_t exec, const int fds[PROXY_FDS],
		  struct way **ret_way)
{
	static const struct {
		enum way_listener kind;
		enum proxy_fd fd;
		listener_fn fn;
	} listeners[] = {
		{ WAY_HTTP, PROXY_HTTP, on_http },
		{ WAY_SOCKS, PROXY_SOCKS, on_socks },
		{ WAY_CAPTURE, PROXY_CAPTURE, on_captured },
	};
	struct way *way = mem_new(sizeof(*way));
	int r = 0;

	way->proxy = proxy;
	way->exec = exec;
	nameserver_init(&way->nameserver, proxy->config, exec);
	LIST_INIT(&way->connections);
	LIST_INSERT_HEAD(&proxy->ways, way, link);
	for (size_t i = 0; i < ARRAY_SIZE(listeners); i++) {
		int fd = fds[listeners[i].fd];

		way->ports[listeners[i].kind] = port_of(fd);
		if (r < 0)
			fd_close(fd);
		else if (fd >= 0)
			r = listener_open(&way->listeners[listeners[i].kind], proxy->loop, fd,
					  listeners[i].fn, way);
	}
	if (r < 0)
		fd_close(fds[PROXY_NAMES]);
	else if (fds[PROXY_NAMES] >= 0)
		r = nameserver_open(&way->nameserver, proxy->loop, fds[PROXY_NAMES]);
	if (r == 0)
		r = open_published(way);
	if (r < 0) {
		entrance_close(way);
		return r;
	}
	*ret_way = way;
	return 0;
}

void entrance_close(struct way *way)
{
	struct connection *connection;

	if (!way)
		return;
	for (size_t i = 0; i < WAY_LISTENERS; i++)
		listener_close(&way->listeners[i]);
	for (size_t i = 0; i < way->published_count; i++)
		listener_close(&way->published[i].listener);
	nameserver_close(&way->nameserver);
	while ((connection = LIST_FIRST(&way->connections)))
		connection_close(connection, POLICY_EXEC_ENDED);
	pool_drop(way->proxy->pool, way->exec);
	denials_done(&way->denials);
	LIST_REMOVE(way, link);
	free(way->published);
	free(way);
}
