#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/grants/accounts.h"

#define K(n) ((uint64_t)(n) << 10)

static const bool ahead[GATEWAY_WAYS] = { false, false };
static const bool needs_up[GATEWAY_WAYS] = { true, false };
static const bool needs_down[GATEWAY_WAYS] = { false, true };

static struct policy_limits of(uint64_t upload, uint64_t download)
{
	return (struct policy_limits){ .account = 1, .upload = upload, .download = download };
}

static void open_ok(struct accounts *accounts, const struct policy_limits *limits,
		    struct lease *lease)
{
	ck_assert_int_eq(accounts_open(accounts, limits, 1000, lease), POLICY_NONE);
}

static int ask(struct accounts *accounts, struct lease *lease, uint64_t up, uint64_t down,
	       const bool needs[GATEWAY_WAYS])
{
	const uint64_t spent[GATEWAY_WAYS] = { up, down };

	return accounts_ask(accounts, lease, spent, needs);
}

static int give_back(struct accounts *accounts, struct lease *lease, uint64_t up, uint64_t down)
{
	const uint64_t spent[GATEWAY_WAYS] = { up, down };

	return accounts_return(accounts, lease, spent);
}

static void close_with(struct accounts *accounts, struct lease *lease, uint64_t up, uint64_t down)
{
	const uint64_t spent[GATEWAY_WAYS] = { up, down };

	accounts_close(accounts, lease, spent);
}

static void expect_news(struct accounts *accounts, const struct lease *want, bool is_recall)
{
	bool got_recall = !is_recall;

	ck_assert_ptr_eq(accounts_next_news(accounts, &got_recall), want);
	if (want)
		ck_assert_int_eq(got_recall, is_recall);
}

/* One that spends all there is, in as many leases as it takes. */
START_TEST(one_gets_all_and_no_more)
{
	const struct policy_limits limits = of(K(64), 0);
	struct accounts accounts;
	struct lease lease;
	uint64_t spent = 0;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &lease);
	for (int i = 0; i < 16 && !lease.is_over[GATEWAY_UP]; i++) {
		ck_assert_int_eq(ask(&accounts, &lease, spent, K(999), needs_up), 0);
		expect_news(&accounts, &lease, false);
		spent = lease.given[GATEWAY_UP];
		ck_assert_uint_le(spent, K(64));
	}
	ck_assert(lease.is_over[GATEWAY_UP] && !lease.is_over[GATEWAY_DOWN]);
	ck_assert_uint_eq(spent, K(64));
	ck_assert_int_eq(accounts_open(&accounts, &limits, 1000, &(struct lease){ 0 }),
			 POLICY_BUDGET_SPENT);
	close_with(&accounts, &lease, spent, 0);
	ck_assert_int_eq(accounts_open(&accounts, &limits, 1000, &(struct lease){ 0 }),
			 POLICY_BUDGET_SPENT);
	expect_news(&accounts, NULL, false);
	accounts_done(&accounts);
}
END_TEST

/* What one holds and does not use is called back for the other, to the last byte. */
START_TEST(what_lies_idle_is_called_back)
{
	const struct policy_limits limits = of(100, 0);
	struct accounts accounts;
	struct lease idle, needy;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &idle);
	open_ok(&accounts, &limits, &needy);
	ck_assert_int_eq(ask(&accounts, &idle, 0, 0, ahead), 0);
	expect_news(&accounts, &idle, false);
	ck_assert_uint_eq(idle.given[GATEWAY_UP], 100);

	ck_assert_int_eq(ask(&accounts, &needy, 0, 0, ahead), 0); /* need not wait */
	expect_news(&accounts, &needy, false);
	ck_assert_uint_eq(needy.given[GATEWAY_UP], 0);
	ck_assert(!needy.is_over[GATEWAY_UP]);
	ck_assert_int_eq(ask(&accounts, &needy, 0, 0, needs_up), 0);
	expect_news(&accounts, &idle, true);
	expect_news(&accounts, NULL, false);
	ck_assert_int_eq(give_back(&accounts, &idle, 30, 0), 0);
	expect_news(&accounts, &needy, false);
	ck_assert_uint_eq(needy.given[GATEWAY_UP], 70);
	ck_assert_uint_eq(idle.given[GATEWAY_UP], 30);

	ck_assert_int_eq(ask(&accounts, &idle, 30, 0, needs_up), 0);
	expect_news(&accounts, &needy, true);
	ck_assert_int_eq(give_back(&accounts, &needy, 70, 0), 0);
	expect_news(&accounts, &idle, false);
	ck_assert(idle.is_over[GATEWAY_UP]);
	close_with(&accounts, &idle, 30, 0);
	close_with(&accounts, &needy, 70, 0);
	accounts_done(&accounts);
}
END_TEST

