#include "tests/unit/proxy/dial_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/upstream/cares.h"
#include "proxy/upstream/nameservers.h"

/* one more than are kept */
static const char many[] =
	"2.0.0.1 2.0.0.2 2.0.0.3 2.0.0.4 2.0.0.5 2.0.0.6 2.0.0.7 2.0.0.8 2.0.0.9 "
	"2.0.0.10 2.0.0.11 2.0.0.12 2.0.0.13 2.0.0.14 2.0.0.15 2.0.0.16 2.0.0.17";

static const struct dns_name zone[] = {
	{ .name = "both.test", .v4 = "203.0.114.1", .v6 = "2a00::1" },
	{ .name = "four.test", .v4 = "203.0.114.1 203.0.114.2" },
	{ .name = "six.test", .v6 = "2a00::1" },
	{ .name = "alias.test", .alias = "target.test", .v4 = "203.0.114.9" },
	{ .name = "empty.test" },
	{ .name = "gone.test", .code = 3 },
	{ .name = "broken.test", .code = 2 },
	{ .name = "refused.test", .code = 5 },
	{ .name = "half.test", .v4 = "203.0.114.1", .v6_code = 2 },
	{ .name = "half-gone.test", .v4 = "203.0.114.1", .v6_code = 3 },
	{ .name = "half-broken.test", .v6_code = 2 },
	{ .name = "silent.test", .is_silent = true },
	{ .name = "slow-six.test", .v4 = "203.0.114.1", .v6 = "2a00::1", .is_v6_silent = true },
	{ .name = "large.test", .v4 = "203.0.114.1", .is_truncated = true },
	{ .name = "many.test", .v4 = many },
	{ .name = "rebind.test", .v4 = "203.0.114.1", .v4_then = "127.0.0.1" },
	{ .name = "kept.test", .v4 = "203.0.114.1", .v4_then = "203.0.114.2", .ttl_s = 30 },
	{ .name = "long.test", .v4 = "203.0.114.1", .v4_then = "203.0.114.2", .ttl_s = 3600 },
	{ .name = "half-kept.test", .v4 = "203.0.114.1", .v6_code = 2, .ttl_s = 30 },
	{ .name = "short-alias.test",
	  .alias = "target.test",
	  .v4 = "203.0.114.1",
	  .ttl_s = 30,
	  .alias_ttl_s = 5 },
	{ .name = "mapped.test", .v4 = "203.0.114.1" },
	{ .name = "localhost", .v4 = "203.0.114.1" },
};

struct outcome {
	int runs;
	struct resolve_answer answer;
	struct resolve_query *victim; /* withdrawn by the callback */
	struct resolver **free_me;    /* freed by the callback */
};

static void on_answer(const struct resolve_answer *answer, void *arg)
{
	struct outcome *outcome = arg;

	outcome->runs++;
	outcome->answer = *answer;
	resolve_withdraw(take(outcome->victim));
	if (outcome->free_me)
		resolver_free(take(*outcome->free_me));
}

static void ask(struct dial_test *test, const char *name, struct outcome *outcome)
{
	*outcome = (struct outcome){ 0 };
	ck_assert_ptr_nonnull(resolve_start(test->resolver, name, on_answer, outcome));
	ck_assert_int_eq(outcome->runs, 0); /* never from inside */
	dial_test_until(test->loop, &outcome->runs, 1);
}

static void begin(struct dial_test *test)
{
	dial_test_init(test, zone, ARRAY_SIZE(zone), NULL, 0);
}

static const struct {
	const char *name;
	enum policy_reason reason;
	size_t count;
	const char *cause; /* a part of it */
} answers[] = {
	{ "both.test", POLICY_DONE, 2, "" },
	{ "four.test", POLICY_DONE, 2, "" },
	{ "six.test", POLICY_DONE, 1, "" },
	{ "alias.test", POLICY_DONE, 1, "" },
	{ "many.test", POLICY_DONE, RESOLVE_ADDRS_MAX, "" },
	{ "large.test", POLICY_DONE, 1, "" },
	{ "half.test", POLICY_DONE, 1, "" },
	{ "half-gone.test", POLICY_DONE, 1, "" },
	{ "empty.test", POLICY_DNS_FAILED, 0, "no address" },
	{ "gone.test", POLICY_DNS_FAILED, 0, "does not exist" },
	{ "unheard-of.test", POLICY_DNS_FAILED, 0, "does not exist" },
	{ "broken.test", POLICY_DNS_FAILED, 0, "SERVFAIL" },
	{ "half-broken.test", POLICY_DNS_FAILED, 0, "SERVFAIL" },
	{ "refused.test", POLICY_DNS_FAILED, 0, "REFUSED" },
	{ "localhost", POLICY_DONE, 2, "" },
};

