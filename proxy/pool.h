/* pool: idle upstream connections, each good only for the exec, destination and promise it was made
 * for, at the address that was checked; bounded in number and in time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"
#include "proxy/proxy.h"

struct loop;
struct pool;

/* Whose connection it is. Plain value. */
struct pool_key {
	uint64_t exec;
	struct policy_destination dst;
	enum policy_protocol promise;
	bool is_inside; /* the sandbox's own loopback, which is not ours */
};
bool pool_key_equal(const struct pool_key *left, const struct pool_key *right);

/* Keeps both, and what @config points to. Returned owned. */
struct pool *pool_new(struct loop *loop, const struct proxy_config *config);
void pool_free(struct pool *pool);

/* Takes @fd, connected to @addr, with no byte under way. The oldest give way when it is full. */
void pool_put(struct pool *pool, const struct pool_key *key, const struct addr *addr, int fd);
/* May a connection to @addr carry what @verdict (an allow) allows? Checked again, for what was
 * granted then may not be now. */
bool pool_may_reuse(const struct pool *pool, const struct pool_key *key,
		    const struct policy_verdict *verdict, const struct addr *addr);
/* A live connection that may be reused, returned owned, or -1. */
int pool_take(struct pool *pool, const struct pool_key *key, const struct policy_verdict *verdict,
	      struct addr *ret_addr);
/* Is nothing under way on @fd? An end, an error or a byte would be. */
bool pool_is_idle(int fd);
/* Closes those of @exec. */
void pool_drop(struct pool *pool, uint64_t exec);
