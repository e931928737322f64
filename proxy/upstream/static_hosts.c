#include "proxy/upstream/static_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/config.h"
#include "proxy/upstream/hosts.h"

struct known_mapping {
	char *name;
	struct addr addr;
};

struct static_hosts {
	struct known_mapping *mappings;
	size_t count;
	struct hosts *hosts; /* NULL with --dns: only that server is asked */
};

struct static_hosts *static_hosts_new(const struct proxy_config *config, char *hosts)
{
	struct static_hosts *known = mem_new(sizeof(*known));

	known->hosts = hosts ? hosts_new(hosts) : NULL;
	if (config->resolve_count > 0)
		known->mappings = mem_new_array(config->resolve_count, sizeof(*known->mappings));
	for (; known->count < config->resolve_count; known->count++) {
		const struct proxy_mapping *from = &config->resolves[known->count];
		known->mappings[known->count].name = mem_strdup(from->name);
		known->mappings[known->count].addr = from->addr;
	}
	return known;
}

void static_hosts_set_hosts(struct static_hosts *known, char *hosts)
{
	hosts_free(known->hosts);
	known->hosts = hosts_new(hosts);
}

void static_hosts_free(struct static_hosts *known)
{
	if (!known)
		return;
	for (size_t i = 0; i < known->count; i++)
		free(known->mappings[i].name);
	free(known->mappings);
	hosts_free(known->hosts);
	free(known);
}

/* RFC 6761 §6.3: never sent to a resolver. */
static bool is_localhost(const char *name)
{
	size_t len = strlen(name), tail = strlen("localhost");

	return len >= tail && strcmp(name + len - tail, "localhost") == 0 &&
	       (len == tail || name[len - tail - 1] == '.');
}

static size_t add_localhost(struct addr *ret, size_t max)
{
	static const struct addr addrs[] = { { AF_INET, { 127, 0, 0, 1 } },
					     { AF_INET6, { [15] = 1 } } };
	size_t count = 0;

	for (; count < ARRAY_SIZE(addrs) && count < max; count++)
		ret[count] = addrs[count];
	return count;
}

size_t static_hosts_find(struct static_hosts *known, const char *name, struct addr *ret, size_t max,
			 bool *ret_is_mapped)
{
	size_t found = 0;

	for (size_t i = 0; i < known->count && found < max; i++) {
		if (strcmp(known->mappings[i].name, name) == 0)
			ret[found++] = known->mappings[i].addr;
	}
	*ret_is_mapped = found > 0;
	if (found > 0)
		return found;
	if (is_localhost(name))
		return add_localhost(ret, max);
	return known->hosts ? hosts_find(known->hosts, name, ret, max) : 0;
}
