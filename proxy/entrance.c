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
	[WAY_DOOR] = http1_front,
};

/* Tells each client; records it once a second only, so that a flood of connections is not a flood
 * of records. */
static void refuse_overload(struct way *way, const struct front *front, int fd)
{
	struct policy_facts facts = { .exec = way->exec, .way = front->way };
	int64_t now = loop_now_ms(way->proxy->loop);

	if (front->on_overload)
		front->on_overload(fd);
	fd_close(fd);
	if (way->overloaded_ms && now - way->overloaded_ms < OVERLOAD_REPORT_MS)
		return;
	way->overloaded_ms = now;

	struct request *request = request_new(&facts, now);
	struct refusal refusal = { .reason = POLICY_OVERLOADED };

	denials_add(&way->denials, &refusal, loop_wall_us(way->proxy->loop));
	request_report(request, way->proxy->client, POLICY_OVERLOADED, true,
		       "the command has too many connections", now);
	request_free(request);
}

static void entrance_accept(struct way *way, enum way_listener kind, int fd, uint16_t peer_port)
{
	const struct front *front = front_of[kind]();

	if (way->connection_count >= LIMITS_CONNECTIONS_MAX)
		refuse_overload(way, front, fd);
	else
		connection_open(way, front, fd, peer_port);
}

static void on_http(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_HTTP, fd, peer_port);
}

static void on_socks(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_SOCKS, fd, peer_port);
}

static void on_door(int fd, uint16_t peer_port, void *arg)
{
	entrance_accept(arg, WAY_DOOR, fd, peer_port);
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

int entrance_open(struct proxy *proxy, uint64_t exec, int http, int socks, struct way **ret_way)
{
	struct way *way = mem_new(sizeof(*way));
	int r;

	way->proxy = proxy;
	way->exec = exec;
	way->ports[WAY_HTTP] = port_of(http);
	way->ports[WAY_SOCKS] = port_of(socks);
	LIST_INIT(&way->connections);
	LIST_INSERT_HEAD(&proxy->ways, way, link);
	r = listener_open(&way->listeners[WAY_HTTP], proxy->loop, http, on_http, way);
	if (r < 0)
		fd_close(socks);
	else
		r = listener_open(&way->listeners[WAY_SOCKS], proxy->loop, socks, on_socks, way);
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
	while ((connection = LIST_FIRST(&way->connections)))
		connection_close(connection, POLICY_EXEC_ENDED);
	pool_drop(way->proxy->pool, way->exec);
	denials_done(&way->denials);
	LIST_REMOVE(way, link);
	free(way);
}
