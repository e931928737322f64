#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/exchange/export_impl.h"

/* `allowed-endpoints` of a workflow, HOST:PORT separated by blanks, or a file that contains only
 * these. Any protocol is allowed there. */
static int harden_endpoint(struct exchange *exchange, uint32_t line, const char *text, size_t len)
{
	auto_free char *host = mem_strndup(text, len);
	const char *colon = strrchr(host, ':');
	auto_free char *destination = mem_printf("tcp://%s%s", host, colon ? "" : ":443");

	if (!colon)
		exchange_lose(exchange, line, "%s: it has no port, so 443 is used", host);
	return exchange_rule(exchange, line, POLICY_ALLOW, destination, "");
}

static int harden_endpoints(struct exchange *exchange, uint32_t line, const char *text, size_t len)
{
	static const char blanks[] = { ' ', '\t', '\r', '\n', ',' };
	size_t at = 0;
	int r = 0;

	while (at < len && r == 0) {
		size_t start = at;

		while (at < len && !memchr(blanks, text[at], sizeof(blanks)))
			at++;
		if (at > start)
			r = harden_endpoint(exchange, line, text + start, at - start);
		line += at < len && text[at] == '\n';
		at++;
	}
	return r;
}

static int harden_item(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	bool *has_list = arg;

	if (strcmp(item->key, "egress-policy") == 0 && strcmp(item->value, "block") != 0)
		exchange_lose(exchange, item->line, "egress-policy %s allowed all connections",
			      item->value);
	if (strcmp(item->key, "allowed-endpoints") != 0)
		return 0; /* the rest of the workflow */
	if (*has_list)
		return exchange_refuse(
			exchange, item->line,
			"there is a second list; both together would allow more than each of them");
	*has_list = true;
	return harden_endpoints(exchange, item->line, item->value, strlen(item->value));
}

int harden_import(struct exchange *exchange, const char *text, size_t len)
{
	bool has_list = false; /* of a step */

	exchange_line(exchange, "# any bytes could go to an endpoint; https:// would be narrower");
	exchange_line(exchange, "default deny");
	if (memmem(text, len, "allowed-endpoints", 17))
		return yaml_read(exchange, text, len, harden_item, &has_list);
	return harden_endpoints(exchange, 1, text, len);
}

static void harden_write(const struct export *export)
{
	const struct export_entry *entry;

	for (size_t at = 0; (entry = export_next(export, false, &at)) != NULL;) {
		unsigned int port;

		for (size_t i = 0; (port = export_port(export, entry, i)) != 0; i++)
			exchange_line(export->exchange, "%s:%u", entry->host, port);
	}
}

const struct export_format harden_export = {
	.hosts = BIT(PATTERN_EXACT) | BIT(PATTERN_BELOW),
	.has_ports = true,
	.needs_ports = true,
	.write = harden_write,
};
