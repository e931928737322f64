/* listening: creates sockets that the command connects to and the gate accepts on. */
#pragma once

#include <sys/socket.h>

/* A stream socket that listens at @name (a struct sockaddr_..., @len bytes): its descriptor, or
 * -errno. */
int listening_open(const void *name, socklen_t len, int backlog);
