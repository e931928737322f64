#include <string.h>

#include "base/mem.h"
#include "policies/exchange/export_impl.h"

/* Settings of sandbox runtimes: {"network": {"allowedDomains": [...], "deniedDomains": [...]}}, at
 * the top or below "sandbox". A host stands for all its ports and any protocol, unless ":port"
 * follows it. */
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
				     : exchange_refuse(exchange, item->line, "this is not a host");
	exchange_lose(exchange, item->line, "%s %s", item->path, item->value);
	return 0;
}

int runtime_import(struct exchange *exchange, const char *text, size_t len)
{
	exchange_line(exchange, "# a host without a port matched all ports and any bytes");
	exchange_line(exchange, "default ask");
	return json_read(exchange, text, len, runtime_item, NULL);
}

/* Writes each line when the next one is known: the last one has no comma. */
static void runtime_write_held(const struct export *export, char **held, char *line)
{
	if (*held)
		exchange_line(export->exchange, "%s%s", *held, line ? "," : "");
	free(*held);
	*held = line;
}

static void runtime_write_list(const struct export *export, const char *key, bool is_deny,
			       const char *indent, const char *comma)
{
	const struct export_entry *entry;
	char *held = NULL;

	exchange_line(export->exchange, "%s\"%s\": [", indent, key);
	for (size_t at = 0; (entry = export_next(export, is_deny, &at)) != NULL;) {
		unsigned int port;

		if (entry->has_all_ports)
			runtime_write_held(export, &held,
					   mem_printf("%s  \"%s\"", indent, entry->host));
		for (size_t i = 0; (port = export_port(export, entry, i)) != 0; i++)
			runtime_write_held(export, &held,
					   mem_printf("%s  \"%s:%u\"", indent, entry->host, port));
	}
	runtime_write_held(export, &held, NULL);
	exchange_line(export->exchange, "%s]%s", indent, comma);
}

static void runtime_write_in(const struct export *export, const char *indent)
{
	exchange_line(export->exchange, "%s\"network\": {", indent);
	auto_free char *further = mem_printf("%s  ", indent);

	runtime_write_list(export, "allowedDomains", false, further, ",");
	runtime_write_list(export, "deniedDomains", true, further, "");
	exchange_line(export->exchange, "%s}", indent);
}

static void runtime_write(const struct export *export)
{
	exchange_line(export->exchange, "{");
	runtime_write_in(export, "  ");
	exchange_line(export->exchange, "}");
}

static void runtime_write_nested(const struct export *export)
{
	exchange_line(export->exchange, "{");
	exchange_line(export->exchange, "  \"sandbox\": {");
	runtime_write_in(export, "    ");
	exchange_line(export->exchange, "  }");
	exchange_line(export->exchange, "}");
}

/* The reader compares an address as text, so another spelling of a denied address would pass. */
const struct export_format runtime_export = {
	.hosts = BIT(PATTERN_EXACT) | BIT(PATTERN_BELOW),
	.has_ports = true,
	.needs_dot = true,
	.asks = true,
	.carves = true,
	.write = runtime_write,
};

const struct export_format runtime_export_nested = {
	.hosts = BIT(PATTERN_EXACT) | BIT(PATTERN_BELOW),
	.has_ports = true,
	.needs_dot = true,
	.asks = true,
	.carves = true,
	.write = runtime_write_nested,
};
