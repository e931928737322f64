#include "exec/notify/refused_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inside_net.h"
#include "exec/sandbox/plan.h"
#include "exec/run/wire.h"
#include "seccomp/seccomp_calls.h"

#define MESSAGES_MAX 16 /* of one sendmmsg(2) that are inspected */

union name {
	struct sockaddr any;
	struct sockaddr_un local;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Inside the sandbox there is only the loopback interface. */
static bool is_own(const union name *name)
{
	if (name->any.sa_family == AF_INET) {
		uint32_t host = ntohl(name->v4.sin_addr.s_addr);

		return host == INADDR_ANY || host >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
	}
	const struct in6_addr *host = &name->v6.sin6_addr;

	if (IN6_IS_ADDR_V4MAPPED(host))
		return host->s6_addr[12] == IN_LOOPBACKNET ||
		       memcmp(&host->s6_addr[12], &(struct in_addr){ INADDR_ANY }, 4) == 0;
	return IN6_IS_ADDR_LOOPBACK(host) || IN6_IS_ADDR_UNSPECIFIED(host);
}

/* Does the host have a route to it? connect(2) on a UDP socket looks it up, and sends nothing. */
static bool has_way_outside(const union name *name, socklen_t len)
{
	auto_close int fd = socket(name->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, &name->any, len) == 0;
}

/* An address that a name has inside: the host has other servers there, if any. */
static bool is_of_name(const union name *name)
{
	static const uint8_t names[16] = INSIDE_NET_NAMES_6;
	uint32_t host = ntohl(name->v4.sin_addr.s_addr);

	return name->any.sa_family == AF_INET ? host >> 17 == (198U << 24 | 18U << 16) >> 17
					      : memcmp(name->v6.sin6_addr.s6_addr, names, 12) == 0;
}

static bool look_at_network(const struct plan *plan, const union name *name, struct refused *ret)
{
	bool is_v4 = name->any.sa_family == AF_INET;
	char host[INET6_ADDRSTRLEN];

	uint16_t port = ntohs(is_v4 ? name->v4.sin_port : name->v6.sin6_port);

	if ((plan->flags & WIRE_HOST_NETWORK) || is_own(name) ||
	    (!is_of_name(name) &&
	     !has_way_outside(name, is_v4 ? sizeof(name->v4) : sizeof(name->v6))) ||
	    !inet_ntop(name->any.sa_family,
		       is_v4 ? (const void *)&name->v4.sin_addr : &name->v6.sin6_addr, host,
		       sizeof(host)))
		return false;
	ret->what = EXEC_REFUSED_NETWORK;
	ret->error = ENETUNREACH;
	(void)snprintf(ret->path, sizeof(ret->path), is_v4 ? "%s:%u" : "[%s]:%u", host, port);
	return true;
}

static bool look_at_file(const struct plan *plan, const struct inside *inside, pid_t task,
			 const union name *name, struct refused *ret)
{
	char path[PATH_MAX], text[sizeof(name->local.sun_path) + 1] = "";

	if (name->local.sun_path[0] == '\0')
		return false;
	memcpy(text, name->local.sun_path, sizeof(name->local.sun_path));
	if (inside_absolute(inside, task, AT_FDCWD, text, path) < 0)
		return false;
	return refused_by_view(plan, inside, task, path, true, REFUSED_CONNECT, ret);
}

static bool look_at_address(const struct plan *plan, const struct inside *inside, pid_t task,
			    uint64_t at, size_t len, struct refused *ret)
{
	union name name = { 0 };

	if (at == 0 || len <= offsetof(struct sockaddr_un, sun_path) || len > sizeof(name) ||
	    inside_read(task, at, &name, len) < 0)
		return false;
	switch (name.any.sa_family) {
	case AF_UNIX:
		return look_at_file(plan, inside, task, &name, ret);
	case AF_INET:
		return len >= sizeof(name.v4) && look_at_network(plan, &name, ret);
	case AF_INET6:
		return len >= sizeof(name.v6) && look_at_network(plan, &name, ret);
	default:
		return false;
	}
}

static bool look_at_message(const struct plan *plan, const struct inside *inside, pid_t task,
			    uint64_t at, struct refused *ret)
{
	struct msghdr message;

	return inside_read(task, at, &message, sizeof(message)) == 0 &&
	       look_at_address(plan, inside, task, (uintptr_t)message.msg_name, message.msg_namelen,
			       ret);
}

/* Checks the address of each message. */
static size_t look_at_messages(const struct plan *plan, const struct inside *inside, pid_t task,
			       uint64_t at, uint32_t messages, struct refused *ret)
{
	size_t count = 0;

	for (uint32_t i = 0; i < messages && i < MESSAGES_MAX && count < REFUSED_PATHS_MAX; i++)
		count += look_at_message(plan, inside, task, at + i * sizeof(struct mmsghdr),
					 &ret[count]);
	return count;
}

static size_t look_at_call(const struct plan *plan, const struct inside *inside, pid_t task,
			   const char *call, const __u64 *args, struct refused *ret)
{
	if (strcmp(call, "connect") == 0)
		return look_at_address(plan, inside, task, args[1], (uint32_t)args[2], ret);
	if (strcmp(call, "sendto") == 0)
		return look_at_address(plan, inside, task, args[4], (uint32_t)args[5], ret);
	if (strcmp(call, "sendmsg") == 0)
		return look_at_message(plan, inside, task, args[1], ret);
	if (strcmp(call, "sendmmsg") == 0)
		return look_at_messages(plan, inside, task, args[1], (uint32_t)args[2], ret);
	return 0;
}

size_t refused_socket_find(const struct plan *plan, const struct inside *inside,
			   const struct seccomp_notif *request, const struct seccomp_call *call,
			   struct refused *ret)
{
	size_t count = look_at_call(plan, inside, (pid_t)request->pid, call->name,
				    request->data.args, ret);

	/* The wall refuses datagrams; a connection fails only where it cannot be captured. */
	for (size_t i = 0; i < count; i++)
		if (ret[i].what == EXEC_REFUSED_NETWORK && strcmp(call->name, "connect") != 0)
			ret[i].error = ECONNREFUSED;
	return count;
}
