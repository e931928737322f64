/* Names are not resolved: a resolver that does not answer would delay every run, and the answer may
 * be wrong by the time that the receiver is connected to again. */
#include "cli/run/run_syslog.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>

#include "base/addr.h"
#include "base/mem.h"
#include "base/text.h"

static int parse_unix(const char *path, struct gateway_syslog *ret)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&ret->address;
	size_t len = strlen(path);

	if (path[0] != '/' || len >= sizeof(address->sun_path))
		return -EINVAL;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, len + 1);
	ret->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return 0;
}

static int parse_network(const char *text, struct gateway_syslog *ret)
{
	const char *colon = strrchr(text, ':');
	struct addr addr;
	uint64_t port;

	if (!colon || text_to_u64(colon + 1, strlen(colon + 1), UINT16_MAX, &port) < 0 || port == 0)
		return -EINVAL;
	size_t len = (size_t)(colon - text);
	bool is_ipv6 = len > 2 && text[0] == '[' && text[len - 1] == ']';

	if (addr_parse(text + is_ipv6, len - 2 * is_ipv6, &addr) < 0 ||
	    (addr.family == AF_INET6) != is_ipv6)
		return -EINVAL;
	ret->address_len = addr_to_sockaddr(&addr, (uint16_t)port, &ret->address);
	return 0;
}

int run_syslog_parse(const char *value, struct gateway_syslog *ret)
{
	static const struct {
		const char *prefix;
		int type;
		int (*parse)(const char *text, struct gateway_syslog *ret);
	} forms[] = {
		{ "udp:", SOCK_DGRAM, parse_network },
		{ "tcp:", SOCK_STREAM, parse_network },
		{ "unix:", SOCK_DGRAM, parse_unix },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t len = strlen(forms[i].prefix);
		struct gateway_syslog made = { .name = value, .type = forms[i].type };

		if (strncmp(value, forms[i].prefix, len) != 0)
			continue;
		int r = forms[i].parse(value + len, &made);

		if (r == 0)
			*ret = made;
		return r;
	}
	return -EINVAL;
}
