#include "proxy/upstream/resolve.h"

#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "base/mem.h"
#include "proxy/upstream/cares.h"
#include "proxy/upstream/families.h"
#include "proxy/upstream/static_hosts.h"
#include "proxy/upstream/resolve_impl.h"

#define DEADLINE_MS 5000
#define GRACE_MS    50   /* RFC 8305 §3: how long one family's answer waits for the other's */
#define QUERIES_MAX 4096 /* callers waiting */
#define LOOKUPS_MAX 1024 /* names being looked up; withdrawn ones count until c-ares answers */

#define KEPT_MAX 256   /* names whose addresses are kept, */
#define KEPT_MS  60000 /* at most for this time */

/* Addresses are kept for as long as their records say, a minute at most. Each dial checks them
 * again, so an approval never outlives the addresses it was checked against. Queries that arrive
 * during a lookup share its result. Failures are not kept. */

struct resolve_family {
	bool is_open; /* c-ares still holds a pointer to us */
	struct cares_answer answer;
};

/* One name that is being looked up, shared by all its queries. Lives while there is a query or
 * c-ares has a question open. */
struct resolve_lookup {
	LIST_ENTRY(resolve_lookup) link;
	struct resolver *resolver;
	TAILQ_HEAD(resolve_query_list, resolve_query) queries;
	struct loop_timer timer; /* the deadline, then the grace */
	struct resolve_family v4, v6;
	bool is_settled;  /* answered or given up: no query may join, unless it is kept */
	bool is_kept;     /* in the list of those */
	int64_t until_ms; /* how long the answer holds; 0: it is not kept */
	struct resolve_answer answer;
	char name[POLICY_HOST_MAX];
};

struct resolve_query {
	TAILQ_ENTRY(resolve_query) link;
	struct resolve_lookup *lookup;
	resolve_fn done;
	void *arg;
	struct loop_timer task;
};

static bool is_valid(const struct resolve_lookup *lookup)
{
	return lookup->until_ms > loop_now_ms(lookup->resolver->loop);
}

static void lookup_free(struct resolve_lookup *lookup)
{
	LIST_REMOVE(lookup, link);
	if (lookup->is_kept)
		lookup->resolver->kept_count--;
	else
		lookup->resolver->lookup_count--;
	free(lookup);
}

static void forget(struct resolve_lookup *lookup)
{
	lookup->until_ms = 0;
	if (TAILQ_EMPTY(&lookup->queries))
		lookup_free(lookup);
}

static void keep(struct resolve_lookup *lookup)
{
	struct resolver *resolver = lookup->resolver;
	struct resolve_lookup *last = LIST_FIRST(&resolver->kept);

	while (resolver->kept_count >= KEPT_MAX && LIST_NEXT(last, link))
		last = LIST_NEXT(last, link);
	if (resolver->kept_count >= KEPT_MAX)
		forget(last);
	LIST_REMOVE(lookup, link);
	resolver->lookup_count--;
	LIST_INSERT_HEAD(&resolver->kept, lookup, link);
	resolver->kept_count++;
	lookup->is_kept = true;
}

static void lookup_release(struct resolve_lookup *lookup)
{
	if (!TAILQ_EMPTY(&lookup->queries))
		return;
	lookup->is_settled = true;
	loop_timer_stop(&lookup->timer);
	if (lookup->v4.is_open || lookup->v6.is_open)
		return;
	if (!is_valid(lookup))
		lookup_free(lookup);
	else if (!lookup->is_kept)
		keep(lookup);
}

static void query_free(struct resolve_query *query)
{
	struct resolve_lookup *lookup = query->lookup;

	loop_timer_stop(&query->task);
	TAILQ_REMOVE(&lookup->queries, query, link);
	lookup->resolver->query_count--;
	free(query);
	lookup_release(lookup);
}

/* Each query has a task of its own, with a copy of the result: its callback may withdraw other
 * queries or free the resolver. */
static void query_deliver(void *arg)
{
	struct resolve_query *query = arg;
	struct resolve_answer answer = query->lookup->answer;
	resolve_fn done = query->done;

	arg = query->arg;
	query_free(query);
	done(&answer, arg);
}

static void lookup_settle(struct resolve_lookup *lookup)
{
	struct resolve_query *query;

	lookup->is_settled = true;
	loop_timer_stop(&lookup->timer);
	TAILQ_FOREACH (query, &lookup->queries, link)
		loop_defer(lookup->resolver->loop, &query->task, query_deliver, query);
}

static void settle_empty(struct resolve_lookup *lookup, enum policy_reason reason,
			 const char *cause)
{
	lookup->answer = (struct resolve_answer){ .reason = reason };
	(void)snprintf(lookup->answer.cause, sizeof(lookup->answer.cause), "%s", cause);
	lookup_settle(lookup);
}

