/* accounts: budgets that requests share, and leases on them. What is leased and what is spent
 * together never exceed the budget, so it holds to the byte, wherever the bytes are moved. No loop,
 * no frames. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/gateway.h"
#include "gateway/link/keys.h"

#define ACCOUNTS_MAX       16384       /* a request with one more budget is denied (overloaded) */
#define ACCOUNTS_LEASE_MIN (16U << 10) /* given at once, unless less is left */
#define ACCOUNTS_LEASE_MAX (4U << 20)
/* a holder with less left may ask for more before it needs it */
#define ACCOUNTS_LEASE_AHEAD (1U << 20)

struct account;

/* What one request may move of its account. Embedded in its owner; zeroed: no lease.
 *
 * Its holder asks for more before it has used everything. When nothing is left, the leases with
 * unspent bytes are recalled: their holders return what they have not spent. Only if that gives
 * nothing either is the budget spent. */
struct lease {
	struct account *account;      /* NULL: none */
	uint64_t limit[GATEWAY_WAYS]; /* of the account; 0: none */
	uint64_t given[GATEWAY_WAYS]; /* how much it may move in total */
	uint64_t spent[GATEWAY_WAYS]; /* how much it has moved, as last reported */
	bool needs[GATEWAY_WAYS];     /* it waits for more bytes */
	bool is_over[GATEWAY_WAYS];   /* there are no more bytes, and never will be */
	bool is_asking, is_recalled, is_holding;
	bool tells_given, tells_recall; /* the holder has to be told */
	TAILQ_ENTRY(lease) asking_entry, holding_entry, news_entry;
};
TAILQ_HEAD(lease_queue, lease);

struct accounts {
	struct key_table table;  /* by policy_limits.account */
	struct lease_queue news; /* whose holders have to be told */
};

void accounts_init(struct accounts *accounts);
/* All leases must be closed. */
void accounts_done(struct accounts *accounts);

/* May one more request with @limits begin now? If so, counts it, and opens @lease if bytes are
 * limited, with nothing given yet. POLICY_NONE, or the reason why not. */
enum policy_reason accounts_open(struct accounts *accounts, const struct policy_limits *limits,
				 int64_t now_ms, struct lease *lease);
/* No further request begins with this account: it is freed when its last lease is closed. */
void accounts_forget(struct accounts *accounts, uint64_t number);
/* Is nothing left of its bytes or requests, and can nothing be returned? */
bool accounts_are_spent(const struct accounts *accounts, const struct policy_limits *limits);
/* Reduces the budgets in @limits to what is not given out: leased bytes count as spent. True: a
 * budget is used up (and is 0, which otherwise means no limit). */
bool accounts_left(const struct accounts *accounts, struct policy_limits *limits);
/* Closes @lease and returns what was given and not spent. @spent NULL: not known, so all of it
 * counts as spent. A zeroed lease is fine. */
void accounts_close(struct accounts *accounts, struct lease *lease,
		    const uint64_t spent[GATEWAY_WAYS]);

/* The holder of @lease has moved @spent. accounts_ask() asks for more: because it waits (@needs),
 * or in advance. accounts_return() answers a recall: it will not move more than @spent. 0, or
 * -EBADMSG: the numbers are impossible, and nothing was done. */
int accounts_ask(struct accounts *accounts, struct lease *lease, const uint64_t spent[GATEWAY_WAYS],
		 const bool needs[GATEWAY_WAYS]);
int accounts_return(struct accounts *accounts, struct lease *lease,
		    const uint64_t spent[GATEWAY_WAYS]);

/* The next lease whose holder has to be told its @given and @is_over, or, with *@ret_is_recall,
 * that it must return the rest. NULL: none. */
struct lease *accounts_next_news(struct accounts *accounts, bool *ret_is_recall);
