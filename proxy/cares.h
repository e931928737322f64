/* cares: c-ares on our loop: one channel, its sockets as plain events, its time-outs as one timer.
 * After cares_new() it opens no file, reads no environment and starts no thread. */
#pragma once

#include <stddef.h>

#include "base/addr.h"

#define CARES_ADDRS_MAX 16

struct cares;
struct err;
struct loop;

enum cares_status { CARES_FOUND, CARES_NO_NAME, CARES_NO_ADDRESS, CARES_LATE, CARES_FAILED };

struct cares_answer {
	enum cares_status status;
	const char *cause; /* static words for people */
	size_t count;
	struct addr addrs[CARES_ADDRS_MAX];
};
/* Once for every cares_ask(), perhaps inside it; at the latest inside cares_free(). @answer:
 * borrowed. */
typedef void (*cares_fn)(const struct cares_answer *answer, void *arg);

/* @servers: as nameservers.h writes them. Returned owned; NULL with @why. */
struct cares *cares_new(struct loop *loop, const char *servers, struct err *why);
void cares_free(struct cares *cares);
/* The addresses of one family. @name is absolute: no search list is ever tried. It cannot be
 * withdrawn. */
void cares_ask(struct cares *cares, const char *name, int family, cares_fn done, void *arg);