static void add_aliases(struct resolve_answer *answer, const struct cares_answer *from)
{
	for (size_t i = 0; i < from->alias_count && answer->alias_count < RESOLVE_ALIASES_MAX; i++)
		memcpy(answer->aliases[answer->alias_count++], from->aliases[i],
		       sizeof(from->aliases[i]));
}

/* A family that has not answered, or has failed, is asked again; one without addresses has no
 * record that says how long that holds. */
static int64_t kept_ms(const struct resolve_family *family)
{
	int64_t ms = (int64_t)family->answer.ttl_s * 1000;

	if (family->is_open || family->answer.status == CARES_FAILED ||
	    family->answer.status == CARES_LATE)
		return 0;
	return ms < KEPT_MS ? ms : KEPT_MS;
}

static void set_until(struct resolve_lookup *lookup)
{
	int64_t v4_ms = kept_ms(&lookup->v4), v6_ms = kept_ms(&lookup->v6);
	int64_t ms = v4_ms < v6_ms ? v4_ms : v6_ms;

	if (ms > 0)
		lookup->until_ms = loop_now_ms(lookup->resolver->loop) + ms;
}

static void settle_addrs(struct resolve_lookup *lookup, const struct cares_answer *v4,
			 const struct cares_answer *v6)
{
	struct resolve_answer *answer = &lookup->answer;
	bool is_v6_first = v4->count > 0 && v6->count > 0 && families_has_v6_route();

	answer->reason = POLICY_DONE;
	if (v4->count > 0)
		add_aliases(answer, v4);
	if (v6->count > 0)
		add_aliases(answer, v6);
	answer->count = families_interleave(v4->addrs, v4->count, v6->addrs, v6->count, is_v6_first,
					    answer->addrs, RESOLVE_ADDRS_MAX);
	set_until(lookup);
	lookup_settle(lookup);
}

/* Neither family has an address: returns the result that says more about the name. */
static const struct cares_answer *more_telling(const struct cares_answer *left,
					       const struct cares_answer *right)
{
	static const int weight[] = {
		[CARES_NO_NAME] = 3, [CARES_LATE] = 2, [CARES_FAILED] = 1, [CARES_NO_ADDRESS] = 0
	};

	return weight[left->status] >= weight[right->status] ? left : right;
}

static void lookup_decide(struct resolve_lookup *lookup)
{
	const struct cares_answer *v4 = &lookup->v4.answer, *v6 = &lookup->v6.answer;

	if (v4->count > 0 || v6->count > 0) {
		settle_addrs(lookup, v4, v6);
		return;
	}
	const struct cares_answer *telling = more_telling(v4, v6);
	settle_empty(lookup, telling->status == CARES_LATE ? POLICY_DNS_TIMEOUT : POLICY_DNS_FAILED,
		     telling->cause);
}

static void on_deadline(void *arg)
{
	struct resolve_lookup *lookup = arg;

	if (lookup->v4.answer.count > 0 || lookup->v6.answer.count > 0)
		settle_addrs(lookup, &lookup->v4.answer, &lookup->v6.answer);
	else
		settle_empty(lookup, POLICY_DNS_TIMEOUT, "no resolver answered in time");
}

static void on_family(struct resolve_lookup *lookup, struct resolve_family *family,
		      const struct cares_answer *answer)
{
	family->is_open = false;
	family->answer = *answer;
	if (TAILQ_EMPTY(&lookup->queries)) {
		lookup_release(lookup);
		return;
	}
	if (lookup->is_settled)
		return;
	if (!lookup->v4.is_open && !lookup->v6.is_open)
		lookup_decide(lookup);
	else if (answer->count > 0)
		loop_timer_start(lookup->resolver->loop, &lookup->timer, GRACE_MS, on_deadline,
				 lookup);
}

static void on_v4(const struct cares_answer *answer, void *arg)
{
	struct resolve_lookup *lookup = arg;

	on_family(lookup, &lookup->v4, answer);
}

static void on_v6(const struct cares_answer *answer, void *arg)
{
	struct resolve_lookup *lookup = arg;

	on_family(lookup, &lookup->v6, answer);
}

static struct resolve_lookup *lookup_new(struct resolver *resolver, const char *name)
{
	struct resolve_lookup *lookup = mem_new(sizeof(*lookup));

	lookup->resolver = resolver;
	TAILQ_INIT(&lookup->queries);
	(void)snprintf(lookup->name, sizeof(lookup->name), "%s", name);
	LIST_INSERT_HEAD(&resolver->lookups, lookup, link);
	resolver->lookup_count++;
	return lookup;
}

static struct resolve_lookup *kept_find(struct resolver *resolver, const char *name)
{
	struct resolve_lookup *lookup, *next;

