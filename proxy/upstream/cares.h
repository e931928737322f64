/* cares: runs c-ares on our loop: one channel, its sockets as plain events, its timeouts as one
 * timer. After cares_new() it opens no file, reads no environment and starts no thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "policies/policies.h"

#define CARES_ADDRS_MAX   16
#define CARES_ALIASES_MAX 12 /* a longer chain is an error */

struct cares;
struct err;
struct loop;

enum cares_status { CARES_FOUND, CARES_NO_NAME, CARES_NO_ADDRESS, CARES_LATE, CARES_FAILED };

struct cares_answer {
	enum cares_status status;
	const char *cause; /* static text for people */
	uint32_t ttl_s;    /* how long it holds (RFC 1035 §3.2.1), the least of all records */
	size_t count;
	struct addr addrs[CARES_ADDRS_MAX];
	size_t alias_count; /* targets of CNAMEs, canonical */
	char aliases[CARES_ALIASES_MAX][POLICY_HOST_MAX];
};
/* Runs once for every cares_ask(), perhaps inside it; at the latest inside cares_free(). @answer:
 * borrowed. */
typedef void (*cares_fn)(const struct cares_answer *answer, void *arg);

/* @servers: in the form of nameservers.h; @is_fixed: they never change. Returned owned; NULL with
 * @why. */
struct cares *cares_new(struct loop *loop, const char *servers, bool is_fixed, struct err *why);
void cares_free(struct cares *cares);
/* Replaces the servers. Open queries are asked again. */
void cares_set_servers(struct cares *cares, const char *servers);
/* Asks for the addresses of one family. @name is absolute: search lists are never used. A query
 * cannot be withdrawn. */
void cares_ask(struct cares *cares, const char *name, int family, cares_fn done, void *arg);
