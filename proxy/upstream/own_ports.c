#include "proxy/upstream/own_ports.h"

#include <errno.h>

#include "base/fd.h"
#include "base/mem.h"

#define ANY_PORT 9 /* no packet is sent there */

static bool get_name(int fd, struct addr *ret, uint16_t *ret_port)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);

	return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
	       addr_from_sockaddr((struct sockaddr *)&name, ret, ret_port) == 0;
}

void own_ports_set(struct own_ports *own, const struct proxy_service *service)
{
	own->count = 0;
	for (size_t i = 0; i < service->listener_count; i++) {
		struct addr addr;

		if (get_name(service->listeners[i], &addr, &own->ports[own->count]))
			own->count++;
	}
}

bool own_ports_is_loopback(const struct addr *addr)
{
	static const struct addr_block blocks[] = {
		{ { AF_INET, { 127 } }, 8 },
		{ { AF_INET, { 0 } }, 8 },
		{ { AF_INET6, { 0 } }, 96 }, /* ::, ::1 and IPv4-compatible addresses */
		{ { AF_INET6, { [10] = 0xff, [11] = 0xff, [12] = 127 } }, 104 },
		{ { AF_INET6, { [10] = 0xff, [11] = 0xff } }, 104 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		if (addr_block_has(&blocks[i], addr))
			return true;
	}
	return false;
}

/* The kernel chooses the source address for a route: for an address of this machine, the address
 * itself. An address without a route cannot be dialled. */
bool own_ports_is_local(const struct addr *addr)
{
	struct sockaddr_storage to = { 0 };
	socklen_t len = addr_to_sockaddr(addr, ANY_PORT, &to);
	auto_close int fd = socket(addr->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct addr from = { 0 };
	uint16_t port;

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	if (connect(fd, (struct sockaddr *)&to, len) < 0)
		return false;
	return !get_name(fd, &from, &port) || addr_equal(&from, addr);
}

bool own_ports_has(const struct own_ports *own, const struct addr *addr, uint16_t port)
{
	for (size_t i = 0; i < own->count; i++) {
		if (own->ports[i] == port)
			return own_ports_is_loopback(addr) || own_ports_is_local(addr);
	}
	return false;
}
