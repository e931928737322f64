/* pool: idle upstream connections. Each may be reused only by the same exec, destination and
 * promise, at the address that was checked; their number and age are limited. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

struct loop;
struct pool;
struct proxy_config;

/* What a connection was made for. Plain value. */
struct pool_key {
	uint64_t exec;
	struct policy_destination dst;
	enum policy_protocol promise;
	bool is_inside; /* the sandbox's own loopback, not the host's */
	bool is_tunnel; /* through an upstream proxy that also takes requests in absolute form */
};
bool pool_key_equal(const struct pool_key *left, const struct pool_key *right);

/* Keeps both, and what @config points to. Returned owned. */
struct pool *pool_new(struct loop *loop, const struct proxy_config *config);
void pool_free(struct pool *pool);

/* Takes @fd, connected to @addr, with no data in transit. When the pool is full, the oldest
 * connection is closed. */
void pool_put(struct pool *pool, const struct pool_key *key, const struct addr *addr, int fd);
/* May a connection to @addr carry what @verdict (an allow) allows? Checked for every reuse, because
 * the policy may have changed. */
bool pool_may_reuse(const struct pool *pool, const struct pool_key *key,
		    const struct policy_verdict *verdict, const struct addr *addr);
/* A live connection that may be reused, returned owned, or -1. */
int pool_take(struct pool *pool, const struct pool_key *key, const struct policy_verdict *verdict,
	      struct addr *ret_addr);
/* Is @fd idle? An end, an error or a waiting byte mean that it is not. */
bool pool_is_idle(int fd);
/* Closes those of @exec. */
void pool_drop(struct pool *pool, uint64_t exec);
