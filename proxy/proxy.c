#include "proxy/proxy.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "policies/policies_gate.h"
#include "policies/policies_limits.h"
#include "policies/policies_request.h"
#include "policies/policies_upstream.h"
#include "proxy/admit.h"
#include "proxy/upstream/dial.h"
#include "proxy/upstream/dial_impl.h"
#include "proxy/datagrams.h"
#include "proxy/entrance.h"
#include "proxy/upstream/exec_sockets.h"
#include "proxy/limits.h"
#include "proxy/upstream/pool.h"
#include "proxy/upstream/resolve.h"
#include "proxy/connection.h"
#include "proxy/proxy_service.h"
#include "proxy/service.h"
#include "proxy/states.h"
#include "proxy/way.h"

/* As many as there are descriptors for, once the soft limit is raised to the hard one. */
static size_t connections_by_files(const struct proxy_config *config)
{
	bool has_tls = config->upstreams && config->upstreams->authorities;
	size_t each = has_tls ? LIMITS_BRIDGED_FDS : LIMITS_CONNECTION_FDS;
	struct rlimit files = { 0 };

	(void)getrlimit(RLIMIT_NOFILE, &files); /* cannot fail */
	if (files.rlim_max <= 2 * LIMITS_OTHER_FDS)
		return LIMITS_OTHER_FDS / each;
	return (files.rlim_max - LIMITS_OTHER_FDS) / each;
}

/* Clients are spread evenly only by chance, so a worker may be full before the others. */
static size_t connections_by_policy(const struct proxy_config *config)
{
	size_t held = policy_limit_held(config->policy, POLICY_LIMIT_CONNECTIONS);

	return config->service ? (held + config->service->shares - 1) / config->service->shares
			       : held;
}

/* Returns @proxy, or frees it. */
static struct proxy *proxy_serve(struct proxy *proxy, struct err *why)
{
	const struct proxy_service *config = proxy->config->service;
	int r;

	if (!config)
		return proxy;
	dialer_set_service(proxy->dialer, config);
	r = service_open(proxy, config, &proxy->service);
	if (r == 0)
		return proxy;
	(void)err_errno(why, -r, "cannot listen");
	proxy_free(proxy);
	return NULL;
}

static bool was_cut(int fd, void *arg)
{
	return dialer_was_cut(arg, fd);
}

struct proxy *proxy_new(struct loop *loop, struct gateway_client *client,
			const struct proxy_config *config, struct err *why)
{
	struct resolver *resolver = resolver_new(loop, config, why);
	struct proxy *proxy;

	if (!resolver)
		return NULL;
	proxy = mem_new(sizeof(*proxy));
	proxy->loop = loop;
	proxy->client = client;
	gateway_client_on_cut(client, admit_on_cut);
	gateway_client_on_lease(client, states_on_lease);
	proxy->config = config;
	proxy->published_count = config->published_count;
	proxy->resolver = resolver;
	proxy->dialer = dialer_new(loop, resolver, config->policy);
	dialer_set_own_port(proxy->dialer, config->own_port);
	dialer_set_metrics_port(proxy->dialer, config->metrics_port);
	if (dialer_set_upstreams(proxy->dialer, config, why) < 0) {
		proxy_free(proxy);
		return NULL;
	}
	proxy->pool = pool_new(loop, config);
	proxy->handlers = states_handlers;
	proxy->seen_parts = policy_request_parts(config->policy);
	proxy->connections_max = connections_by_policy(config);
	proxy->connections_all = connections_by_files(config);
	proxy->shared.base = loop_base(loop);
	if (config->upstreams && config->upstreams->authorities)
		proxy->shared.was_cut = was_cut;
	proxy->shared.arg = proxy->dialer;
	LIST_INIT(&proxy->ways);
	LIST_INIT(&proxy->closed);
	return proxy_serve(proxy, why);
}

void proxy_drain(struct proxy *proxy)
{
	if (proxy->service)
		service_drain(proxy->service);
}

void proxy_names_changed(struct proxy *proxy, int resolv_conf, int hosts)
{
	struct way *way;

	resolver_take_files(proxy->resolver, resolv_conf, hosts);
	/* A pooled connection may lead to the name's previous address. */
	LIST_FOREACH (way, &proxy->ways, link) {
		struct connection *connection;

		pool_drop(proxy->pool, way->exec);
		LIST_FOREACH (connection, &way->connections, link) {
			if (connection->state == CONNECTION_HEAD && !connection->is_fixed)
				connection_drop_upstream(connection);
		}
	}
}

void proxy_note_refused(struct proxy *proxy, uint64_t exec, const char *text)
{
	const struct refusal refusal = { .reason = POLICY_SANDBOX_REFUSED, .cause = text };
	struct way *way;

	LIST_FOREACH (way, &proxy->ways, link)
		if (way->exec == exec)
			denials_add(&way->denials, &refusal, loop_wall_us(proxy->loop));
}

void proxy_policy_changed(struct proxy *proxy)
{
	const struct policy *policy = proxy->config->policy;
	struct way *way;

	dialer_set_policy(proxy->dialer, policy);
	proxy->seen_parts = policy_request_parts(policy);
	proxy->connections_max = connections_by_policy(proxy->config);
	LIST_FOREACH (way, &proxy->ways, link) {
		struct connection *connection = LIST_FIRST(&way->connections);

		while (connection) {
			struct connection *next = LIST_NEXT(connection, link);

			admit_review(connection, policy);
			connection = next;
		}
	}
}

void proxy_free(struct proxy *proxy)
{
	if (!proxy)
		return;
	while (!LIST_EMPTY(&proxy->ways))
		proxy_close(proxy, LIST_FIRST(&proxy->ways)->exec);
	while (!LIST_EMPTY(&proxy->closed))
		connection_free(LIST_FIRST(&proxy->closed));
	for (size_t i = 0; i < proxy->published_count; i++)
		fd_close(proxy->config->published[i].fd);
	service_free(proxy->service);
	loop_timer_stop(&proxy->drained);
	pool_free(proxy->pool);
	dialer_free(proxy->dialer);
	resolver_free(proxy->resolver);
	free(proxy);
}

static struct way *proxy_find(struct proxy *proxy, uint64_t exec)
{
	struct way *way;

	LIST_FOREACH (way, &proxy->ways, link) {
		if (way->exec == exec)
			return way;
	}
	return NULL;
}

int proxy_open(struct proxy *proxy, uint64_t exec, const int fds[PROXY_FDS])
{
	struct way *way;
	int r = -EEXIST;

	if (proxy_find(proxy, exec)) {
		for (int i = 0; i < PROXY_INNER; i++)
			fd_close(fds[i]);
	} else {
		r = entrance_open(proxy, exec, fds, &way);
	}
	if (r < 0) {
		fd_close(fds[PROXY_INNER]);
		return r;
	}
	dialer_set_inner(proxy->dialer, exec, fds[PROXY_INNER]);
	struct exec_sockets *inner = dialer_inner(proxy->dialer, exec);

	exec_sockets_on_door(inner, entrance_open_door, way);
	if (proxy->config->turn.before > 0)
		exec_sockets_renew(inner, proxy->config->turn.before);
	if (way && policy_wants_udp(proxy->config->policy))
		way->datagrams = datagrams_begin(way, inner);
	return 0;
}

void proxy_close(struct proxy *proxy, uint64_t exec)
{
	struct way *way = proxy_find(proxy, exec);

	if (!way)
		return;
	service_forget(proxy->service, exec);
	datagrams_end(take(way->datagrams));
	entrance_close(way);
	dialer_clear_inner(proxy->dialer, exec);
}
