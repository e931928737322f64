/* local_socket: Unix sockets on which `sallyport proxy` accepts clients. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "proxy/proxy_service.h"

struct local_sockets {
	struct local_socket {
		char *path; /* owned */
		dev_t device;
		ino_t inode;
	} all[PROXY_LISTENERS_MAX];
	size_t count;
};

/* Listens at @path, which may be one that an ended process has left; @is_shared: other users may
 * connect. Returns an exit status and prints what is wrong. */
int local_socket_open(struct local_sockets *sockets, const char *path, bool is_shared, int *ret);
/* Removes those that are still ours, and frees the rest. */
void local_socket_remove(struct local_sockets *sockets);
