#include "cli/proxy/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define STATE_MAX 64

void manager_tell(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;

	/* A name that begins with @ is an abstract socket's. */
	if (len < 2 || len >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = '\0';

	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);

	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
			     (const struct sockaddr *)&address, size) < 0)
		log_warn("the service manager cannot be told %s", state);
}

void manager_tell_reloading(void)
{
	struct timespec now = { 0 };
	char state[STATE_MAX];

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	manager_tell(state);
}
