#include <string.h>

#include "base/mem.h"
#include "policies/exchange/export_impl.h"

/* An egress ACL in YAML: services with allowed_domains, a default, and global lists. A policy of
 * ours is for one run, not for many services: the default is taken, or the only service. A host
 * stands for all its ports and any protocol. */
struct smokescreen {
	size_t services;
	bool has_default;
};

static int smokescreen_look(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	struct smokescreen *acl = arg;

	(void)exchange;
	acl->services += exchange_is_at(item, "services/#/name");
	acl->has_default |= strncmp(item->path, "default/", 8) == 0;
	return 0;
}

static int smokescreen_host(struct exchange *exchange, const struct exchange_item *item,
			    enum policy_action action)
{
	auto_free char *destination = mem_printf("tcp://%s:*", item->value);

	return exchange_rule(exchange, item->line, action, destination, "");
}

static int smokescreen_item(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	const struct smokescreen *acl = arg;
	bool is_ours = acl->has_default ? strncmp(item->path, "default/", 8) == 0
					: strncmp(item->path, "services/#/", 11) == 0;

	if (exchange_is_at(item, "global_deny_list/#"))
		return smokescreen_host(exchange, item, POLICY_DENY);
	if (exchange_is_at(item, "global_allow_list/#"))
		return smokescreen_host(exchange, item, POLICY_ALLOW);
	if (is_ours && (exchange_is_at(item, "default/allowed_domains/#") ||
			exchange_is_at(item, "services/#/allowed_domains/#")))
		return smokescreen_host(exchange, item, POLICY_ALLOW);
	if (is_ours && strcmp(item->key, "action") == 0 && strcmp(item->value, "enforce") == 0)
		return 0;
	if (exchange_is_at(item, "version"))
		return 0;
	exchange_lose(exchange, item->line, "%s %s", item->path, item->value);
	return 0;
}

int smokescreen_import(struct exchange *exchange, const char *text, size_t len)
{
	struct smokescreen acl = { 0 };
	int r = yaml_read(exchange, text, len, smokescreen_look, &acl);

	if (r == 0 && !acl.has_default && acl.services > 1)
		r = exchange_refuse(exchange, 0,
				    "there are several services and no default; keep one of them");
	if (r < 0)
		return r;
	exchange_line(exchange,
		      "# a host matched all ports and any bytes; a service's own allow overrode");
	exchange_line(exchange, "# the global denial, but here the denial has precedence");
	exchange_line(exchange, "default deny");
	return yaml_read(exchange, text, len, smokescreen_item, &acl);
}

/* Denials are not written: a service's own allow has precedence over the global list, and what is
 * not listed is denied. */
static void smokescreen_write(const struct export *export)
{
	const struct export_entry *entry;
	size_t at = 0, count = 0;

	exchange_line(export->exchange, "---");
	exchange_line(export->exchange, "version: v1");
	exchange_line(export->exchange, "services: []");
	exchange_line(export->exchange, "default:");
	exchange_line(export->exchange, "  project: sallyport");
	exchange_line(export->exchange, "  action: enforce");
	for (; (entry = export_next(export, false, &at)) != NULL; count++) {
		if (count == 0)
			exchange_line(export->exchange, "  allowed_domains:");
		exchange_line(export->exchange, "    - \"%s\"", entry->host);
	}
	if (count == 0)
		exchange_line(export->exchange, "  allowed_domains: []");
}

const struct export_format smokescreen_export = {
	.hosts = BIT(PATTERN_EXACT) | BIT(PATTERN_BELOW),
	.is_once = true,
	.write = smokescreen_write,
};
