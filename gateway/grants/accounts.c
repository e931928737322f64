#include "gateway/grants/accounts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct account {
	struct key_node node;         /* by number */
	uint64_t taken[GATEWAY_WAYS]; /* spent by closed leases, and given to open ones */
	uint64_t begun;               /* requests */
	int64_t level, level_ms;      /* of the rate's bucket, and when it was computed */
	bool has_level;
	bool is_forgotten;          /* freed when its last lease is closed */
	size_t leases;              /* open on it */
	struct lease_queue asking;  /* served in this order */
	struct lease_queue holding; /* given more than they have reported as spent */
};

void accounts_init(struct accounts *accounts)
{
	keys_init(&accounts->table);
	TAILQ_INIT(&accounts->news);
}

void accounts_done(struct accounts *accounts)
{
	struct key_node *node;

	assert(TAILQ_EMPTY(&accounts->news));
	while ((node = keys_pop(&accounts->table)))
		free(container_of(node, struct account, node));
	keys_done(&accounts->table);
}

/* NULL: there are too many accounts. */
static struct account *account_at(struct accounts *accounts, uint64_t number)
{
	struct key_node *node = keys_find(&accounts->table, number, NULL);
	struct account *account;

	if (node)
		return container_of(node, struct account, node);
	if (accounts->table.count >= ACCOUNTS_MAX)
		return NULL;
	account = mem_new(sizeof(*account));
	TAILQ_INIT(&account->asking);
	TAILQ_INIT(&account->holding);
	keys_add(&accounts->table, &account->node, number, NULL);
	return account;
}

static void account_drop(struct accounts *accounts, struct account *account)
{
	if (!account->is_forgotten || account->leases > 0)
		return;
	keys_remove(&accounts->table, &account->node);
	free(account);
}

void accounts_forget(struct accounts *accounts, uint64_t number)
{
	struct key_node *node = number ? keys_find(&accounts->table, number, NULL) : NULL;
	struct account *account = node ? container_of(node, struct account, node) : NULL;

	if (!account)
		return;
	account->is_forgotten = true;
	account_drop(accounts, account);
}

static uint64_t account_left(const struct lease *lease, enum gateway_way way)
{
	uint64_t taken = lease->account->taken[way];

	return lease->limit[way] > taken ? lease->limit[way] - taken : 0;
}

/* True: nothing is left, and no lease can return anything. */
static bool account_is_spent(const struct lease *lease)
{
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (lease->limit[way] && !account_left(lease, way) &&
		    TAILQ_EMPTY(&lease->account->holding))
			return true;
	}
	return false;
}

/* A bucket that holds @rate_count requests and is refilled in @rate_s. Only whole numbers are used:
 * a request costs @rate_s * 1000 units, and each millisecond adds @rate_count units. */
static bool account_takes_turn(struct account *account, const struct policy_limits *limits,
			       int64_t now_ms)
{
	int64_t cost = (int64_t)limits->rate_s * 1000, full = cost * limits->rate_count;
	int64_t since_ms = now_ms - account->level_ms;

	if (!limits->rate_count)
		return true;
	if (!account->has_level || since_ms >= cost)
		account->level = full;
	else if (since_ms > 0)
		account->level += since_ms * limits->rate_count;
	if (account->level > full)
		account->level = full;
	account->has_level = true;
	account->level_ms = now_ms;
	if (account->level < cost)
		return false;
	account->level -= cost;
	return true;
}

enum policy_reason accounts_open(struct accounts *accounts, const struct policy_limits *limits,
				 int64_t now_ms, struct lease *lease)
{
	struct account *account = account_at(accounts, limits->account);

	*lease = (struct lease){ 0 };
	if (!account)
		return POLICY_OVERLOADED;
	lease->account = account;
	lease->limit[GATEWAY_UP] = limits->upload;
	lease->limit[GATEWAY_DOWN] = limits->download;

	enum policy_reason reason = POLICY_NONE;

	if (account_is_spent(lease))
		reason = POLICY_BUDGET_SPENT;
	else if (limits->connections && account->begun >= limits->connections)
		reason = POLICY_CONNECTIONS_SPENT;
	else if (!account_takes_turn(account, limits, now_ms))
		reason = POLICY_RATE_LIMITED;
	if (reason == POLICY_NONE)
		account->begun++;
	if (reason != POLICY_NONE || (!limits->upload && !limits->download))
		lease->account = NULL;
	else
		account->leases++;
	return reason;
}

