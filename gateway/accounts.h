/* accounts: budgets that requests share, and leases on them. What is out on leases and what is
 * spent never sum up to more than the budget, so it holds to the byte whoever moves the bytes.
 * Pure: no loop, no frames. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/gateway.h"
#include "gateway/keys.h"

#define ACCOUNTS_MAX         16384       /* one more budget denies (overloaded) */
#define ACCOUNTS_LEASE_MIN   (16U << 10) /* given at once, unless less is left */
#define ACCOUNTS_LEASE_MAX   (4U << 20)
#define ACCOUNTS_LEASE_AHEAD (1U << 20) /* whoever has less left may ask before it needs it */

struct account;

/* What one request may move of its account. Embedded in its owner; zeroed is none.
 *
 * Its holder asks before it runs dry. When nothing is left, the leases that still hold something
 * are called back: their holders give back what they have not spent. Only when that was all is the
 * budget spent. */
struct lease {
	struct account *account;      /* NULL: none */
	uint64_t limit[GATEWAY_WAYS]; /* of the account; 0: none */
	uint64_t given[GATEWAY_WAYS]; /* it may move so much, in all */
	uint64_t spent[GATEWAY_WAYS]; /* and has, as it said last */
	bool needs[GATEWAY_WAYS];     /* it waits for a byte more */
	bool is_over[GATEWAY_WAYS];   /* there is none, and never will be */
	bool is_asking, is_recalled, is_holding;
	bool tells_given, tells_recall; /* its holder is to be told */
	TAILQ_ENTRY(lease) asking_entry, holding_entry, news_entry;
};
TAILQ_HEAD(lease_queue, lease);

struct accounts {
	struct key_table table;  /* by policy_limits.account */
	struct lease_queue news; /* whose holders are to be told */
};

void accounts_init(struct accounts *accounts);
/* Every lease is closed. */
void accounts_done(struct accounts *accounts);

/* May one more request with @limits begin now? Counts it, and opens @lease where bytes are
 * limited: nothing is given yet. POLICY_NONE, or the reason why not. */
enum policy_reason accounts_open(struct accounts *accounts, const struct policy_limits *limits,
				 int64_t now_ms, struct lease *lease);
/* No request begins with this account any more: it is freed when the last lease on it is closed. */
void accounts_forget(struct accounts *accounts, uint64_t number);
/* Is nothing left of its bytes or requests, for good? */
bool accounts_are_spent(const struct accounts *accounts, const struct policy_limits *limits);
/* Of the budgets in @limits, what nobody has yet: what is on a lease counts as spent. True: of one
 * nothing is left (and it is 0, which is no limit). */
bool accounts_left(const struct accounts *accounts, struct policy_limits *limits);
/* What was given and not spent goes back. @spent: NULL: not known, so all of it. No lease is fine.
 */
void accounts_close(struct accounts *accounts, struct lease *lease,
		    const uint64_t spent[GATEWAY_WAYS]);

/* The holder of @lease has moved @spent. It asks for more: now (@needs), or before it runs dry. Or
 * it answers a recall: it will not move a byte more than @spent. 0, or -EBADMSG: that cannot be,
 * and nothing was done. */
int accounts_ask(struct accounts *accounts, struct lease *lease, const uint64_t spent[GATEWAY_WAYS],
		 const bool needs[GATEWAY_WAYS]);
int accounts_return(struct accounts *accounts, struct lease *lease,
		    const uint64_t spent[GATEWAY_WAYS]);

/* The next lease whose holder is to be told what it has (@given and @is_over of it), or, with
 * *@ret_is_recall, that it is to give back. NULL: nobody. */
struct lease *accounts_next_news(struct accounts *accounts, bool *ret_is_recall);