	for (lookup = LIST_FIRST(&resolver->kept); lookup; lookup = next) {
		next = LIST_NEXT(lookup, link);
		if (!is_valid(lookup))
			forget(lookup);
		else if (strcmp(lookup->name, name) == 0)
			return lookup;
	}
	return NULL;
}

/* One that is under way, or whose answer is valid. */
static struct resolve_lookup *lookup_find(struct resolver *resolver, const char *name)
{
	struct resolve_lookup *lookup;

	LIST_FOREACH (lookup, &resolver->lookups, link) {
		if ((!lookup->is_settled || is_valid(lookup)) && strcmp(lookup->name, name) == 0)
			return lookup;
	}
	return kept_find(resolver, name);
}

static void add_addr(struct cares_answer *list, const struct addr *addr)
{
	if (list->count < CARES_ADDRS_MAX)
		list->addrs[list->count++] = *addr;
}

/* Answers names that need no DNS. False: DNS is needed. */
static bool settle_known(struct resolve_lookup *lookup)
{
	struct cares_answer v4 = { 0 }, v6 = { 0 };
	struct addr found[RESOLVE_ADDRS_MAX];
	size_t count = static_hosts_find(lookup->resolver->known, lookup->name, found,
					 RESOLVE_ADDRS_MAX, &lookup->answer.is_mapped);

	for (size_t i = 0; i < count; i++)
		add_addr(found[i].family == AF_INET ? &v4 : &v6, &found[i]);
	if (count > 0)
		settle_addrs(lookup, &v4, &v6);
	return count > 0;
}

static void lookup_begin(struct resolve_lookup *lookup)
{
	struct resolver *resolver = lookup->resolver;

	if (settle_known(lookup))
		return;
	if (resolver->lookup_count > LOOKUPS_MAX) {
		settle_empty(lookup, POLICY_OVERLOADED,
			     "too many names are being resolved at once");
		return;
	}
	/* Mark both as open first: c-ares may answer inside the call. */
	lookup->v4.is_open = true;
	lookup->v6.is_open = true;
	loop_timer_start(resolver->loop, &lookup->timer, DEADLINE_MS, on_deadline, lookup);
	cares_ask(resolver->cares, lookup->name, AF_INET6, on_v6, lookup);
	cares_ask(resolver->cares, lookup->name, AF_INET, on_v4, lookup);
}

struct resolve_query *resolve_start(struct resolver *resolver, const char *name, resolve_fn done,
				    void *arg)
{
	struct resolve_query *query = mem_new(sizeof(*query));
	bool is_full = resolver->query_count >= QUERIES_MAX;
	struct resolve_lookup *shared = is_full ? NULL : lookup_find(resolver, name);

	query->done = done;
	query->arg = arg;
	query->lookup = shared ? shared : lookup_new(resolver, name);
	TAILQ_INSERT_TAIL(&query->lookup->queries, query, link);
	resolver->query_count++;
	if (is_full)
		settle_empty(query->lookup, POLICY_OVERLOADED,
			     "too many connections wait for the resolver");
	else if (shared && shared->is_settled)
		loop_defer(resolver->loop, &query->task, query_deliver, query);
	else if (!shared)
		lookup_begin(query->lookup);
	return query;
}

void resolve_forget(struct resolver *resolver, const char *name)
{
	struct resolve_lookup *kept = kept_find(resolver, name);

	if (kept)
		forget(kept);
}

void resolve_forget_all(struct resolver *resolver)
{
	struct resolve_lookup *lookup, *next;

	for (lookup = LIST_FIRST(&resolver->kept); lookup; lookup = next) {
		next = LIST_NEXT(lookup, link);
		forget(lookup);
	}
	/* What is answered and not yet delivered goes to those who wait, and is not kept. */
	LIST_FOREACH (lookup, &resolver->lookups, link)
		lookup->until_ms = 0;
}

void resolve_withdraw(struct resolve_query *query)
{
	if (query)
		query_free(query);
}

static void drop_queries(struct resolve_lookup *lookup)
{
	struct resolve_query *query = TAILQ_FIRST(&lookup->queries), *after;

	/* Freeing the last one releases the lookup. */
	for (; query; query = after) {
		after = TAILQ_NEXT(query, link);
		query_free(query);
	}
}

void resolve_drop_all(struct resolver *resolver)
{
	struct resolve_lookup *lookup, *next;

	resolve_forget_all(resolver);
	for (lookup = LIST_FIRST(&resolver->kept); lookup; lookup = next) {
		next = LIST_NEXT(lookup, link);
		drop_queries(lookup);
	}
	for (lookup = LIST_FIRST(&resolver->lookups); lookup; lookup = next) {
		next = LIST_NEXT(lookup, link);
		drop_queries(lookup);
	}
}