/* A request that waits for a recall is also served when the other one ends. */
START_TEST(an_end_gives_back)
{
	const struct policy_limits limits = of(0, 100);
	struct accounts accounts;
	struct lease idle, needy;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &idle);
	open_ok(&accounts, &limits, &needy);
	ck_assert_int_eq(ask(&accounts, &idle, 0, 0, ahead), 0);
	expect_news(&accounts, &idle, false);
	ck_assert_int_eq(ask(&accounts, &needy, 0, 0, needs_down), 0);
	expect_news(&accounts, &idle, true);
	close_with(&accounts, &idle, K(9), 99);
	expect_news(&accounts, &needy, false);
	ck_assert_uint_eq(needy.given[GATEWAY_DOWN], 1);
	accounts_close(&accounts, &needy, NULL); /* nobody knows: it is all gone */
	ck_assert_int_eq(accounts_open(&accounts, &limits, 1000, &needy), POLICY_BUDGET_SPENT);
	accounts_done(&accounts);
}
END_TEST

/* A lease and a recall on the way at once: the lease is told first, and nothing is given before
 * the answer. */
START_TEST(a_recall_does_not_cross_a_lease)
{
	const struct policy_limits limits = of(100, 0);
	struct accounts accounts;
	struct lease first, second;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &first);
	open_ok(&accounts, &limits, &second);
	ck_assert_int_eq(ask(&accounts, &first, 0, 0, needs_up), 0);
	ck_assert_int_eq(ask(&accounts, &second, 0, 0, needs_up), 0);
	ck_assert_int_eq(give_back(&accounts, &first, 0, 0), -EBADMSG); /* before it was told */
	expect_news(&accounts, &first, false);
	expect_news(&accounts, &first, true);
	ck_assert_int_eq(ask(&accounts, &first, 60, 0, needs_up), 0); /* it was on the way */
	expect_news(&accounts, NULL, false);
	ck_assert_int_eq(give_back(&accounts, &first, 60, 0), 0);
	expect_news(&accounts, &second, false);
	ck_assert_uint_eq(second.given[GATEWAY_UP], 40);
	expect_news(&accounts, &second, true); /* for the first, which asks */
	close_with(&accounts, &second, 40, 0);
	expect_news(&accounts, &first, false);
	ck_assert(first.is_over[GATEWAY_UP]);
	close_with(&accounts, &first, 60, 0);
	accounts_done(&accounts);
}
END_TEST

static const struct {
	const char *what;
	uint64_t spent;
	int want;
} said[] = {
	{ "all of it", 100, 0 },
	{ "what it has said before", 40, 0 },
	{ "less than before", 39, -EBADMSG },
	{ "more than it has", 101, -EBADMSG },
	{ "any number", UINT64_MAX, -EBADMSG },
};

START_TEST(what_cannot_be_is_not_believed)
{
	const struct policy_limits limits = of(100, 0);
	struct accounts accounts;
	struct lease lease;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &lease);
	ck_assert_int_eq(give_back(&accounts, &lease, 0, 0), -EBADMSG); /* nobody asked for it */
	ck_assert_int_eq(ask(&accounts, &lease, 0, 0, needs_up), 0);
	expect_news(&accounts, &lease, false);
	ck_assert_int_eq(ask(&accounts, &lease, 40, 0, ahead), 0);
	expect_news(&accounts, &lease, false);
	ck_assert_int_eq(ask(&accounts, &lease, said[_i].spent, 0, ahead), said[_i].want);
	close_with(&accounts, &lease, 0, 0); /* it has said 40 before */
	ck_assert_int_eq(accounts_open(&accounts, &limits, 1000, &lease),
			 said[_i].spent == 100 ? POLICY_BUDGET_SPENT : POLICY_NONE);
	if (lease.account) {
		ck_assert_int_eq(ask(&accounts, &lease, 0, 0, needs_up), 0);
		ck_assert_uint_eq(lease.given[GATEWAY_UP], 60);
	}
	accounts_close(&accounts, &lease, NULL);
	accounts_done(&accounts);
}
END_TEST

START_TEST(asking_twice_is_not_believed)
{
	const struct policy_limits limits = of(100, 0);
	struct accounts accounts;
	struct lease first, second;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &first);
	open_ok(&accounts, &limits, &second);
	ck_assert_int_eq(ask(&accounts, &first, 0, 0, needs_up), 0);
	ck_assert_int_eq(ask(&accounts, &second, 0, 0, needs_up), 0);
	ck_assert_int_eq(ask(&accounts, &second, 0, 0, needs_up), -EBADMSG);
	ck_assert_int_eq(ask(&accounts, &(struct lease){ 0 }, 0, 0, needs_up), -EBADMSG);
	accounts_close(&accounts, &second, NULL);
	accounts_close(&accounts, &first, NULL);
	accounts_done(&accounts);
}
END_TEST

