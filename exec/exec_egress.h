/* exec_egress: the gate's listeners in a sandbox: their addresses, and the descriptors that an exec
 * hands out for them. */
#pragma once

#include <stddef.h>

/* The ports that the injected variables point to, inside the namespace. They are above the
 * ephemeral range (32768–60999), so that they do not collide with a server that the command
 * starts. */
#define EXEC_HTTP_PORT  61128
#define EXEC_SOCKS_PORT 61080

/* The same listener as EXEC_HTTP_PORT, as a Unix socket: $SALLYPORT_SOCKET, inside. */
#define EXEC_DOOR_DIR "/run/sallyport"
#define EXEC_DOOR     EXEC_DOOR_DIR "/socket"
#define EXEC_CACHES   EXEC_DOOR_DIR "/caches" /* see struct exec_cache */

/* The descriptors that an exec hands out, in this order. */
enum exec_egress_fd {
	EXEC_HTTP_LISTENER,
	EXEC_SOCKS_LISTENER,
	EXEC_CAPTURE_LISTENER, /* TCP connections of programs that do not use the other two */
	EXEC_NAMES,            /* UDP: names are asked here */
	EXEC_INNER,
	EXEC_SOCKETS, /* NETLINK_SOCK_DIAG: tells which process owns a socket inside, see
			 sock_diag(7) */
	EXEC_EGRESS_FDS
};

/* @fds (EXEC_EGRESS_FDS of them) are taken. Runs once, before the command starts; if it returns
 * anything but 0, the command is not started. It never runs for a sandbox on the host's network,
 * which has no listeners of the gate. */
typedef int (*exec_egress_fn)(int *fds, size_t count, void *arg);
