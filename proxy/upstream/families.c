#include "proxy/upstream/families.h"

#include "base/fd.h"

#include <sys/socket.h>

/* Any global unicast address takes the default route; this one is of the documentation prefix,
 * which no network uses. */
static const struct addr somewhere = { .family = AF_INET6,
				       .bytes = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };

bool families_has_v6_route(void)
{
	auto_close int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage sockaddr;
	socklen_t len = addr_to_sockaddr(&somewhere, 53, &sockaddr);
	struct addr source;
	uint16_t port;

	if (fd < 0 || connect(fd, (struct sockaddr *)&sockaddr, len) < 0)
		return false;
	len = sizeof(sockaddr);
	if (getsockname(fd, (struct sockaddr *)&sockaddr, &len) < 0 ||
	    addr_from_sockaddr((struct sockaddr *)&sockaddr, &source, &port) < 0)
		return false;
	/* A unique local source address (fc00::/7) is not routed on the Internet: only 2000::/3
	 * counts. */
	return source.family == AF_INET6 && (source.bytes[0] & 0xe0) == 0x20;
}

static bool has_addr(const struct addr *addrs, size_t count, const struct addr *addr)
{
	for (size_t i = 0; i < count; i++) {
		if (addr_equal(&addrs[i], addr))
			return true;
	}
	return false;
}

size_t families_interleave(const struct addr *v4, size_t v4_count, const struct addr *v6,
			   size_t v6_count, bool is_v6_first, struct addr *ret, size_t max)
{
	const struct addr *lists[] = { is_v6_first ? v6 : v4, is_v6_first ? v4 : v6 };
	size_t counts[] = { is_v6_first ? v6_count : v4_count, is_v6_first ? v4_count : v6_count };
	size_t used = 0;

	for (size_t i = 0; (i < counts[0] || i < counts[1]) && used < max; i++) {
		for (size_t list = 0; list < 2 && used < max; list++) {
			if (i < counts[list] && !has_addr(ret, used, &lists[list][i]))
				ret[used++] = lists[list][i];
		}
	}
	return used;
}