START_TEST(answers_by_name)
{
	struct dial_test test;
	struct outcome outcome;

	begin(&test);
	ask(&test, answers[_i].name, &outcome);
	ck_assert_int_eq(outcome.answer.reason, answers[_i].reason);
	ck_assert_uint_eq(outcome.answer.count, answers[_i].count);
	ck_assert_msg(strstr(outcome.answer.cause, answers[_i].cause) != NULL, "%s",
		      outcome.answer.cause);
	ck_assert(!outcome.answer.is_mapped);
	dial_test_done(&test);
}
END_TEST

START_TEST(truncated_is_asked_by_tcp)
{
	struct dial_test test;
	struct outcome outcome;

	begin(&test);
	ask(&test, "large.test", &outcome);
	ck_assert_uint_eq(dns_stub_asked_by_tcp(test.dns), 2);
	dial_test_done(&test);
}
END_TEST

START_TEST(nobody_answers)
{
	struct dial_test test;
	struct outcome outcome = { 0 };

	begin(&test);
	resolve_start(test.resolver, "silent.test", on_answer, &outcome);
	dial_test_settle(test.loop);
	loop_advance(test.loop, 4999);
	ck_assert_int_eq(outcome.runs, 0);
	loop_advance(test.loop, 1);
	ck_assert_int_eq(outcome.runs, 1);
	ck_assert_int_eq(outcome.answer.reason, POLICY_DNS_TIMEOUT);
	dial_test_done(&test);
}
END_TEST

START_TEST(one_family_does_not_wait_for_the_other)
{
	struct dial_test test;
	struct outcome outcome = { 0 };

	begin(&test);
	resolve_start(test.resolver, "slow-six.test", on_answer, &outcome);
	dial_test_settle(test.loop);
	ck_assert_int_eq(outcome.runs, 0);
	loop_advance(test.loop, 49);
	ck_assert_int_eq(outcome.runs, 0);
	loop_advance(test.loop, 1);
	ck_assert_int_eq(outcome.runs, 1);
	ck_assert_int_eq(outcome.answer.reason, POLICY_DONE);
	ck_assert_uint_eq(outcome.answer.count, 1);
	dial_test_done(&test);
}
END_TEST

