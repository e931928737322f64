/* entrance: accepts the clients of one exec; opens and closes its listeners. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proxy/config.h"

struct front;
struct proxy;
struct way;

/* Takes all but fds[PROXY_INNER] (also on failure). Returned owned in @ret_way. 0 or -errno. */
int entrance_open(struct proxy *proxy, uint64_t exec, const int fds[PROXY_FDS],
		  struct way **ret_way);
/* Takes one more listener, a Unix socket, which speaks the same as WAY_HTTP. @arg: the way. */
void entrance_open_door(int listener, void *arg);
/* Takes @fd, a client outside of every sandbox, for a listener of proxy_service.h. */
void entrance_admit(struct way *way, int fd, uint16_t peer_port);
/* May the exec have one more connection? */
bool entrance_has_room(const struct way *way);
/* It may not. Once a second only, so that a flood of connections is not a flood of records. */
void entrance_record_overload(struct way *way, const struct front *front);
/* Closes everything and reports each open request. */
void entrance_close(struct way *way);
