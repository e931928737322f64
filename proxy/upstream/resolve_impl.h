/* resolve: what resolver.c (the resolver) and resolve.c (its queries) share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct cares;
struct static_hosts;
struct loop;
struct resolve_lookup;

struct resolver {
	struct loop *loop;
	struct cares *cares;
	struct static_hosts *known;
	LIST_HEAD(resolve_lookup_list, resolve_lookup) lookups;
	size_t lookup_count, query_count;
	struct resolve_lookup_list kept; /* answered, and valid for some time: the last one first */
	size_t kept_count;
	bool is_fixed; /* --dns */
};

/* What was kept is asked again. */
void resolve_forget_all(struct resolver *resolver);
/* Drops all queries. cares_free() ends lookups that c-ares still works on. */
void resolve_drop_all(struct resolver *resolver);
