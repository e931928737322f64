/* happy_eyeballs: connects to the first of several checked addresses that answers (Happy Eyeballs,
 * RFC 8305 §5). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define HAPPY_EYEBALLS_ADDRS_MAX 16

struct loop;
struct happy_eyeballs;

/* From the loop, at most once. @fd: connected, nonblocking, taken; or -errno, with the address
 * @addr that failed. */
typedef void (*happy_eyeballs_fn)(int fd, const struct addr *addr, void *arg);

/* Keeps @loop and @arg; the race dies when @done runs. @count is 1 to HAPPY_EYEBALLS_ADDRS_MAX. */
struct happy_eyeballs *happy_eyeballs_start(struct loop *loop, const struct addr *addrs,
					    size_t count, uint16_t port, happy_eyeballs_fn done,
					    void *arg);
/* As happy_eyeballs_start(), with one address and an existing socket (@socket: nonblocking TCP of
 * the address's family, taken). */
struct happy_eyeballs *happy_eyeballs_start_with(struct loop *loop, int socket,
						 const struct addr *addr, uint16_t port,
						 happy_eyeballs_fn done, void *arg);
void happy_eyeballs_withdraw(struct happy_eyeballs *race); /* @done will not run; NULL is fine */
