/* inner: sockets of an exec's own network namespace, asked of its init one at a time. The worker
 * cannot enter a namespace; its own sockets are the host's. */
#pragma once

struct inner;
struct inner_request;
struct loop;

/* From the loop, at most once. @socket: a nonblocking TCP socket, taken; or -errno: -EPIPE the exec
 * is gone, -ETIMEDOUT no answer in 2 s, -EAGAIN too many asked, -EPROTO no usable socket came. */
typedef void (*inner_fn)(int socket, void *arg);

/* @channel (SOCK_SEQPACKET) is taken, @loop kept. Returned owned. */
struct inner *inner_new(struct loop *loop, int channel);
void inner_free(struct inner *inner); /* no request's callback runs any more */
/* The exec's door: a nonblocking listener of the Unix kind, taken. From the loop, at most once;
 * only before the first answer, and none comes where there is no door. */
typedef void (*inner_door_fn)(int listener, void *arg);
void inner_on_door(struct inner *inner, inner_door_fn on_door, void *arg);
/* @family: AF_INET or AF_INET6. Keeps @arg. The request dies when @done runs or is withdrawn. */
struct inner_request *inner_ask(struct inner *inner, int family, inner_fn done, void *arg);
void inner_withdraw(struct inner_request *request); /* NULL is fine */
