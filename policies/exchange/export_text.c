#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/exchange/export_impl.h"
#include "policies/engine/rules_impl.h"

static char *export_text_host(const struct policy *policy, const struct pattern *pattern)
{
	static const char *const before[] = {
		[PATTERN_EXACT] = "",
		[PATTERN_BELOW] = "*.",
		[PATTERN_TREE] = "**.",
	};
	const char *key = rules_key(policy, pattern);
	char text[ADDR_TEXT_MAX];

	if (pattern->kind == PATTERN_ANY)
		return mem_strdup("*");
	if (pattern->kind != PATTERN_BLOCK)
		return mem_printf("%s%.*s", before[pattern->kind], (int)pattern->key_len, key);
	struct addr addr = { .family = (uint8_t)key[1] };
	bool is_v6 = addr.family == AF_INET6;
	unsigned int bits = (unsigned char)key[2];

	memcpy(addr.bytes, key + 3, sizeof(addr.bytes));
	return mem_printf("%s%s%s/%u", is_v6 ? "[" : "", addr_text(&addr, text), is_v6 ? "]" : "",
			  bits);
}

static char *export_text_ports(const struct policy *policy, const struct pattern *pattern)
{
	const struct pattern_port *first = &policy->ports[pattern->ports];
	bool is_all = pattern->port_count == 1 && first->first <= 1 && first->last == UINT16_MAX;
	char *out = mem_strdup(is_all ? ":*" : "");

	for (uint32_t i = 0; i < pattern->port_count && !is_all; i++) {
		const struct pattern_port *range = &policy->ports[pattern->ports + i];
		auto_free char *before = out;

		if (range->first == range->last)
			out = mem_printf("%s%s%u", before, i == 0 ? ":" : ",", range->first);
		else
			out = mem_printf("%s%s%u-%u", before, i == 0 ? ":" : ",", range->first,
					 range->last);
	}
	return out;
}

char *export_text(const struct policy *policy, const struct pattern *pattern, bool is_any)
{
	auto_free char *host = export_text_host(policy, pattern);
	auto_free char *ports = pattern->has_ports && !is_any ? export_text_ports(policy, pattern)
							      : mem_strdup(is_any ? ":*" : "");
	enum policy_protocol protocol =
		is_any ? POLICY_TCP : (enum policy_protocol)pattern->protocol;
	const char *said = protocol == POLICY_NO_PROTOCOL ? "" : policy_protocol_name(protocol);

	return mem_printf("%s%s%s%s", said, said[0] ? "://" : "", host, ports);
}
