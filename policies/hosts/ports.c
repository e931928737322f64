#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/engine/pattern_impl.h"

#define PORTS_MAX 256 /* ranges of one destination */

static const char ports_advice[] = "443, 8000-8100, 80,443 or *";

static int ports_number(const char *text, size_t len, size_t at, uint16_t *ret, struct flaw *flaw)
{
	uint64_t value;

	if (len == 0)
		return flaw_set(flaw, at, ports_advice, "the port is missing");
	int r = text_to_u64(text + at, len, UINT16_MAX, &value);

	if (r == -ERANGE || (r == 0 && value == 0))
		return flaw_set(flaw, at, "a port from 1 to 65535", "the port is out of range");
	if (r < 0)
		return flaw_set(flaw, at, ports_advice, "the port is not a number");
	*ret = (uint16_t)value;
	return 0;
}

static int ports_range(const char *text, size_t at, size_t end, struct pattern_port *ret,
		       struct flaw *flaw)
{
	const char *hyphen = memchr(text + at, '-', end - at);
	size_t middle = hyphen ? (size_t)(hyphen - text) : end;

	*ret = (struct pattern_port){ 0 };

	int r = ports_number(text, middle - at, at, &ret->first, flaw);

	if (r < 0)
		return r;
	ret->last = ret->first;
	if (!hyphen)
		return 0;
	r = ports_number(text, end - middle - 1, middle + 1, &ret->last, flaw);
	if (r < 0)
		return r;
	if (ret->last < ret->first) {
		char instead[32];

		(void)snprintf(instead, sizeof(instead), "%u-%u", ret->last, ret->first);
		return flaw_set(flaw, at, instead, "the port range ends below its start");
	}
	return 0;
}

int ports_parse(struct policy *policy, const char *text, size_t len, struct pattern *ret,
		struct flaw *flaw)
{
	size_t at = 0;

	ret->has_ports = true;
	if (len == 1 && text[0] == '*') {
		ret->ports = POLICY_PORTS_ALL;
		ret->port_count = 1;
		return 0;
	}
	ret->ports = (uint32_t)policy->port_count;
	ret->port_count = 0;
	for (;;) {
		const char *comma = at < len ? memchr(text + at, ',', len - at) : NULL;
		size_t end = comma ? (size_t)(comma - text) : len;
		struct pattern_port range;
		int r = ports_range(text, at, end, &range, flaw);

		if (r < 0)
			return r;
		if (ret->port_count == PORTS_MAX)
			return flaw_set(flaw, at, "port ranges, or several rules",
					"the list has more than %d ports", PORTS_MAX);
		policy->ports = mem_reserve(policy->ports, &policy->port_room,
					    policy->port_count + 1, sizeof(*policy->ports));
		policy->ports[policy->port_count++] = range;
		ret->port_count++;
		if (!comma)
			return 0;
		at = end + 1;
	}
}

bool ports_has(const struct policy *policy, const struct pattern *pattern, uint16_t port)
{
	for (uint32_t i = 0; i < pattern->port_count; i++) {
		const struct pattern_port *range = &policy->ports[pattern->ports + i];

		if (port >= range->first && port <= range->last)
			return true;
	}
	return false;
}
