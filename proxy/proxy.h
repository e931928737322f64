/* proxy: the worker that reads hostile bytes. Every protocol (HTTP, CONNECT, SOCKS5) produces the
 * same facts, one function decides (gateway_submit), and only a checked address is dialled. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proxy/config.h"

struct err;
struct gateway_client;
struct loop;
struct proxy;

/* Keeps all three. The caller wires the client's callbacks to proxy_open() and proxy_close().
 * Returned owned. */
struct proxy *proxy_new(struct loop *loop, struct gateway_client *client,
			const struct proxy_config *config, struct err *why);
void proxy_free(struct proxy *proxy);
/* The owner has replaced the policy in the config: cuts connections to addresses that the new one
 * denies. */
void proxy_policy_changed(struct proxy *proxy);

/* Accepts no client of proxy_service.h from now on; the gateway is told when all have gone. */
void proxy_drain(struct proxy *proxy);

/* The host's resolv.conf and hosts files, as resolver_take_files(). Both taken. */
void proxy_names_changed(struct proxy *proxy, int resolv_conf, int hosts);

/* Puts what the sandbox of @exec refused among the denials that its command can read. */
void proxy_note_refused(struct proxy *proxy, uint64_t exec, const char *text);

/* Opens the listeners of an exec. All of @fds are taken. 0 or -errno. */
int proxy_open(struct proxy *proxy, uint64_t exec, const int fds[PROXY_FDS]);
/* Closes the exec's listeners and every connection, each with a report. An unknown exec is
 * ignored. */
void proxy_close(struct proxy *proxy, uint64_t exec);

/* The main function of the worker process: loop, link (@socket, taken), proxy; confined (seccomp,
 * no files, not dumpable) before the first hostile byte. Returns when the gateway has closed the
 * link or says so; returns the exit status. */
int proxy_worker(int socket, const struct proxy_config *config);
