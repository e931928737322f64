/* proxy_service: the clients of `sallyport proxy`, which run in no sandbox of ours. Each that is
 * known has an exec of its own; those that nothing identifies share one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"

#define PROXY_LISTENERS_MAX 16

/* A client that is known by its address. */
struct proxy_source {
	struct addr_block block;
	uint64_t exec;
};

/* A client that is known by its user, at a Unix socket. */
struct proxy_user {
	uid_t uid;
	uint64_t exec;
};

/* A client that is known by its name and secret. */
struct proxy_login {
	const char *name;
	const char *digest; /* digest_text() of the secret */
	uint64_t exec;
};

/* Everything it points to is kept. */
struct proxy_service {
	int listeners[PROXY_LISTENERS_MAX]; /* the proxy takes them */
	size_t listener_count;
	const struct proxy_source *sources;
	size_t source_count;
	const struct proxy_user *users;
	size_t user_count;
	const struct proxy_login *logins;
	size_t login_count;
	size_t exec_count; /* the execs are 1 to this number; 1: clients that nothing identifies, */
	bool is_open;      /* which are served */
	size_t shares;     /* how many workers serve these clients; each has its part of limits */
};
