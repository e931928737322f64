#include "proxy/fronts/front_impl.h"

#include <stddef.h>

static const struct front *(*const fronts[])(void) = {
	[FRONT_HTTP1] = http1_front,
	[FRONT_SOCKS5] = socks5_front,
};

const struct front *table_front(enum front_kind kind)
{
	return fronts[kind]();
}
