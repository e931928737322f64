/* service: who the clients of `sallyport proxy` are: by their address when they connect, by a name
 * and a secret when they send them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

struct connection;
struct http1_head;
struct proxy;
struct proxy_service;
struct service;

/* Opens the listeners of @config and a way for each client. Keeps both; *@ret is owned. 0 or
 * -errno. */
int service_open(struct proxy *proxy, const struct proxy_service *config, struct service **ret);
/* Closes the listeners; the ways are closed as all others. NULL is fine. */
void service_free(struct service *service);

/* The way of @exec is about to be closed. @service: NULL: in a run. */
void service_forget(struct service *service, uint64_t exec);

/* POLICY_NONE: the client of @connection may send this request; else why not. The connection then
 * belongs to the way of its client. In a run everybody may. */
enum policy_reason service_admit(struct connection *connection, const struct http1_head *head);
/* The same, for a name and a secret that were sent otherwise. */
enum policy_reason service_login(struct connection *connection, const char *name, size_t name_len,
				 const void *secret, size_t secret_len);
/* May the client of @connection ask without a name and a secret? */
enum policy_reason service_admit_unnamed(const struct connection *connection);
/* The address of a client outside of every sandbox. Does not touch @ret in a run. */
void service_get_peer(const struct connection *connection, struct addr *ret);
/* Are there clients with a name and a secret? */
bool service_has_logins(const struct proxy *proxy);

/* No client is accepted from now on; connections without a request are closed. */
void service_drain(struct service *service);
