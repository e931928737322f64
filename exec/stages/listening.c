#include "exec/stages/listening.h"

#include "exec/init/sys.h"

int listening_open(const void *name, socklen_t len, int backlog)
{
	const struct sockaddr *any = name;
	long fd = sys(socket, any->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return (int)fd;
	long r = sys(bind, fd, name, len);

	if (r == 0)
		r = sys(listen, fd, backlog);
	if (r == 0)
		return (int)fd;
	(void)sys(close, fd);
	return (int)r;
}
