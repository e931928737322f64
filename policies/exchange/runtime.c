#include <string.h>

#include "base/mem.h"
#include "policies/exchange/exchange_impl.h"

/* Settings of sandbox runtimes: {"network": {"allowedDomains": [...], "deniedDomains": [...]}},
 * alone or below "sandbox". A host stands for all its ports and any bytes, unless ":port" is
 * written behind it. */
static int runtime_host(struct exchange *exchange, const struct exchange_item *item,
			enum policy_action action)
{
	const char *colon = strrchr(item->value, ':');
	bool has_port = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
			(item->value[0] == '[' || strchr(item->value, ':') == colon);
	auto_free char *destination = mem_printf("tcp://%s%s", item->value, has_port ? "" : ":*");

	return exchange_rule(exchange, item->line, action, destination, "");
}

static int runtime_item(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	struct exchange_item inner = *item;

	(void)arg;
	if (strncmp(inner.path, "sandbox/", 8) == 0)
		inner.path += 8;
	if (item->is_text && exchange_is_at(&inner, "network/allowedDomains/#"))
		return runtime_host(exchange, item, POLICY_ALLOW);
	if (exchange_is_at(&inner, "network/deniedDomains/#"))
		return item->is_text ? runtime_host(exchange, item, POLICY_DENY)
				     : exchange_refuse(exchange, item->line, "not a host");
	exchange_lose(exchange, item->line, "%s %s", item->path, item->value);
	return 0;
}

int runtime_import(struct exchange *exchange, const char *text, size_t len)
{
	exchange_line(exchange, "# a host without a port stood for all ports, and for any bytes");
	exchange_line(exchange, "default ask");
	return flow_json(exchange, text, len, runtime_item, NULL);
}
