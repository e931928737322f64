#include <string.h>

#include "base/mem.h"
#include "policies/exchange/export_impl.h"

/* [permissions.PROFILE.network] of a config.toml: domains = { "host" = "allow" | "deny" }, or the
 * older lists. A host stands for all its ports and any protocol; in the mode "limited" for three
 * HTTP methods. */
struct codex {
	char profile[256]; /* default_permissions, or the only profile */
	bool has_default, has_many;
	bool is_limited;
};

static bool codex_part(const struct exchange_item *item, char out[256])
{
	const char *from = item->path + strlen("permissions/");
	size_t len = strcspn(from, "/");

	if (strncmp(item->path, "permissions/", 12) != 0 || !strstr(from, "/network/") ||
	    len >= 256)
		return false;
	memcpy(out, from, len);
	out[len] = '\0';
	return true;
}

/* The first pass: finds the profile and its mode. */
static int codex_look(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	struct codex *codex = arg;
	char part[256];

	(void)exchange;
	if (exchange_is_at(item, "default_permissions")) {
		codex->has_default = strlen(item->value) < sizeof(codex->profile);
		if (codex->has_default)
			memcpy(codex->profile, item->value, strlen(item->value) + 1);
	} else if (!codex->has_default && codex_part(item, part)) {
		codex->has_many |= codex->profile[0] && strcmp(codex->profile, part) != 0;
		memcpy(codex->profile, part, strlen(part) + 1);
	}
	if (strcmp(item->key, "mode") == 0 && strcmp(item->value, "limited") == 0)
		codex->is_limited = true; /* in any profile: narrower is always safe */
	return 0;
}

/* Denies a glob such as "region*.v2.example" by denying everything below the part after the glob.
 */
static int codex_deny_glob(struct exchange *exchange, const struct exchange_item *item,
			   const char *host)
{
	const char *last = host;

	for (const char *at = host; (at = strpbrk(at, "*?[]{}")) != NULL; at++)
		last = at;
	const char *dot = strchr(last, '.');

	if (!dot || !dot[1])
		return exchange_refuse(exchange, item->line,
				       "deny %s cannot be expressed and would be lost", host);
	auto_free char *wider = mem_printf("tcp://**.%s:*", dot + 1);

	exchange_lose(exchange, item->line, "deny %s: denied more widely, as below", host);
	return exchange_rule(exchange, item->line, POLICY_DENY, wider, "");
}

static int codex_host(struct exchange *exchange, const struct exchange_item *item,
		      const struct codex *codex, const char *host, enum policy_action action)
{
	const char *rest = strncmp(host, "**.", 3) == 0  ? host + 3
			   : strncmp(host, "*.", 2) == 0 ? host + 2
							 : host;
	const char *colon = strchr(host, ':');
	bool is_v6 = colon && strchr(colon + 1, ':');
	size_t len = colon && !is_v6 ? (size_t)(colon - host) : strlen(host);

	if (strpbrk(rest, "*?{}") && strcmp(host, "*") != 0 && action == POLICY_DENY)
		return codex_deny_glob(exchange, item, host);
	if (colon && !is_v6)
		exchange_lose(exchange, item->line, "%s: the port of the host was ignored", host);
	auto_free char *bare =
		is_v6 && host[0] != '[' ? mem_printf("[%s]", host) : mem_strndup(host, len);
	auto_free char *any = mem_printf("tcp://%s:*", bare),
		       *http = mem_printf("http://%s:*", bare);

	if (action != POLICY_ALLOW || !codex->is_limited)
		return exchange_rule(exchange, item->line, action, any, "");
	exchange_lose(
		exchange, item->line,
		"allow https://%s: mode limited allows three methods, and the gate cannot see "
		"the method inside TLS",
		bare);
	return exchange_rule(exchange, item->line, action, http, "method GET HEAD OPTIONS");
}

static int codex_item(struct exchange *exchange, const struct exchange_item *item, void *arg)
{
	const struct codex *codex = arg;
	const char *value = item->value;
	char part[256];

	if (!codex_part(item, part)) {
		if (strncmp(item->path, "experimental_network/", 21) == 0)
			exchange_lose(exchange, item->line,
				      "%s %s: this is a constraint of an administrator", item->path,
				      value);
		return 0; /* not about the network */
	}
	if (strcmp(part, codex->profile) != 0) {
		exchange_lose(exchange, item->line, "%s %s: this belongs to another profile",
			      item->path, value);
		return 0;
	}
	if (exchange_is_at(item, "permissions/?/network/domains/?")) {
		if (strcmp(value, "allow") == 0)
			return codex_host(exchange, item, codex, item->key, POLICY_ALLOW);
		return codex_host(exchange, item, codex, item->key, POLICY_DENY);
	}
	if (exchange_is_at(item, "permissions/?/network/allowed_domains/#"))
		return codex_host(exchange, item, codex, value, POLICY_ALLOW);
	if (exchange_is_at(item, "permissions/?/network/denied_domains/#"))
		return codex_host(exchange, item, codex, value, POLICY_DENY);
	if ((exchange_is_at(item, "permissions/?/network/enabled") && strcmp(value, "true") == 0) ||
	    (exchange_is_at(item, "permissions/?/network/mode") && strcmp(value, "limited") == 0))
		return 0; /* the rules say the same */
	exchange_lose(exchange, item->line, "%s %s", item->path, value);
	return 0;
}

int codex_config_import(struct exchange *exchange, const char *text, size_t len)
{
	struct codex codex = { 0 };
	int r = toml_tables_read(exchange, text, len, codex_look, &codex);

	if (r == 0 && !codex.has_default && codex.has_many)
		r = exchange_refuse(
			exchange, 0,
			"there are several profiles, but no default_permissions to choose one");
	if (r < 0)
		return r;
	exchange_line(exchange, "# a host matched all ports and any bytes");
	exchange_line(exchange, "default ask");
	return toml_tables_read(exchange, text, len, codex_item, &codex);
}

static void codex_config_write(const struct export *export)
{
	exchange_line(export->exchange, "# Holds only where the network proxy is switched on.");
	exchange_line(export->exchange, "default_permissions = \"sallyport\"");
	exchange_line(export->exchange, "%s", "");
	exchange_line(export->exchange, "[permissions.sallyport.network.domains]");
	for (int is_deny = 0; is_deny < 2; is_deny++) {
		const struct export_entry *entry;

		for (size_t at = 0; (entry = export_next(export, is_deny, &at)) != NULL;)
			exchange_line(export->exchange, "\"%s\" = \"%s\"", entry->host,
				      is_deny ? "deny" : "allow");
	}
}

const struct export_format codex_config_export = {
	.hosts = BIT(PATTERN_EXACT) | BIT(PATTERN_BELOW) | BIT(PATTERN_TREE) | BIT(PATTERN_ANY) |
		 BIT(PATTERN_BLOCK),
	.is_once = true,
	.asks = true,
	.carves = true,
	.write = codex_config_write,
};
