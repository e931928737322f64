/* Clients of a published port are connected to a server of the command, and to nothing else. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/connection.h"
#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"

/* The init of the sandbox: answers one request for a socket of family @want. */
static void give_socket(struct rig *rig, char want)
{
	int fd = socket(want == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char asked = 0;

	rig_settle(rig);
	ck_assert_int_eq(recv(rig->inner, &asked, 1, MSG_DONTWAIT), 1);
	ck_assert_int_eq(asked, want);
	ck_assert_int_eq(fd_send(rig->inner, &asked, 1, &fd, 1), 0);
	fd_close(fd);
}

static bool was_asked_for_socket(struct rig *rig)
{
	char asked;

	rig_settle(rig);
	return recv(rig->inner, &asked, 1, MSG_DONTWAIT) > 0;
}

static struct way *way_of(struct rig *rig)
{
	return LIST_FIRST(&rig->proxy->ways);
}

START_TEST(bytes_go_both_ways)
{
	struct rig rig;

	rig_init(&rig);
	rig.reason = POLICY_INSIDE;
	int client = rig_connect(&rig, RIG_PUBLISHED);

	rig_send(&rig, client, "GET / HTTP/1.0\r\n\r\n"); /* bytes of any kind */
	give_socket(&rig, 4);
	int server = rig_accept(&rig);

	ck_assert_int_eq(rig.asked.way, POLICY_WAY_PUBLISHED);
	ck_assert_str_eq(rig.asked.dst.host, "localhost");
	ck_assert_uint_eq(rig.asked.dst.port, rig.port);
	ck_assert_int_eq(rig.asked.dst.protocol, POLICY_TCP);
	ck_assert_uint_eq(rig.asked.peer_port, 0); /* no program inside is looked for */
	rig_expect(&rig, server, "GET / HTTP/1.0\r\n\r\n");
	rig_shut(&rig, client); /* half-close is kept */
	rig_expect_end(&rig, server, false);
	rig_send(&rig, server, "late");
	rig_expect(&rig, client, "late");
	rig_close(&rig, server);
	rig_expect_end(&rig, client, false);
	const struct gateway_report *report = rig_report(&rig, 1);

	ck_assert_int_eq(report->closed, POLICY_DONE);
	ck_assert_uint_eq(report->bytes_up, 18);
	ck_assert_uint_eq(report->bytes_down, 4);
	ck_assert_uint_eq(way_of(&rig)->visitor_count, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* A half-close before the verdict does not mean that the client left. */
START_TEST(client_that_half_closes_first)
{
	struct rig rig;

	rig_init(&rig);
	rig.reason = POLICY_INSIDE;
	int client = rig_connect(&rig, RIG_PUBLISHED);

	rig_send(&rig, client, "all");
	rig_shut(&rig, client);
	give_socket(&rig, 4);
	int server = rig_accept(&rig);

	rig_expect(&rig, server, "all");
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(without_a_server_the_client_is_reset)
{
	struct rig rig;

	rig_init(&rig);
	rig.reason = POLICY_INSIDE;
	way_of(&rig)->published[0].inside = rig.dead;
	int client = rig_connect(&rig, RIG_PUBLISHED);

	give_socket(&rig, 4);
	give_socket(&rig, 6);
	rig_expect_end(&rig, client, true);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_CONNECT_REFUSED);
	ck_assert_uint_eq(way_of(&rig)->denials.count, 0); /* nothing was denied to the command */
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* Whatever the verdict says, the host's own loopback is not dialled. */
START_TEST(another_verdict_leads_nowhere)
{
	struct rig rig;

	rig_init(&rig);
	rig.reason = _i ? POLICY_INSIDE : POLICY_RULE_ALLOW;
	rig.promise = _i ? POLICY_HTTP : POLICY_TCP;
	int client = rig_connect(&rig, RIG_PUBLISHED);

	rig_expect_end(&rig, client, true);
	ck_assert(rig_is_undialled(&rig));
	ck_assert(!was_asked_for_socket(&rig));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_NOT_ENFORCED);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(the_gates_own_ports_are_refused)
{
	struct rig rig;

	rig_init(&rig);
	rig.reason = POLICY_INSIDE;
	way_of(&rig)->published[0].inside = rig.ports[_i];
	int client = rig_connect(&rig, RIG_PUBLISHED);

	rig_expect_end(&rig, client, true);
	ck_assert(!was_asked_for_socket(&rig));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_OWN_LISTENER);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* Clients on the host do not take the command's connections from it. */
START_TEST(one_client_too_many)
{
	struct rig rig;

	rig_init(&rig);
	struct way *way = way_of(&rig);

	way->visitor_count = LIMITS_PUBLISHED_MAX;
	for (int i = 0; i < 3; i++) {
		int client = rig_connect(&rig, RIG_PUBLISHED);

		rig_expect_end(&rig, client, false);
		rig_close(&rig, client);
	}
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_OVERLOADED);
	ck_assert_uint_eq(way->denials.count, 0);
	int own = rig_connect(&rig, RIG_HTTP);

	rig_send(&rig, own, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	int server = rig_accept(&rig);

	way->visitor_count = 0;
	rig_close(&rig, own);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(the_end_of_the_exec_ends_them)
{
	struct rig rig;

	rig_init(&rig);
	rig.reason = POLICY_INSIDE;
	int client = rig_connect(&rig, RIG_PUBLISHED);

	give_socket(&rig, 4);
	int server = rig_accept(&rig);

	rig_send(&rig, server, "x");
	rig_expect(&rig, client, "x");
	proxy_close(rig.proxy, RIG_EXEC);
	rig_expect_end(&rig, client, false);
	rig_expect_end(&rig, server, false);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_EXEC_ENDED);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

TCase *test_published(void)
{
	TCase *tcase = tcase_create("published");

	tcase_add_test(tcase, bytes_go_both_ways);
	tcase_add_test(tcase, client_that_half_closes_first);
	tcase_add_test(tcase, without_a_server_the_client_is_reset);
	tcase_add_loop_test(tcase, another_verdict_leads_nowhere, 0, 2);
	tcase_add_loop_test(tcase, the_gates_own_ports_are_refused, 0, 2);
	tcase_add_test(tcase, one_client_too_many);
	tcase_add_test(tcase, the_end_of_the_exec_ends_them);
	return tcase;
}