START_TEST(those_waiting_share_one_question)
{
	struct dial_test test;
	struct outcome outcomes[8] = { 0 };

	begin(&test);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		resolve_start(test.resolver, "both.test", on_answer, &outcomes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		dial_test_until(test.loop, &outcomes[i].runs, 1);
	ck_assert_uint_eq(dns_stub_asked(test.dns, "both.test"), 2); /* A and AAAA */
	dial_test_done(&test);
}
END_TEST

/* One without a time to live is not kept: a second dial sees the second answer, and checks it. */
START_TEST(answers_are_not_kept)
{
	struct addr first = dial_test_addr("203.0.114.1"), second = dial_test_addr("127.0.0.1");
	struct dial_test test;
	struct outcome outcome;

	begin(&test);
	ask(&test, "rebind.test", &outcome);
	ck_assert(addr_equal(&outcome.answer.addrs[0], &first));
	ask(&test, "rebind.test", &outcome);
	ck_assert(addr_equal(&outcome.answer.addrs[0], &second));
	dial_test_done(&test);
}
END_TEST

static const struct {
	const char *name;
	int64_t kept_ms;
} kept[] = {
	{ "kept.test", 30000 },       { "long.test", 60000 }, { "half-kept.test", 0 },
	{ "short-alias.test", 5000 }, { "rebind.test", 0 },   { "gone.test", 0 },
};

/* For as long as every record of it says, a minute at most. */
START_TEST(answers_are_kept_for_a_time)
{
	struct dial_test test;
	struct outcome outcome, again;

	begin(&test);
	ask(&test, kept[_i].name, &outcome);
	unsigned int asked = dns_stub_asked(test.dns, kept[_i].name);

	if (kept[_i].kept_ms > 0) {
		loop_advance(test.loop, kept[_i].kept_ms - 1);
		ask(&test, kept[_i].name, &again);
		ck_assert_uint_eq(dns_stub_asked(test.dns, kept[_i].name), asked);
		ck_assert_mem_eq(&again.answer, &outcome.answer, sizeof(again.answer));
		loop_advance(test.loop, 1);
	}
	ask(&test, kept[_i].name, &again);
	ck_assert_uint_gt(dns_stub_asked(test.dns, kept[_i].name), asked);
	dial_test_done(&test);
}
END_TEST

START_TEST(what_is_kept_can_be_forgotten)
{
	struct dial_test test;
	struct outcome outcome;

	begin(&test);
	ask(&test, "kept.test", &outcome);
	ask(&test, "long.test", &outcome);
	resolve_forget(test.resolver, "kept.test");
	ask(&test, "long.test", &outcome);
	ck_assert_uint_eq(dns_stub_asked(test.dns, NULL), 4);
	ask(&test, "kept.test", &outcome);
	ck_assert_uint_eq(dns_stub_asked(test.dns, NULL), 6);
	/* While it is delivered, too. */
	outcome = (struct outcome){ 0 };
	ck_assert_ptr_nonnull(resolve_start(test.resolver, "kept.test", on_answer, &outcome));
	resolve_forget(test.resolver, "kept.test");
	dial_test_until(test.loop, &outcome.runs, 1);
	ck_assert_int_eq(outcome.answer.reason, POLICY_DONE);
	ask(&test, "kept.test", &outcome);
	ck_assert_uint_eq(dns_stub_asked(test.dns, NULL), 8);
	dial_test_done(&test);
}
END_TEST

START_TEST(mapped_names_come_first)
{
	struct proxy_mapping mappings[] = { { .name = "mapped.test" }, { .name = "mapped.test" } };
	struct dial_test test;
	struct outcome outcome;

	mappings[0].addr = dial_test_addr("10.0.0.1");
	mappings[1].addr = dial_test_addr("fd00::1");
	dial_test_init(&test, zone, ARRAY_SIZE(zone), mappings, 2);
	ask(&test, "mapped.test", &outcome);
	ck_assert(outcome.answer.is_mapped);
	ck_assert_uint_eq(outcome.answer.count, 2);
	ask(&test, "localhost", &outcome);
	ck_assert(!outcome.answer.is_mapped);
	ck_assert_uint_eq(dns_stub_asked(test.dns, NULL), 0);
	dial_test_done(&test);
}
END_TEST

/* N15: what the environment says about names has no part in it. */
START_TEST(names_are_absolute)
{
	struct dial_test test;
	struct outcome outcome;
	char path[] = "/tmp/aliases-XXXXXX";
	auto_close int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dprintf(fd, "short both.test\n"), 16);
	setenv("LOCALDOMAIN", "test example.org", 1);
	setenv("RES_OPTIONS", "ndots:5", 1);
	setenv("HOSTALIASES", path, 1);
	begin(&test);
	ask(&test, "both", &outcome);
	ck_assert_int_eq(outcome.answer.reason, POLICY_DNS_FAILED);
	ask(&test, "short", &outcome);
	ck_assert_int_eq(outcome.answer.reason, POLICY_DNS_FAILED);
	ck_assert_uint_eq(dns_stub_asked(test.dns, NULL), 4);
	ck_assert_uint_eq(dns_stub_asked(test.dns, "both.test"), 0);
	dial_test_done(&test);
	unlink(path);
}
END_TEST

START_TEST(withdrawing_is_safe)
{
	struct dial_test test;
	struct outcome first = { 0 }, second = { 0 };

	begin(&test);
	/* the only one of its lookup; one that only waits to be told; one of two */
	resolve_withdraw(resolve_start(test.resolver, "both.test", on_answer, &first));
	resolve_withdraw(resolve_start(test.resolver, "localhost", on_answer, &first));
	struct resolve_query *other = resolve_start(test.resolver, "four.test", on_answer, &second);
	resolve_start(test.resolver, "four.test", on_answer, &first);
	resolve_withdraw(other);
	dial_test_until(test.loop, &first.runs, 1);
	dial_test_settle(test.loop);
	ck_assert_int_eq(second.runs, 0);
	resolve_withdraw(NULL);
	dial_test_done(&test);
}
END_TEST

