/* local: sockets of AF_UNIX that have a name in a directory. The directory is held open, so that
 * it cannot be replaced, and the length of its path has no limit. */
#pragma once

#include <stdbool.h>

/* A listening socket at @name in @dir_fd: close-on-exec, nonblocking, mode 0600, of @type
 * (socket(2)). It has the name only once it listens, so a socket that refuses belongs to a dead
 * process. What has @name already is replaced; with @is_new the call fails with -EEXIST. Returns an
 * owned descriptor, or -errno. */
int local_listen(int dir_fd, const char *name, int type, int backlog, bool is_new);

/* A socket of @type, close-on-exec, that is connected to @name in @dir_fd. @limit_ms: for every
 * later receive and send, and for the connection; 0: the socket is nonblocking. Returns an owned
 * descriptor, or -errno: -ECONNREFUSED where nobody listens. */
int local_connect(int dir_fd, const char *name, int type, int limit_ms);
