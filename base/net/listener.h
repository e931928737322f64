/* listener: accepts connections in bounded batches, and pauses when descriptors run out. */
#pragma once

#include "base/loop.h"

#define LISTENER_PAUSE_MS 1000 /* after EMFILE, ENFILE, ENOBUFS, ENOMEM */

/* @fd: connected, nonblocking, close-on-exec, TCP_NODELAY if it is TCP; taken. @peer_port: the
 * client's, on its loopback; 0: not known. */
typedef void (*listener_fn)(int fd, uint16_t peer_port, void *arg); /* may close the listener */

/* Embedded in its owner. Zeroed: @is_open is false. */
struct listener {
	struct loop *loop;
	int fd;
	bool is_open;
	listener_fn fn;
	void *arg;
	struct event event;
	struct loop_timer pause;
};

/* Takes @fd, a listening socket, TCP or Unix; keeps the rest. 0 or -errno (@fd is closed). */
int listener_open(struct listener *listener, struct loop *loop, int fd, listener_fn fn, void *arg);
void listener_close(struct listener *listener);
