#include "tests/unit/proxy/dial_test.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/upstream/dial.h"

/* 203.0.114.0/24 is ordinary public space, and never connected to: every row with it is refused
 * before. */
static const struct dns_name zone[] = {
	{ .name = "one.test", .v4 = "127.0.0.1" },
	{ .name = "two.test", .v4 = "127.0.0.2 127.0.0.3" },
	{ .name = "public.test", .v4 = "203.0.114.1" },
	{ .name = "mixed.test", .v4 = "203.0.114.1 10.0.0.1" },
	{ .name = "mixed-six.test", .v4 = "203.0.114.1", .v6 = "fd00::1" },
	{ .name = "alias.test", .alias = "inside.test", .v4 = "192.168.0.1" },
	{ .name = "metadata.test", .v4 = "169.254.169.254" },
	{ .name = "mapped-four.test", .v6 = "::ffff:127.0.0.1" },
	{ .name = "zero.test", .v4 = "0.0.0.0" },
	{ .name = "denied.test", .v4 = "203.0.113.7 203.0.115.1" },
	{ .name = "silent.test", .is_silent = true },
	{ .name = "gone.test", .code = 3 },
	{ .name = "cloak.test", .alias = "Hidden.test", .v4 = "127.0.0.1" },
	{ .name = "below.test", .alias = "a.b.hidden.test", .v4 = "127.0.0.1" },
	{ .name = "other.test", .alias = "b.test", .v4 = "127.0.0.1" },
};

struct fixture {
	struct dial_test base;
	struct policy *policy;
	struct dialer *dialer;
	int runs;
	struct dial_result result;
};

static void on_done(struct dial_result *result, void *arg)
{
	struct fixture *fixture = arg;

	fixture->runs++;
	fixture->result = *result;
}

static void begin_mapped(struct fixture *fixture, const struct proxy_mapping *mappings,
			 size_t count)
{
	*fixture = (struct fixture){ .result.fd = -1 };
	dial_test_init(&fixture->base, zone, ARRAY_SIZE(zone), mappings, count);
	fixture->policy = policy_new();
	policy_load_text(
		fixture->policy, "<test>",
		"version 1\ndeny 203.0.115.0/24:*\ndeny tcp://**.hidden.test:*\nallow **.test\n");
	ck_assert_msg(policy_finish(fixture->policy) == 0, "%s", policy_errors(fixture->policy));
	fixture->dialer = dialer_new(fixture->base.loop, fixture->base.resolver, fixture->policy);
}

static void begin(struct fixture *fixture)
{
	begin_mapped(fixture, NULL, 0);
}

static void done(struct fixture *fixture)
{
	fd_close(fixture->result.fd);
	dialer_free(fixture->dialer);
	policy_free(fixture->policy);
	dial_test_done(&fixture->base);
}

static struct dial *start(struct fixture *fixture, const char *host, uint16_t port,
			  bool may_private)
{
	struct policy_verdict verdict = { .action = POLICY_ALLOW,
					  .reason = POLICY_RULE_ALLOW,
					  .promise = POLICY_TCP,
					  .may_private = may_private };
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, host, strlen(host), port, NULL), 0);
	struct dial *dial = dial_start(fixture->dialer, 0, &dst, &verdict, true, on_done, fixture);

	ck_assert_int_eq(fixture->runs, 0); /* never from inside */
	return dial;
}

/* A listener whose queue is full drops what comes next, so a connect to it hangs, as to a host that
 * is not there. */
struct hole {
	int listener, fillers[8];
	size_t count;
};

static void hole_open(struct hole *hole, const char *address, uint16_t *port)
{
	struct addr addr = dial_test_addr(address);
	struct sockaddr_storage sockaddr;
	struct pollfd filler = { .events = POLLOUT };

	hole->listener = dial_test_listen(address, port, 0);
	socklen_t len = addr_to_sockaddr(&addr, *port, &sockaddr);
	for (hole->count = 0; hole->count < ARRAY_SIZE(hole->fillers);) {
		filler.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(filler.fd, (struct sockaddr *)&sockaddr, len); /* under way */
		hole->fillers[hole->count++] = filler.fd;
		if (poll(&filler, 1, 20) == 0)
			return;
	}
	ck_abort_msg("the listener never fills");
}