START_TEST(connections_are_counted)
{
	const struct policy_limits limits = { .account = 1, .connections = 2 };
	const struct policy_limits other = { .account = 2, .connections = 2 };
	struct accounts accounts;
	struct lease lease;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &lease);
	ck_assert_ptr_null(lease.account); /* no bytes to lease */
	open_ok(&accounts, &limits, &lease);
	ck_assert_int_eq(accounts_open(&accounts, &limits, 9000, &lease), POLICY_CONNECTIONS_SPENT);
	ck_assert_int_eq(accounts_open(&accounts, &limits, 9000, &lease), POLICY_CONNECTIONS_SPENT);
	open_ok(&accounts, &other, &lease);
	accounts_done(&accounts);
}
END_TEST

/* Three in two seconds: a full bucket, then one every 667 ms. */
START_TEST(a_rate_is_kept)
{
	static const struct {
		int64_t at_ms;
		enum policy_reason want;
	} steps[] = {
		{ 1000, POLICY_NONE },         { 1000, POLICY_NONE },         { 1000, POLICY_NONE },
		{ 1000, POLICY_RATE_LIMITED }, { 1666, POLICY_RATE_LIMITED }, { 1667, POLICY_NONE },
		{ 1668, POLICY_RATE_LIMITED }, { 1600, POLICY_RATE_LIMITED }, /* a clock that goes
										 back gives nothing
									       */
		{ 9000, POLICY_NONE },         { 9000, POLICY_NONE },         { 9000, POLICY_NONE },
		{ 9000, POLICY_RATE_LIMITED },
	};
	const struct policy_limits limits = { .account = 1, .rate_count = 3, .rate_s = 2 };
	struct accounts accounts;
	struct lease lease;

	accounts_init(&accounts);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		ck_assert_msg(accounts_open(&accounts, &limits, steps[i].at_ms, &lease) ==
				      steps[i].want,
			      "step %zu", i);
	accounts_done(&accounts);
}
END_TEST

START_TEST(there_is_an_end_of_accounts)
{
	struct policy_limits limits = { .connections = 1 };
	struct accounts accounts;
	struct lease lease;
	unsigned int refused = 0;

	accounts_init(&accounts);
	for (uint64_t i = 1; i <= ACCOUNTS_MAX; i++) {
		limits.account = i;
		refused += accounts_open(&accounts, &limits, 1, &lease) != POLICY_NONE;
	}
	ck_assert_uint_eq(refused, 0);
	limits.account = ACCOUNTS_MAX + 1;
	ck_assert_int_eq(accounts_open(&accounts, &limits, 1, &lease), POLICY_OVERLOADED);
	accounts_done(&accounts);
}
END_TEST

#define HOLDERS 6
#define STEPS   4000

/* A holder as the worker is one: it may spend what it was told of, and the telling takes time. */
struct holder {
	struct lease lease;
	uint64_t may[GATEWAY_WAYS], spent[GATEWAY_WAYS];
	bool is_open, is_asking;
};

struct world {
	struct accounts accounts;
	struct policy_limits limits;
	struct holder holders[HOLDERS];
	uint64_t sum[GATEWAY_WAYS]; /* spent by all, ever */
	unsigned int refused, overs;
};

static void world_tell(struct world *world)
{
	bool is_recall = false;
	struct lease *lease = accounts_next_news(&world->accounts, &is_recall);

	if (!lease)
		return;
	struct holder *holder = container_of(lease, struct holder, lease);

	ck_assert(holder->is_open);
	if (is_recall) {
		memcpy(holder->may, holder->spent, sizeof(holder->may));
		ck_assert_int_eq(accounts_return(&world->accounts, lease, holder->spent), 0);
		return;
	}
	ck_assert(holder->is_asking);
	holder->is_asking = false;
	memcpy(holder->may, lease->given, sizeof(holder->may));
	world->overs += lease->is_over[GATEWAY_UP];
}

static void world_ask(struct world *world, struct holder *holder)
{
	bool needs[GATEWAY_WAYS];

	for (int way = 0; way < GATEWAY_WAYS; way++)
		needs[way] = holder->spent[way] == holder->may[way] && rand() % 2;
	ck_assert_int_eq(accounts_ask(&world->accounts, &holder->lease, holder->spent, needs), 0);
	holder->is_asking = true;
}

