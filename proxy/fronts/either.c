/* The front of listeners that take HTTP and SOCKS5: the first byte tells which. */
#include "proxy/connection.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/parse/socks5.h"

/* No HTTP method begins with it. */
static int on_input(struct connection *connection)
{
	bool is_socks = buffer_at(&connection->in)[0] == SOCKS5_VERSION;

	connection->front = is_socks ? socks5_front() : http1_front();
	return 0;
}

/* The client has sent nothing yet. */
static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	connection_close(connection, refusal->reason);
}

static void on_overload(int fd)
{
	http1_front()->on_overload(fd);
}

const struct front *either_front(void)
{
	static const struct front front = {
		.name = "either",
		.on_input = on_input,
		.on_refused = on_refused,
		.on_overload = on_overload,
	};

	return &front;
}
