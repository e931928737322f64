/* own_ports: is a destination one of the gate's own listeners? */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "proxy/proxy_service.h"

struct own_ports {
	uint16_t ports[PROXY_LISTENERS_MAX];
	size_t count;
};

void own_ports_set(struct own_ports *own, const struct proxy_service *service);
/* Does @addr, of this machine, with @port lead to one of them? */
bool own_ports_has(const struct own_ports *own, const struct addr *addr, uint16_t port);
/* The host itself: every address that the kernel treats as its loopback. */
bool own_ports_is_loopback(const struct addr *addr);
/* Is @addr an address of this machine, other than its loopback? Sends nothing. True also if that
 * cannot be found out. */
bool own_ports_is_local(const struct addr *addr);
