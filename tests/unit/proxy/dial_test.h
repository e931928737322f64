/* dial_test: what the cases of the resolver, the dialler and the confinement share: a fake loop, a
 * DNS stub, a resolver. */
#pragma once

#include <check.h>

#include "base/loop.h"
#include "proxy/config.h"
#include "proxy/upstream/resolve.h"
#include "tests/unit/proxy/upstream/dns_stub.h"

TCase *test_resolve(void);
TCase *test_known(void);
TCase *test_dial(void);
TCase *test_inner(void);
TCase *test_forbidden(void);
TCase *test_confine(void);
TCase *test_own_port(void);
TCase *test_upstream_proxy(void);

struct dial_test {
	struct loop *loop;
	struct dns_stub *dns;
	struct resolver *resolver;
};

struct addr dial_test_addr(const char *text);
/* @mappings may be NULL. */
void dial_test_init(struct dial_test *test, const struct dns_name *names, size_t count,
		    const struct proxy_mapping *mappings, size_t mapping_count);
void dial_test_done(struct dial_test *test);
/* A nonblocking listener; *@port 0 becomes the one it got. */
int dial_test_listen(const char *address, uint16_t *port, int backlog);
/* @body's result, below 256, in a process that is confined; 255: it could not be. The test's own
 * process stays as it is, since Check makes timers when a test ends. */
int dial_test_confined(int (*body)(void *arg), void *arg);
/* Steps the loop until *@flag is @want; fails the test when that does not come without the clock
 * moving. */
void dial_test_until(struct loop *loop, const int *flag, int want);
/* Steps often enough for whatever is under way on loopback to come to rest. */
void dial_test_settle(struct loop *loop);