START_TEST(a_callback_withdraws_another)
{
	struct dial_test test;
	struct outcome first = { 0 }, second = { 0 };

	begin(&test);
	resolve_start(test.resolver, "four.test", on_answer, &first);
	first.victim = resolve_start(test.resolver, "four.test", on_answer, &second);
	dial_test_until(test.loop, &first.runs, 1);
	dial_test_settle(test.loop);
	ck_assert_int_eq(second.runs, 0);
	dial_test_done(&test);
}
END_TEST

START_TEST(a_callback_frees_the_resolver)
{
	struct dial_test test;
	struct outcome first = { 0 }, second = { 0 };

	begin(&test);
	first.free_me = &test.resolver;
	resolve_start(test.resolver, "four.test", on_answer, &first);
	resolve_start(test.resolver, "four.test", on_answer, &second);
	resolve_start(test.resolver, "silent.test", on_answer, &second);
	dial_test_until(test.loop, &first.runs, 1);
	dial_test_settle(test.loop);
	ck_assert_int_eq(second.runs, 0);
	dial_test_done(&test);
}
END_TEST

START_TEST(queries_are_bounded)
{
	struct dial_test test;
	struct outcome outcome = { 0 }, last = { 0 };

	begin(&test);
	for (int i = 0; i < 4096; i++)
		resolve_start(test.resolver, "silent.test", on_answer, &outcome);
	resolve_start(test.resolver, "both.test", on_answer, &last);
	dial_test_until(test.loop, &last.runs, 1);
	ck_assert_int_eq(last.answer.reason, POLICY_OVERLOADED);
	loop_advance(test.loop, 5000);
	ck_assert_int_eq(outcome.runs, 4096);
	ask(&test, "both.test", &last);
	ck_assert_int_eq(last.answer.reason, POLICY_DONE);
	dial_test_done(&test);
}
END_TEST

/* Withdrawn lookups count until DNS lets go of them: otherwise asking and leaving would flood the
 * resolver. */
START_TEST(lookups_are_bounded)
{
	struct dial_test test;
	struct outcome outcome = { 0 };
	char name[32];

	begin(&test);
	for (int i = 0; i < 1024; i++) {
		(void)snprintf(name, sizeof(name), "n%d.test", i);
		resolve_withdraw(resolve_start(test.resolver, name, on_answer, &outcome));
	}
	resolve_start(test.resolver, "one-more.test", on_answer, &outcome);
	dial_test_until(test.loop, &outcome.runs, 1);
	ck_assert_int_eq(outcome.answer.reason, POLICY_OVERLOADED);
	dial_test_done(&test);
}
END_TEST

static void on_cares(const struct cares_answer *answer, void *arg)
{
	*(enum cares_status *)arg = answer->status;
}

/* Of several servers the next is asked when one is not there (0), fails (1), or refuses (2). */
START_TEST(the_next_server_is_asked)
{
	static const struct dns_name bad[] = { { .name = "four.test", .code = 2 },
					       { .name = "four.test", .code = 5 } };
	struct loop *loop = loop_new_fake();
	struct dns_stub *first = dns_stub_new(loop, _i > 0 ? &bad[_i - 1] : NULL, _i > 0);
	struct dns_stub *second = dns_stub_new(loop, zone, ARRAY_SIZE(zone));
	enum cares_status status = CARES_LATE;
	char servers[NAMESERVERS_TEXT_MAX];

	(void)snprintf(servers, sizeof(servers), "127.0.0.1:%u,127.0.0.1:%u", dns_stub_port(first),
		       dns_stub_port(second));
	if (_i == 0)
		dns_stub_free(take(first));
	struct cares *cares = cares_new(loop, servers, true, NULL);

	cares_ask(cares, "four.test", AF_INET, on_cares, &status);
	dial_test_settle(loop);
	ck_assert_int_eq(status, CARES_FOUND);
	cares_free(cares);
	if (first)
		dns_stub_free(first);
	dns_stub_free(second);
	loop_free(loop);
}
END_TEST

