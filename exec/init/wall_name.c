#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/inside_net.h"

#define HEAD offsetof(struct sockaddr_un, sun_path)

static bool begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return false;
	return true;
}

/* A path through self would mean the wall itself, so it is replaced by the task's process. @text
 * has room for more than an address can hold. */
static const char *put_self(struct wall *wall, struct wall_call *call, const char *name, char *text)
{
	static const struct {
		const char *prefix, *rest;
	} selves[] = {
		{ "/proc/self/", "/" },
		{ "/proc/thread-self/", "/" },
		{ "/dev/fd/", "/fd/" },
	};

	for (size_t i = 0; i < sizeof(selves) / sizeof(selves[0]); i++) {
		size_t len = 0;

		if (!begins(name, selves[i].prefix))
			continue;
		while (selves[i].prefix[len])
			len++;
		/* The process stands for its thread; only entries that belong to a single thread
		 * differ. */
		wall_task_name(text, "/proc/", wall_task_process(wall, call), selves[i].rest);
		size_t at = sys_length(text);

		for (const char *c = name + len; (text[at] = *c) != '\0'; c++)
			at++;
		return text;
	}
	return name;
}

static long open_name(struct wall *wall, struct wall_call *call, const char *name)
{
	char link[64], text[sizeof(struct sockaddr_un) + 64];
	long directory = AT_FDCWD;

	if (name[0] == '/') {
		name = put_self(wall, call, name, text);
	} else {
		wall_task_name(link, "/proc/", call->task, "/cwd");
		directory = sys(openat, AT_FDCWD, link, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0)
			return directory == -EPERM ? -EACCES : directory;
	}
	long fd = sys(openat, (int)directory, name, O_PATH | O_CLOEXEC);

	if (directory >= 0)
		(void)sys(close, directory);
	return fd;
}

static void note_refused(struct wall *wall, const struct wall_aim *aim)
{
	char link[16];

	wall_task_name(link, "", aim->at, "");
	long n = sys(readlinkat, AT_FDCWD, link, wall->path, sizeof(wall->path) - 1);

	wall->path[n > 0 ? n : 0] = '\0';
}

static long aim_at_file(struct wall *wall, struct wall_call *call, const char *name,
			struct wall_aim *ret)
{
	struct sockaddr_un *local = (struct sockaddr_un *)(void *)&ret->name;
	struct stat what;
	long fd = open_name(wall, call, name);

	if (fd < 0)
		return fd;
	ret->at = (int)fd;
	long r = sys(fstat, ret->at, &what);

	/* If it is not a socket, the kernel returns the error. */
	if (r == 0 && S_ISSOCK(what.st_mode))
		r = wall_own_judge(wall, ret->at, &what, call->type);
	if (r == -EACCES) {
		call->is_refused = true;
		note_refused(wall, ret);
	}
	/* Addresses the inode that was judged, whatever file has its name by now. The wall's
	 * working directory is /proc/thread-self/fd. */
	wall_task_name(local->sun_path, "", ret->at, "");
	ret->len = (uint32_t)(HEAD + sys_length(local->sun_path) + 1);
	return r;
}

/* A socket that was created in another network namespace looks up abstract names there. */
static long aim_at_abstract(const struct wall *wall, struct wall_call *call)
{
	uint64_t cookie = 0;
	uint32_t len = sizeof(cookie);

	if (wall->has_network
		    ? sys(getsockopt, call->fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 &&
			      cookie == wall->cookie
		    : wall->is_scoped)
		return 0;
	call->is_refused = true;
	return -EACCES;
}

static bool is_same(const uint8_t *left, const uint8_t *right, size_t len)
{
	while (len > 0 && left[len - 1] == right[len - 1])
		len--;
	return len == 0;
}

static bool is_own_4(const uint8_t *addr)
{
	static const uint8_t own[4] = INSIDE_NET_OWN_4;

	return addr[0] == IN_LOOPBACKNET || addr[0] == 0 || is_same(addr, own, sizeof(own));
}

static bool is_own_6(const struct in6_addr *addr)
{
	static const uint8_t own[16] = INSIDE_NET_OWN_6;

	if (IN6_IS_ADDR_V4MAPPED(addr))
		return is_own_4(&addr->s6_addr[12]);
	return IN6_IS_ADDR_LOOPBACK(addr) || IN6_IS_ADDR_UNSPECIFIED(addr) ||
	       is_same(addr->s6_addr, own, sizeof(own));
}

/* The gate gets them. */
static bool captures_datagrams(const struct wall *wall)
{
	return (wall->init->plan.head->flags & WIRE_CAPTURE_UDP) != 0 && wall->init->captured == 0;
}

/* Does a datagram go where nobody is? The kernel takes it, and tells a socket that is not connected
 * nothing: its program would wait. connect(2) of UDP only looks up a route, as getaddrinfo(3)
 * does. */
static bool is_lost(const struct wall *wall, const struct wall_call *call,
		    const struct sockaddr_storage *name, size_t len)
{
	const struct sockaddr_in *v4 = (const void *)name;
	const struct sockaddr_in6 *v6 = (const void *)name;

	if (!wall->has_network || captures_datagrams(wall) || call->type != SOCK_DGRAM ||
	    call->number == SYS_connect)
		return false;
	if (name->ss_family == AF_INET && len >= sizeof(*v4))
		return v4->sin_port != htons(INSIDE_NET_DNS) &&
		       !is_own_4((const uint8_t *)&v4->sin_addr);
	return name->ss_family == AF_INET6 && len >= sizeof(*v6) &&
	       v6->sin6_port != htons(INSIDE_NET_DNS) && !is_own_6(&v6->sin6_addr);
}

long wall_name_aim(struct wall *wall, struct wall_call *call, const void *from, size_t len,
		   struct wall_aim *ret)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	const struct sockaddr_un *local = from;

	ret->at = -1;
	ret->len = (uint32_t)len;
	memcpy(&ret->name, from, len);
	wall->path[0] = '\0';
	int domain = wall_task_option(call->fd, SO_DOMAIN);

	if (domain < 0)
		return domain;
	/* Other families have no file names, and the kernel refuses an address of another
	 * family. */
	if (domain != AF_UNIX || len <= HEAD || local->sun_family != AF_UNIX)
		return is_lost(wall, call, &ret->name, len) ? -ECONNREFUSED : 0;
	if (len > sizeof(*local))
		return -EINVAL;
	if (local->sun_path[0] == '\0')
		return aim_at_abstract(wall, call);
	memset(name, 0, sizeof(name));
	memcpy(name, local->sun_path, len - HEAD);
	return aim_at_file(wall, call, name, ret);
}

void wall_name_done(struct wall_aim *aim)
{
	if (aim->at >= 0)
		(void)sys(close, aim->at);
	aim->at = -1;
}
