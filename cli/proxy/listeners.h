/* listeners: the sockets on which `sallyport proxy` accepts clients. */
#pragma once

#include <stdbool.h>

struct options;
struct proxy_service;

/* Opens those of --listen, or takes those of the service manager, into @ret. @is_bounded: only
 * known clients are served, or the operator said --open. Returns an exit status and prints what is
 * wrong. */
int listeners_open(const struct options *given, bool is_bounded, struct proxy_service *ret);
/* As many sockets for one more worker, which gets its part of the clients; they replace those of
 * @service. The sockets of a service manager are shared. An exit status. */
int listeners_repeat(struct proxy_service *service);
/* Prints where clients are served. */
void listeners_announce(const struct proxy_service *service);
void listeners_close(struct proxy_service *service);