bool accounts_are_spent(const struct accounts *accounts, const struct policy_limits *limits)
{
	struct key_node *node = keys_find(&accounts->table, limits->account, NULL);

	if (!node)
		return false;
	struct account *account = container_of(node, struct account, node);
	const struct lease lease = {
		.account = account,
		.limit = { [GATEWAY_UP] = limits->upload, [GATEWAY_DOWN] = limits->download }
	};

	return account_is_spent(&lease) ||
	       (limits->connections && account->begun >= limits->connections);
}

bool accounts_left(const struct accounts *accounts, struct policy_limits *limits)
{
	const struct key_node *node = keys_find(&accounts->table, limits->account, NULL);
	const struct account *account = node ? container_of(node, struct account, node) : NULL;
	const uint64_t taken[] = { account ? account->taken[GATEWAY_UP] : 0,
				   account ? account->taken[GATEWAY_DOWN] : 0,
				   account ? account->begun : 0 };
	uint64_t left[] = { limits->upload, limits->download, limits->connections };
	bool is_spent = false;

	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		is_spent = is_spent || (left[i] > 0 && taken[i] >= left[i]);
		left[i] -= taken[i] < left[i] ? taken[i] : left[i];
	}
	limits->upload = left[0];
	limits->download = left[1];
	limits->connections = (uint32_t)left[2];
	return is_spent;
}

static void lease_has_news(struct accounts *accounts, struct lease *lease)
{
	if (!lease->tells_given && !lease->tells_recall)
		TAILQ_INSERT_TAIL(&accounts->news, lease, news_entry);
}

static bool lease_holds(const struct lease *lease, enum gateway_way way)
{
	return lease->limit[way] && lease->given[way] > lease->spent[way];
}

static void lease_mark_holding(struct lease *lease)
{
	bool is_holding = lease_holds(lease, GATEWAY_UP) || lease_holds(lease, GATEWAY_DOWN);

	if (is_holding && !lease->is_holding)
		TAILQ_INSERT_TAIL(&lease->account->holding, lease, holding_entry);
	else if (!is_holding && lease->is_holding)
		TAILQ_REMOVE(&lease->account->holding, lease, holding_entry);
	lease->is_holding = is_holding;
}

static void lease_give(struct lease *lease, enum gateway_way way)
{
	uint64_t left = account_left(lease, way), share = left / 4;

	/* It may be asked again while it waits for the other direction, with enough left in this
	 * one. */
	if (!lease->limit[way] || lease->given[way] - lease->spent[way] >= ACCOUNTS_LEASE_AHEAD)
		return;
	if (share < ACCOUNTS_LEASE_MIN)
		share = ACCOUNTS_LEASE_MIN;
	if (share > ACCOUNTS_LEASE_MAX)
		share = ACCOUNTS_LEASE_MAX;
	if (share > left)
		share = left;
	lease->given[way] += share;
	lease->account->taken[way] += share;
}

/* Recalls what other leases hold of @way. True: there is something to wait for. */
static bool lease_recall_others(struct accounts *accounts, const struct lease *needy,
				enum gateway_way way)
{
	struct lease *lease;
	bool must_wait = false;

	TAILQ_FOREACH (lease, &needy->account->holding, holding_entry) {
		if (lease == needy || !lease_holds(lease, way))
			continue;
		must_wait = true;
		if (lease->is_recalled)
			continue;
		lease_has_news(accounts, lease);
		lease->tells_recall = true;
		lease->is_recalled = true;
	}
	return must_wait;
}