static void world_close(struct world *world, struct holder *holder)
{
	bool is_known = rand() % 8 != 0;

	/* Of what is not known it may have moved all. */
	for (int way = 0; !is_known && way < GATEWAY_WAYS; way++)
		world->sum[way] += holder->lease.given[way] - holder->spent[way];
	accounts_close(&world->accounts, &holder->lease, is_known ? holder->spent : NULL);
	*holder = (struct holder){ 0 };
}

static void world_step(struct world *world)
{
	struct holder *holder = &world->holders[rand() % HOLDERS];
	int way = rand() % GATEWAY_WAYS, what = rand() % 16;

	if (!holder->is_open) {
		holder->is_open = accounts_open(&world->accounts, &world->limits, 0,
						&holder->lease) == POLICY_NONE;
		world->refused += !holder->is_open;
	} else if (what < 6 && holder->may[way] > holder->spent[way]) {
		uint64_t room = holder->may[way] - holder->spent[way];
		uint64_t step = what < 2 ? room : 1 + (uint64_t)rand() % room;

		holder->spent[way] += step;
		world->sum[way] += step;
	} else if (what < 12 && !holder->is_asking) {
		world_ask(world, holder);
	} else if (what < 15) {
		world_tell(world);
	} else if (rand() % 8 == 0) {
		world_close(world, holder);
	}
	if (world->sum[GATEWAY_UP] > world->limits.upload ||
	    world->sum[GATEWAY_DOWN] > world->limits.download)
		ck_abort_msg("more was spent than there is");
}

/* Whatever is asked, spent, given back and lost, in whatever order: never more than the budget. And
 * what is said to be spent is. */
START_TEST(a_budget_is_never_exceeded)
{
	static const uint64_t budgets[] = { 1, 7, K(15), K(64), K(300), K(5000), K(1U << 20) };
	struct world world = { .limits = of(budgets[_i % 7], budgets[_i / 7 % 7]) };

	srand((unsigned int)_i + 1);
	accounts_init(&world.accounts);
	for (int i = 0; i < STEPS; i++)
		world_step(&world);
	for (int i = 0; i < HOLDERS; i++) {
		struct holder *holder = &world.holders[i];

		if (holder->lease.is_over[GATEWAY_UP])
			ck_assert_uint_eq(world.sum[GATEWAY_UP], world.limits.upload);
		if (holder->lease.is_over[GATEWAY_DOWN])
			ck_assert_uint_eq(world.sum[GATEWAY_DOWN], world.limits.download);
		if (holder->is_open)
			accounts_close(&world.accounts, &holder->lease, holder->spent);
	}
	/* The small ones are spent to the end by then; else this shows nothing. */
	if (world.limits.upload <= K(64) && world.limits.download <= K(64))
		ck_assert(world.refused > 0 || world.overs > 0);
	accounts_done(&world.accounts);
}
END_TEST

START_TEST(a_budget_that_is_forgotten_leaves_room)
{
	struct policy_limits limits = of(K(64), 0);
	struct accounts accounts;
	struct lease lease, held;

	accounts_init(&accounts);
	open_ok(&accounts, &limits, &held);
	accounts_forget(&accounts, limits.account);
	ck_assert_uint_eq(accounts.table.count, 1); /* it is in use */
	for (uint64_t i = 2; i < ACCOUNTS_MAX + 100; i++) {
		limits.account = i;
		open_ok(&accounts, &limits, &lease);
		accounts_close(&accounts, &lease, NULL);
		accounts_forget(&accounts, i);
	}
	ck_assert_uint_eq(accounts.table.count, 1);
	accounts_close(&accounts, &held, NULL);
	ck_assert_uint_eq(accounts.table.count, 0);
	accounts_forget(&accounts, 1); /* and again */
	accounts_done(&accounts);
}
END_TEST

Suite *suite_accounts(void)
{
	Suite *suite = suite_create("accounts");
	TCase *tcase = tcase_create("accounts");

	tcase_add_test(tcase, one_gets_all_and_no_more);
	tcase_add_test(tcase, a_budget_that_is_forgotten_leaves_room);
	tcase_add_test(tcase, what_lies_idle_is_called_back);
	tcase_add_test(tcase, an_end_gives_back);
	tcase_add_test(tcase, a_recall_does_not_cross_a_lease);
	tcase_add_loop_test(tcase, what_cannot_be_is_not_believed, 0, ARRAY_SIZE(said));
	tcase_add_test(tcase, asking_twice_is_not_believed);
	tcase_add_test(tcase, connections_are_counted);
	tcase_add_test(tcase, a_rate_is_kept);
	tcase_add_test(tcase, there_is_an_end_of_accounts);
	tcase_add_loop_test(tcase, a_budget_is_never_exceeded, 0, 49);
	suite_add_tcase(suite, tcase);
	return suite;
}
