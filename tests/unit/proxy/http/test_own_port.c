#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/upstream/dial.h"
#include "proxy/upstream/own_ports.h"
#include "tests/unit/proxy/dial_test.h"

/* A port of the host's loopback that is the gate's own: under a policy, a mapping and a verdict
 * that would let anything through. */
static struct {
	struct dial_test base;
	struct policy *policy;
	struct dialer *dialer;
	int runs, listener;
	uint16_t port;
	struct dial_result result;
} stage;

static void setup(void)
{
	static const struct dns_name zone[] = {
		{ .name = "one.test", .v4 = "127.0.0.1" },
		{ .name = "two.test", .v4 = "127.0.0.2 127.0.0.3" },
	};
	const struct proxy_mapping mappings[] = {
		{ .name = "named.test", .addr = dial_test_addr("127.0.0.1") },
		{ .name = "six.test", .addr = dial_test_addr("::ffff:127.0.0.1") },
		{ .name = "old.test", .addr = dial_test_addr("::127.0.0.1") },
		{ .name = "net.test", .addr = dial_test_addr("0.0.0.1") },
	};

	memset(&stage, 0, sizeof(stage));
	stage.result.fd = -1;
	dial_test_init(&stage.base, zone, ARRAY_SIZE(zone), mappings, ARRAY_SIZE(mappings));
	stage.policy = policy_new();
	policy_load_text(stage.policy, "<test>", "version 1\nallow **.test\n");
	ck_assert_int_eq(policy_finish(stage.policy), 0);
	stage.dialer = dialer_new(stage.base.loop, stage.base.resolver, stage.policy);
	stage.listener = dial_test_listen("127.0.0.1", &stage.port, 5);
}

static void teardown(void)
{
	fd_close(stage.result.fd);
	fd_close(stage.listener);
	dialer_free(stage.dialer);
	policy_free(stage.policy);
	dial_test_done(&stage.base);
}

static void on_done(struct dial_result *result, void *arg)
{
	stage.runs++;
	stage.result = *result;
}

static void dial(const char *host)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW,
						.reason = POLICY_RULE_ALLOW,
						.promise = POLICY_TCP,
						.may_private = true };
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, host, strlen(host), stage.port, NULL), 0);
	(void)dial_start(stage.dialer, 0, &dst, &verdict, true, on_done, NULL);
	dial_test_until(stage.base.loop, &stage.runs, 1);
}

static const char *const hosts[] = { "127.0.0.1",  "127.0.0.2", "::1",      "one.test", "two.test",
				     "named.test", "six.test",  "old.test", "net.test" };

START_TEST(own_port_is_refused)
{
	dialer_set_own_port(stage.dialer, stage.port);
	dial(hosts[_i]);
	ck_assert_int_eq(stage.result.fd, -1);
	ck_assert_int_eq(stage.result.verdict.action, POLICY_DENY);
	ck_assert_int_eq(stage.result.verdict.reason, POLICY_OWN_LISTENER);
	ck_assert_int_eq(accept4(stage.listener, NULL, NULL, SOCK_CLOEXEC), -1);
}
END_TEST

START_TEST(port_of_the_metrics_is_refused)
{
	dialer_set_own_port(stage.dialer, (uint16_t)(stage.port ^ 1));
	dialer_set_metrics_port(stage.dialer, stage.port);
	dial(hosts[_i]);
	ck_assert_int_eq(stage.result.fd, -1);
	ck_assert_int_eq(stage.result.verdict.reason, POLICY_OWN_LISTENER);
	ck_assert_int_eq(accept4(stage.listener, NULL, NULL, SOCK_CLOEXEC), -1);
}
END_TEST

START_TEST(other_ports_are_dialled)
{
	dialer_set_own_port(stage.dialer, (uint16_t)(stage.port ^ 1));
	dial(_i ? "one.test" : "named.test");
	ck_assert_int_eq(stage.result.verdict.action, POLICY_ALLOW);
	ck_assert_int_ge(stage.result.fd, 0);
}
END_TEST

/* A listener outside of every sandbox, at each address by which it can be reached. */
START_TEST(own_listener_is_refused)
{
	struct proxy_service service = { .listener_count = 1 };

	service.listeners[0] = stage.listener;
	dialer_set_service(stage.dialer, &service);
	dial(hosts[_i]);
	ck_assert_int_eq(stage.result.fd, -1);
	ck_assert_int_eq(stage.result.verdict.reason, POLICY_OWN_LISTENER);
	ck_assert_int_eq(accept4(stage.listener, NULL, NULL, SOCK_CLOEXEC), -1);
}
END_TEST

static const struct {
	const char *addr;
	bool is_local;
} places[] = {
	{ "127.0.0.1", true },
	{ "192.0.2.1", false },
	{ "198.51.100.9", false },
};

START_TEST(addresses_of_this_machine_are_known)
{
	const struct addr addr = dial_test_addr(places[_i].addr);

	ck_assert_int_eq(own_ports_is_local(&addr), places[_i].is_local);
}
END_TEST

TCase *test_own_port(void)
{
	TCase *tcase = tcase_create("own port");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, own_port_is_refused, 0, ARRAY_SIZE(hosts));
	tcase_add_loop_test(tcase, port_of_the_metrics_is_refused, 0, ARRAY_SIZE(hosts));
	tcase_add_loop_test(tcase, own_listener_is_refused, 0, ARRAY_SIZE(hosts));
	tcase_add_loop_test(tcase, addresses_of_this_machine_are_known, 0, ARRAY_SIZE(places));
	tcase_add_loop_test(tcase, other_ports_are_dialled, 0, 2);
	return tcase;
}