static void hole_close(struct hole *hole)
{
	for (size_t i = 0; i < hole->count; i++)
		fd_close(hole->fillers[i]);
	fd_close(hole->listener);
}

static void assert_dialled(const struct fixture *fixture, const char *address, int listener)
{
	struct addr want = dial_test_addr(address);
	int one = 0, server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	socklen_t len = sizeof(one);
	char byte = 0;

	ck_assert_int_eq(fixture->result.verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(fixture->result.verdict.reason, POLICY_RULE_ALLOW);
	ck_assert(addr_equal(&fixture->result.addr, &want));
	ck_assert_int_ge(fixture->result.fd, 0);
	ck_assert_int_eq(fcntl(fixture->result.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fixture->result.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	getsockopt(fixture->result.fd, IPPROTO_TCP, TCP_NODELAY, &one, &len);
	ck_assert_int_eq(one, 1);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(send(fixture->result.fd, "x", 1, 0), 1);
	ck_assert_int_eq(recv(server, &byte, 1, 0), 1);
	fd_close(server);
}

/* Which steps have a time. */
static void assert_steps(const struct fixture *fixture, bool has_dns, bool has_dial)
{
	ck_assert_int_eq(fixture->result.dns_ms > 0, has_dns);
	ck_assert_int_eq(fixture->result.dial_ms > 0, has_dial);
}

static void assert_denied(struct fixture *fixture, enum policy_reason reason)
{
	dial_test_until(fixture->base.loop, &fixture->runs, 1);
	ck_assert_int_eq(fixture->result.fd, -1);
	ck_assert_int_eq(fixture->result.verdict.action, POLICY_DENY);
	ck_assert_msg(fixture->result.verdict.reason == reason, "%s: %s",
		      policy_reason_code(fixture->result.verdict.reason), fixture->result.cause);
}

START_TEST(a_host_is_dialled)
{
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin(&fixture);
	start(&fixture, _i ? "one.test" : "127.0.0.1", port, true);
	dial_test_until(fixture.base.loop, &fixture.runs, 1);
	assert_dialled(&fixture, "127.0.0.1", listener);
	ck_assert_uint_eq(dns_stub_asked(fixture.base.dns, NULL), _i ? 2 : 0);
	assert_steps(&fixture, _i, true);
	fd_close(listener);
	done(&fixture);
}
END_TEST

static const struct {
	const char *host;
	bool may_private;
	enum policy_reason reason;
	const char *address; /* the one that is named */
} refused[] = {
	{ "one.test", false, POLICY_PRIVATE_ADDRESS, "127.0.0.1" },
	{ "mixed.test", false, POLICY_PRIVATE_ADDRESS, "10.0.0.1" },
	{ "mixed-six.test", false, POLICY_PRIVATE_ADDRESS, "fd00::1" },
	{ "alias.test", false, POLICY_PRIVATE_ADDRESS, "192.168.0.1" },
	{ "mapped-four.test", false, POLICY_PRIVATE_ADDRESS, "::ffff:127.0.0.1" },
	{ "metadata.test", true, POLICY_METADATA_ADDRESS, "169.254.169.254" },
	{ "zero.test", true, POLICY_SPECIAL_ADDRESS, "0.0.0.0" },
	{ "denied.test", true, POLICY_RULE_DENY, "203.0.115.1" },
	{ "127.0.0.1", false, POLICY_PRIVATE_ADDRESS, "127.0.0.1" },
	{ "10.0.0.1", false, POLICY_PRIVATE_ADDRESS, "10.0.0.1" },
	{ "169.254.169.254", true, POLICY_METADATA_ADDRESS, "169.254.169.254" },
	{ "203.0.115.1", true, POLICY_RULE_DENY, "203.0.115.1" },
	{ "named.test", false, POLICY_METADATA_ADDRESS, "169.254.169.254" }, /* --resolve */
};

START_TEST(addresses_are_refused)
{
	struct proxy_mapping mapping = { .name = "named.test",
					 .addr = dial_test_addr("169.254.169.254") };
	struct addr want = dial_test_addr(refused[_i].address);
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin_mapped(&fixture, &mapping, 1);
	start(&fixture, refused[_i].host, port, refused[_i].may_private);
	assert_denied(&fixture, refused[_i].reason);
	ck_assert(addr_equal(&fixture.result.addr, &want));
	assert_steps(&fixture, strchr(refused[_i].host, 't') != NULL, false);
	ck_assert_int_eq(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
	fd_close(listener);
	done(&fixture);
}
END_TEST

/* CNAMEs: a rule that denies a name denies what leads to it. */
START_TEST(a_denied_name_stays_denied_under_another_one)
{
	static const char *const hosts[] = { "cloak.test", "below.test", "other.test" };
	bool is_denied = _i < 2;
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin(&fixture);
	start(&fixture, hosts[_i], port, true);
	if (is_denied) {
		assert_denied(&fixture, POLICY_RULE_DENY);
		ck_assert_ptr_nonnull(strstr(fixture.result.verdict.rule, "hidden.test"));
		ck_assert_ptr_nonnull(strstr(fixture.result.cause, "hidden.test"));
		ck_assert_int_eq(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
	} else {
		dial_test_until(fixture.base.loop, &fixture.runs, 1);
		assert_dialled(&fixture, "127.0.0.1", listener);
	}
	fd_close(listener);
	done(&fixture);
}
END_TEST

START_TEST(mapped_names_may_be_private)
{
	struct proxy_mapping mapping = { .name = "named.test",
					 .addr = dial_test_addr("127.0.0.1") };
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin_mapped(&fixture, &mapping, 1);
	start(&fixture, "named.test", port, false);
	dial_test_until(fixture.base.loop, &fixture.runs, 1);
	assert_dialled(&fixture, "127.0.0.1", listener);
	ck_assert(!fixture.result.verdict.may_private); /* as submitted */
	fd_close(listener);
	done(&fixture);
}
END_TEST

START_TEST(no_allow_no_dial)
{
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = POLICY_RULE_DENY };
	struct policy_destination dst;
	struct fixture fixture;

	begin(&fixture);
	policy_destination_set(&dst, "public.test", strlen("public.test"), 80, NULL);
	dial_start(fixture.dialer, 0, &dst, &verdict, true, on_done, &fixture);
	dial_test_until(fixture.base.loop, &fixture.runs, 1);
	ck_assert_int_eq(fixture.result.fd, -1);
	ck_assert_uint_eq(dns_stub_asked(fixture.base.dns, NULL), 0);
	done(&fixture);
}
END_TEST

START_TEST(dns_failures_are_named)
{
	struct fixture fixture;

	begin(&fixture);
	start(&fixture, "gone.test", 80, false);
	assert_denied(&fixture, POLICY_DNS_FAILED);
	fixture.runs = 0;
	start(&fixture, "silent.test", 80, false);
	dial_test_settle(fixture.base.loop);
	loop_advance(fixture.base.loop, 5000);
	assert_denied(&fixture, POLICY_DNS_TIMEOUT);
	ck_assert_uint_ge(fixture.result.dns_ms, 5000);
	assert_steps(&fixture, true, false);
	done(&fixture);
}
END_TEST

START_TEST(a_closed_port_refuses)
{
	struct fixture fixture;
	uint16_t port = 0;

	fd_close(dial_test_listen("127.0.0.1", &port, 5));
	begin(&fixture);
	start(&fixture, "127.0.0.1", port, true);
	assert_denied(&fixture, POLICY_CONNECT_REFUSED);
	ck_assert_str_eq(fixture.result.verdict.rule, "");
	ck_assert_ptr_nonnull(strstr(fixture.result.cause, "127.0.0.1:"));
	done(&fixture);
}
END_TEST

START_TEST(no_route_is_unreachable)
{
	struct fixture fixture;

	ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0); /* no network at all */
	begin(&fixture);
	start(&fixture, "203.0.114.1", 80, false);
	assert_denied(&fixture, POLICY_CONNECT_UNREACHABLE);
	done(&fixture);
}
END_TEST

START_TEST(silence_times_out)
{
	struct fixture fixture;
	struct hole hole;
	uint16_t port = 0;

	hole_open(&hole, "127.0.0.2", &port);
	begin(&fixture);
	start(&fixture, "127.0.0.2", port, true);
	dial_test_settle(fixture.base.loop);
	loop_advance(fixture.base.loop, 9999);
	ck_assert_int_eq(fixture.runs, 0);
	loop_advance(fixture.base.loop, 1);
	assert_denied(&fixture, POLICY_CONNECT_TIMEOUT);
	hole_close(&hole);
	done(&fixture);
}
END_TEST

START_TEST(the_second_address_waits_its_turn)
{
	struct fixture fixture;
	struct hole hole;
	uint16_t port = 0;

	hole_open(&hole, "127.0.0.2", &port);
	int listener = dial_test_listen("127.0.0.3", &port, 5);

	begin(&fixture);
	start(&fixture, "two.test", port, true);
	dial_test_settle(fixture.base.loop);
	loop_advance(fixture.base.loop, 249);
	dial_test_settle(fixture.base.loop);
	ck_assert_int_eq(fixture.runs, 0);
	loop_advance(fixture.base.loop, 1);
	dial_test_until(fixture.base.loop, &fixture.runs, 1);
	assert_dialled(&fixture, "127.0.0.3", listener);
	fd_close(listener);
	hole_close(&hole);
	done(&fixture);
}
END_TEST

START_TEST(a_failure_starts_the_next_at_once)
{
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.3", &port, 5);

	begin(&fixture);
	start(&fixture, "two.test", port, true);
	dial_test_until(fixture.base.loop, &fixture.runs, 1); /* the clock stands still */
	assert_dialled(&fixture, "127.0.0.3", listener);
	fd_close(listener);
	done(&fixture);
}
END_TEST

START_TEST(all_addresses_fail)
{
	struct fixture fixture;
	uint16_t port = 0;

	fd_close(dial_test_listen("127.0.0.3", &port, 5));
	begin(&fixture);
	start(&fixture, "two.test", port, true);
	assert_denied(&fixture, POLICY_CONNECT_REFUSED);
	done(&fixture);
}
END_TEST

START_TEST(withdrawing_is_safe)
{
	struct fixture fixture;
	struct hole hole;
	uint16_t port = 0;

	hole_open(&hole, "127.0.0.2", &port);
	begin(&fixture);
	dial_withdraw(start(&fixture, "silent.test", port, true)); /* resolving, at once */
	dial_withdraw(start(&fixture, "127.0.0.2", port, true));   /* racing, at once */
	dial_withdraw(start(&fixture, "127.0.0.2", port, false));  /* denied, not yet said */
	dial_withdraw(NULL);
	struct dial *resolving = start(&fixture, "silent.test", port, true);
	struct dial *racing = start(&fixture, "two.test", port, true);

	dial_test_settle(fixture.base.loop);
	dial_withdraw(resolving);
	dial_withdraw(racing);
	start(&fixture, "silent.test", port, true); /* left to dialer_free() */
	start(&fixture, "127.0.0.2", port, true);
	start(&fixture, "127.0.0.2", port, false);
	dialer_free(take(fixture.dialer));
	loop_advance(fixture.base.loop, 20000);
	ck_assert_int_eq(fixture.runs, 0);
	hole_close(&hole);
	done(&fixture);
}
END_TEST

TCase *test_dial(void)
{
	TCase *tcase = tcase_create("dial");

	tcase_add_loop_test(tcase, a_host_is_dialled, 0, 2);
	tcase_add_loop_test(tcase, addresses_are_refused, 0, ARRAY_SIZE(refused));
	tcase_add_loop_test(tcase, a_denied_name_stays_denied_under_another_one, 0, 3);
	tcase_add_test(tcase, mapped_names_may_be_private);
	tcase_add_test(tcase, no_allow_no_dial);
	tcase_add_test(tcase, dns_failures_are_named);
	tcase_add_test(tcase, a_closed_port_refuses);
	tcase_add_test(tcase, no_route_is_unreachable);
	tcase_add_test(tcase, silence_times_out);
	tcase_add_test(tcase, the_second_address_waits_its_turn);
	tcase_add_test(tcase, a_failure_starts_the_next_at_once);
	tcase_add_test(tcase, all_addresses_fail);
	tcase_add_test(tcase, withdrawing_is_safe);
	return tcase;
}
