/* listeners: the sockets on which `sallyport proxy` accepts clients. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LISTENERS_LOCAL "unix:" /* before the path of a Unix socket */

struct addr;
struct clients;
struct local_sockets;
struct options;
struct proxy_service;

/* ADDRESS:PORT, with brackets around IPv6. 0 or -EINVAL. */
int listeners_parse(const char *text, struct addr *ret, uint16_t *ret_port);
bool listeners_is_loopback(const struct addr *addr); /* 127.0.0.0/8 or ::1 */
/* Opens those of --listen, and takes those of the service manager, into @ret. @sockets: the Unix
 * sockets among them. Where others than @clients could connect, that is refused. Returns an exit
 * status and prints what is wrong. */
int listeners_open(const struct options *given, const struct clients *clients,
		   struct local_sockets *sockets, struct proxy_service *ret);
/* As many sockets for one more worker, which gets its part of the clients; they replace those of
 * @service. The sockets of a service manager are shared. An exit status. */
int listeners_repeat(struct proxy_service *service);
/* Prints where clients are served. */
void listeners_announce(const struct proxy_service *service, const struct local_sockets *sockets);
void listeners_close(struct proxy_service *service);
