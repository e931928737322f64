/* exec_sockets: gets sockets of an exec's network namespace from the exec's init, one at a time.
 * The worker cannot enter a namespace; the sockets it makes belong to the host's. */
#pragma once

#include <stdint.h>

struct exec_sockets;
struct exec_sockets_request;
struct loop;

/* UDP: at a port of 127.0.0.1. The last three are for captured datagrams: the one that gets them,
 * and those by which whole packets are sent; where datagrams are not captured, there are none. */
enum exec_sockets_kind {
	EXEC_SOCKETS_TCP4,
	EXEC_SOCKETS_TCP6,
	EXEC_SOCKETS_UDP,
	EXEC_SOCKETS_CAPTURED,
	EXEC_SOCKETS_RAW4,
	EXEC_SOCKETS_RAW6
};

/* From the loop, at most once. @socket: nonblocking, of the kind that was asked for, taken; or
 * -errno: -EPIPE the exec has ended, -ETIMEDOUT no response in 2 s (not for
 * the last three, which are asked for before init answers), -EAGAIN too many requests,
 * -EPROTO no usable socket came. */
typedef void (*exec_sockets_fn)(int socket, void *arg);

/* @channel (SOCK_SEQPACKET) is taken, @loop kept. Returned owned. */
struct exec_sockets *exec_sockets_new(struct loop *loop, int channel);
void exec_sockets_free(struct exec_sockets *inner); /* no callback of a request runs any more */
/* The exec's Unix listener: nonblocking, taken. From the loop, at most once, and only before the
 * first response; never for an exec without one. */
typedef void (*exec_sockets_door_fn)(int listener, void *arg);
void exec_sockets_on_door(struct exec_sockets *inner, exec_sockets_door_fn on_door, void *arg);
/* Right after _new(), for a worker that comes after @turn others: asks for the listener again, and
 * ignores the answers to what the others have asked. */
void exec_sockets_renew(struct exec_sockets *inner, uint32_t turn);
/* Keeps @arg. The request dies when @done runs or is withdrawn. */
struct exec_sockets_request *exec_sockets_ask(struct exec_sockets *inner,
					      enum exec_sockets_kind kind, exec_sockets_fn done,
					      void *arg);
void exec_sockets_withdraw(struct exec_sockets_request *request); /* NULL is fine */
