/* tls_bridge: TLS to an upstream proxy for legs that know plain sockets only. One end of a socket
 * pair is the leg's; what passes through the other one is encrypted here, in the worker. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;
struct policy_destination;
struct tls_bridge;
struct tls_bridges;

/* Keeps @loop. @authorities: whom to trust (PEM). Returned owned; NULL with @why. */
struct tls_bridges *tls_bridge_new_all(struct loop *loop, const char *authorities, struct err *why);
void tls_bridge_free_all(struct tls_bridges *bridges); /* ends all; NULL is fine */

/* @fd: the leg's end, taken by the callee; -1: the server could not be verified: @cause. From the
 * loop, at most once. */
typedef void (*tls_bridge_fn)(int fd, const char *cause, void *arg);
/* Takes @fd, connected to @server, whose certificate is verified before anything is sent. Returns a
 * handle until @done. From then on it ends with its two ends. */
struct tls_bridge *tls_bridge_start(struct tls_bridges *bridges, int fd,
				    const struct policy_destination *server, tls_bridge_fn done,
				    void *arg);
void tls_bridge_withdraw(struct tls_bridge *bridge); /* before @done; NULL is fine */

/* @fd, a leg's end, has ended: did the server not say so? What it sent is then not complete. */
bool tls_bridge_was_cut(const struct tls_bridges *bridges, int fd);
