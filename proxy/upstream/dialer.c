#include "proxy/upstream/dial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/policies_upstream.h"
#include "proxy/config.h"
#include "proxy/upstream/dial_impl.h"
#include "proxy/upstream/exec_sockets.h"
#include "proxy/tls/tls_bridge.h"

struct dialer *dialer_new(struct loop *loop, struct resolver *resolver, const struct policy *policy)
{
	struct dialer *dialer = mem_new(sizeof(*dialer));

	dialer->loop = loop;
	dialer->resolver = resolver;
	dialer->policy = policy;
	LIST_INIT(&dialer->dials);
	LIST_INIT(&dialer->inners);
	return dialer;
}

void dialer_set_policy(struct dialer *dialer, const struct policy *policy)
{
	dialer->policy = policy;
}

void dialer_set_own_port(struct dialer *dialer, uint16_t port)
{
	dialer->own_port = port;
}

void dialer_set_metrics_port(struct dialer *dialer, uint16_t port)
{
	dialer->metrics_port = port;
}

void dialer_set_service(struct dialer *dialer, const struct proxy_service *service)
{
	own_ports_set(&dialer->own_ports, service);
}

int dialer_set_upstreams(struct dialer *dialer, const struct proxy_config *config, struct err *why)
{
	dialer->config = config;
	if (!config->upstreams || !config->upstreams->authorities)
		return 0;
	dialer->bridges = tls_bridge_new_all(dialer->loop, config->upstreams->authorities, why);
	return dialer->bridges ? 0 : -EBADMSG;
}

bool dialer_was_cut(const struct dialer *dialer, int fd)
{
	return dialer->bridges && tls_bridge_was_cut(dialer->bridges, fd);
}

const struct policy_upstream *dialer_upstream(const struct dialer *dialer,
					      const struct policy_destination *dst)
{
	const struct proxy_config *config = dialer->config;

	if (!config || !config->upstreams)
		return NULL;
	for (size_t i = 0; i < config->resolve_count; i++) {
		if (!strcmp(config->resolves[i].name, dst->host))
			return NULL;
	}
	return policy_upstream_for(config->upstreams, dst);
}

static struct dial_inner *find_inner(struct dialer *dialer, uint64_t exec)
{
	struct dial_inner *entry;

	LIST_FOREACH (entry, &dialer->inners, link) {
		if (entry->exec == exec)
			return entry;
	}
	return NULL;
}

struct exec_sockets *dialer_inner(struct dialer *dialer, uint64_t exec)
{
	struct dial_inner *entry = find_inner(dialer, exec);

	return entry ? entry->inner : NULL;
}

void dialer_set_inner(struct dialer *dialer, uint64_t exec, int inner)
{
	struct dial_inner *entry = mem_new(sizeof(*entry));

	dialer_clear_inner(dialer, exec);
	entry->exec = exec;
	entry->inner = exec_sockets_new(dialer->loop, inner);
	LIST_INSERT_HEAD(&dialer->inners, entry, link);
}

void dialer_clear_inner(struct dialer *dialer, uint64_t exec)
{
	struct dial_inner *entry = find_inner(dialer, exec);

	if (!entry)
		return;
	dial_end_inside(dialer, exec);
	LIST_REMOVE(entry, link);
	exec_sockets_free(entry->inner);
	free(entry);
}

void dialer_free(struct dialer *dialer)
{
	if (!dialer)
		return;
	while (!LIST_EMPTY(&dialer->dials))
		dial_withdraw(LIST_FIRST(&dialer->dials));
	while (!LIST_EMPTY(&dialer->inners))
		dialer_clear_inner(dialer, LIST_FIRST(&dialer->inners)->exec);
	tls_bridge_free_all(dialer->bridges);
	free(dialer);
}
