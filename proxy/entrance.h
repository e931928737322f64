/* entrance: accepts the clients of one exec; opens and closes its listeners. */
#pragma once

#include <stdint.h>

struct proxy;
struct way;

/* Takes both listening sockets (also on failure). Returned owned in @ret_way. 0 or -errno. */
int entrance_open(struct proxy *proxy, uint64_t exec, int http, int socks, struct way **ret_way);
/* Takes one more listener, a Unix socket, which speaks the same as WAY_HTTP. @arg: the way. */
void entrance_open_door(int listener, void *arg);
/* Closes everything and reports each open request. */
void entrance_close(struct way *way);
