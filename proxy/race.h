/* race: connects to the first of several checked addresses that answers (Happy Eyeballs, RFC 8305
 * §5). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define RACE_ADDRS_MAX 16

struct loop;
struct race;

/* From the loop, at most once. @fd: connected, nonblocking, taken; or -errno, and @addr is the
 * address it is about. */
typedef void (*race_fn)(int fd, const struct addr *addr, void *arg);

/* Keeps @loop and @arg; the race dies when @done runs. @count is 1 to RACE_ADDRS_MAX. */
struct race *race_start(struct loop *loop, const struct addr *addrs, size_t count, uint16_t port,
			race_fn done, void *arg);
/* The same with one address and a socket made elsewhere (@socket: nonblocking TCP of the address's
 * family, taken). */
struct race *race_start_with(struct loop *loop, int socket, const struct addr *addr, uint16_t port,
			     race_fn done, void *arg);
void race_withdraw(struct race *race); /* @done will not run; NULL is fine */