/* Gives what is left. False: it has to wait for what other leases return. */
static bool lease_serve(struct accounts *accounts, struct lease *lease)
{
	bool must_wait = false;

	for (int way = 0; way < GATEWAY_WAYS; way++) {
		lease_give(lease, way);
	}
	lease_mark_holding(lease);
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (!lease->needs[way] || !lease->limit[way] || lease_holds(lease, way))
			continue;
		if (lease_recall_others(accounts, lease, way))
			must_wait = true;
		else
			lease->is_over[way] = true;
	}
	return !must_wait;
}

static void account_settle(struct accounts *accounts, struct account *account)
{
	struct lease *lease = TAILQ_FIRST(&account->asking);

	while (lease) {
		struct lease *next = TAILQ_NEXT(lease, asking_entry);

		/* A lease that is being returned gets nothing: the two messages would cross, and
		 * the holder would count the new bytes as both kept and returned. */
		if (!lease->is_recalled && lease_serve(accounts, lease)) {
			TAILQ_REMOVE(&account->asking, lease, asking_entry);
			lease->is_asking = false;
			memset(lease->needs, 0, sizeof(lease->needs));
			lease_has_news(accounts, lease);
			lease->tells_given = true;
		}
		lease = next;
	}
}

static int lease_set_spent(struct lease *lease, const uint64_t spent[GATEWAY_WAYS])
{
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (lease->limit[way] &&
		    (spent[way] < lease->spent[way] || spent[way] > lease->given[way]))
			return -EBADMSG;
	}
	memcpy(lease->spent, spent, sizeof(lease->spent));
	return 0;
}

int accounts_ask(struct accounts *accounts, struct lease *lease, const uint64_t spent[GATEWAY_WAYS],
		 const bool needs[GATEWAY_WAYS])
{
	struct account *account = lease->account;

	if (!account || lease->is_asking || lease_set_spent(lease, spent) < 0)
		return -EBADMSG;
	memcpy(lease->needs, needs, sizeof(lease->needs));
	lease->is_asking = true;
	lease_mark_holding(lease);
	TAILQ_INSERT_TAIL(&account->asking, lease, asking_entry);
	account_settle(accounts, account);
	return 0;
}

/* Reduces what was given to what was spent. */
static void lease_take_back(struct lease *lease)
{
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (!lease_holds(lease, way))
			continue;
		lease->account->taken[way] -= lease->given[way] - lease->spent[way];
		lease->given[way] = lease->spent[way];
	}
	lease_mark_holding(lease);
}

int accounts_return(struct accounts *accounts, struct lease *lease,
		    const uint64_t spent[GATEWAY_WAYS])
{
	/* A return before the holder was told of the recall is invalid: the last grant is still on
	 * its way. */
	if (!lease->account || !lease->is_recalled || lease->tells_recall ||
	    lease_set_spent(lease, spent) < 0)
		return -EBADMSG;
	lease->is_recalled = false;
	lease_take_back(lease);
	account_settle(accounts, lease->account);
	return 0;
}

void accounts_close(struct accounts *accounts, struct lease *lease,
		    const uint64_t spent[GATEWAY_WAYS])
{
	struct account *account = lease->account;

	if (!account)
		return;
	/* A holder cannot have spent more than it was given; a larger number counts as all of
	 * it. */
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		uint64_t said = spent ? spent[way] : UINT64_MAX;

		if (said > lease->spent[way])
			lease->spent[way] = said < lease->given[way] ? said : lease->given[way];
	}
	lease_take_back(lease);
	if (lease->is_asking)
		TAILQ_REMOVE(&account->asking, lease, asking_entry);
	if (lease->tells_given || lease->tells_recall)
		TAILQ_REMOVE(&accounts->news, lease, news_entry);
	*lease = (struct lease){ 0 };
	account_settle(accounts, account);
	account->leases--;
	account_drop(accounts, account);
}

struct lease *accounts_next_news(struct accounts *accounts, bool *ret_is_recall)
{
	struct lease *lease = TAILQ_FIRST(&accounts->news);

	if (!lease)
		return NULL;
	*ret_is_recall = !lease->tells_given;
	if (lease->tells_given)
		lease->tells_given = false;
	else
		lease->tells_recall = false;
	if (!lease->tells_recall)
		TAILQ_REMOVE(&accounts->news, lease, news_entry);
	return lease;
}