/* What is open when the servers change is asked again, of the new ones; and one that fails is not
 * the last, though there was one server only at the start. */
START_TEST(changed_servers_are_asked)
{
	static const struct dns_name silent[] = { { .name = "four.test", .is_silent = true },
						  { .name = "six.test", .is_silent = true } };
	static const struct dns_name bad[] = { { .name = "four.test", .code = 2 },
					       { .name = "six.test", .code = 2 } };
	struct loop *loop = loop_new_fake();
	struct dns_stub *stubs[] = { dns_stub_new(loop, silent, ARRAY_SIZE(silent)),
				     dns_stub_new(loop, bad, ARRAY_SIZE(bad)),
				     dns_stub_new(loop, zone, ARRAY_SIZE(zone)) };
	enum cares_status four = CARES_LATE, six = CARES_LATE;
	char servers[NAMESERVERS_TEXT_MAX];

	(void)snprintf(servers, sizeof(servers), "127.0.0.1:%u", dns_stub_port(stubs[0]));
	struct cares *cares = cares_new(loop, servers, false, NULL);

	cares_ask(cares, "four.test", AF_INET, on_cares, &four);
	cares_ask(cares, "six.test", AF_INET6, on_cares, &six);
	dial_test_settle(loop);
	ck_assert_int_eq(four, CARES_LATE);
	cares_set_servers(cares, servers); /* the same: nothing happens */
	dial_test_settle(loop);
	ck_assert_uint_eq(dns_stub_asked(stubs[0], NULL), 2);
	(void)snprintf(servers, sizeof(servers), "127.0.0.1:%u,127.0.0.1:%u",
		       dns_stub_port(stubs[1]), dns_stub_port(stubs[2]));
	cares_set_servers(cares, servers);
	dial_test_settle(loop);
	ck_assert_int_eq(four, CARES_FOUND);
	ck_assert_int_eq(six, CARES_FOUND);
	ck_assert_uint_eq(dns_stub_asked(stubs[0], NULL), 2);
	cares_free(cares);
	for (size_t i = 0; i < ARRAY_SIZE(stubs); i++)
		dns_stub_free(stubs[i]);
	loop_free(loop);
}
END_TEST

/* The host's own files: whatever they say, a resolver comes of them, quickly. */
START_TEST(starts_quickly)
{
	struct loop *loop = loop_new_fake();
	struct proxy_config config = { 0 };
	int64_t best_ns = INT64_MAX;

	for (int i = 0; i < 20; i++) {
		struct timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		struct resolver *resolver = resolver_new(loop, &config, NULL);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ck_assert_ptr_nonnull(resolver);
		resolver_free(resolver);
		int64_t ns =
			(to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	ck_assert_int_lt(best_ns, 1000000);
	loop_free(loop);
}
END_TEST

TCase *test_resolve(void)
{
	TCase *tcase = tcase_create("resolve");

	tcase_add_loop_test(tcase, answers_by_name, 0, ARRAY_SIZE(answers));
	tcase_add_test(tcase, truncated_is_asked_by_tcp);
	tcase_add_test(tcase, nobody_answers);
	tcase_add_test(tcase, one_family_does_not_wait_for_the_other);
	tcase_add_test(tcase, those_waiting_share_one_question);
	tcase_add_test(tcase, answers_are_not_kept);
	tcase_add_loop_test(tcase, answers_are_kept_for_a_time, 0, ARRAY_SIZE(kept));
	tcase_add_test(tcase, what_is_kept_can_be_forgotten);
	tcase_add_test(tcase, mapped_names_come_first);
	tcase_add_test(tcase, names_are_absolute);
	tcase_add_test(tcase, withdrawing_is_safe);
	tcase_add_test(tcase, a_callback_withdraws_another);
	tcase_add_test(tcase, a_callback_frees_the_resolver);
	tcase_add_test(tcase, queries_are_bounded);
	tcase_add_test(tcase, lookups_are_bounded);
	tcase_add_loop_test(tcase, the_next_server_is_asked, 0, 3);
	tcase_add_test(tcase, changed_servers_are_asked);
	tcase_add_test(tcase, starts_quickly);
	return tcase;
}
