/* resolve: what the resolver (resolver.c) and the questions put to it (resolve.c) know of each
 * other. */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

struct cares;
struct known;
struct loop;
struct resolve_lookup;

struct resolver {
	struct loop *loop;
	struct cares *cares;
	struct known *known;
	LIST_HEAD(resolve_lookup_list, resolve_lookup) lookups;
	size_t lookup_count, query_count;
};

/* Drops everybody who waits. Lookups that c-ares still works on go with cares_free(). */
void resolve_drop_all(struct resolver *resolver);
