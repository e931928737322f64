/* The proxy of one exec as a whole: opening, closing, limits. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "proxy/limits.h"
#include "proxy/connection.h"
#include "tests/unit/proxy/rig.h"

START_TEST(closing_ends_everything_with_a_report_each)
{
	struct rig rig;
	int idle, asking, server, tunnelled, second;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	idle = rig_connect(&rig, RIG_HTTP);
	asking = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, asking, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	tunnelled = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, tunnelled, "CONNECT {b} HTTP/1.1\r\nHost: {b}\r\n\r\n");
	second = rig_accept(&rig);
	free(rig_read(&rig, tunnelled, "\r\n\r\n"));
	proxy_close(rig.proxy, RIG_EXEC);
	(void)rig_report(&rig, 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rig.reports[i].closed, POLICY_EXEC_ENDED);
		ck_assert_int_eq(rig.reports[i].verdict.action, POLICY_ALLOW);
	}
	rig_expect_end(&rig, idle, false);
	rig_expect_end(&rig, asking, false);
	rig_expect_end(&rig, tunnelled, false);
	fd_close(idle);
	fd_close(asking);
	fd_close(tunnelled);
	fd_close(server);
	fd_close(second);
	proxy_close(rig.proxy, RIG_EXEC); /* unknown by now */
	rig_done(&rig);
}
END_TEST

START_TEST(listeners_are_closed)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rig rig;
	int fd;

	rig_init(&rig);
	proxy_close(rig.proxy, RIG_EXEC);
	name.sin_port = htons(rig.ports[_i]);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_lt(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(errno, ECONNREFUSED);
	fd_close(fd);
	rig_done(&rig);
}
END_TEST

START_TEST(an_exec_has_one_way)
{
	struct rig rig;
	int fds[PROXY_FDS];

	rig_init(&rig);
	for (int i = 0; i < PROXY_FDS; i++)
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(proxy_open(rig.proxy, RIG_EXEC, fds), -EEXIST);
	for (int i = 0; i < PROXY_FDS; i++)
		ck_assert_int_lt(fcntl(fds[i], F_GETFD), 0); /* taken */
	rig_done(&rig);
}
END_TEST

START_TEST(one_connection_too_many)
{
	struct rig rig;
	struct way *way;
	int client;

	rig_init(&rig);
	way = LIST_FIRST(&rig.proxy->ways);
	way->connection_count = rig.proxy->connections_max;
	for (int i = 0; i < 3; i++) {
		client = rig_connect(&rig, RIG_HTTP);
		auto_free char *answer = rig_read(&rig, client, NULL);
		ck_assert_int_eq(strncmp(answer,
					 "HTTP/1.1 503 Service Unavailable\r\n"
					 "x-sallyport-reason: overloaded\r\n",
					 60),
				 0);
		rig_close(&rig, client);
	}
	/* a flood of connections is not one of records */
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_OVERLOADED);
	way->connection_count = 0;
	rig_done(&rig);
}
END_TEST

START_TEST(descriptors_run_out_and_come_back)
{
	struct rlimit old, none;
	struct rig rig;
	int client, server, spare;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	spare = dup(client);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = (rlim_t)spare, .rlim_max = old.rlim_max };
	fd_close(spare);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	rig_settle(&rig);
	ck_assert(LIST_EMPTY(&LIST_FIRST(&rig.proxy->ways)->connections));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	rig_settle(&rig);
	ck_assert(LIST_EMPTY(&LIST_FIRST(&rig.proxy->ways)->connections)); /* a pause, not a spin */
	loop_advance(rig.loop, LISTENER_PAUSE_MS);
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(quiet_connection_is_closed)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, _i);
	rig_settle(&rig);
	loop_advance(rig.loop, LIMITS_HEAD_MS);
	rig_expect_end(&rig, client, false);
	ck_assert_uint_eq(rig.report_count, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* The promise of an idle tunnel: itself, an upstream leg and a request, no buffers. */
START_TEST(idle_tunnel_is_small)
{
	const struct connection *connection;
	struct rig rig;
	int client, server;

	ck_assert_uint_le(
		sizeof(struct connection) + sizeof(struct upstream) + sizeof(struct request), 1536);
	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\nearly");
	server = rig_accept(&rig);
	rig_expect(&rig, server, "early");
	connection = LIST_FIRST(&LIST_FIRST(&rig.proxy->ways)->connections);
	ck_assert_ptr_null(connection->in.bytes);
	ck_assert_ptr_null(connection->client.out.bytes);
	ck_assert_ptr_null(connection->up->leg.out.bytes);
	ck_assert_ptr_null(connection->exchange);
	ck_assert_ptr_null(connection->up->key);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

TCase *test_way(void)
{
	TCase *tcase = tcase_create("way");

	tcase_add_test(tcase, closing_ends_everything_with_a_report_each);
	tcase_add_loop_test(tcase, listeners_are_closed, 0, RIG_WAYS);
	tcase_add_test(tcase, an_exec_has_one_way);
	tcase_add_test(tcase, one_connection_too_many);
	tcase_add_test(tcase, descriptors_run_out_and_come_back);
	tcase_add_loop_test(tcase, quiet_connection_is_closed, 0, 2);
	tcase_add_test(tcase, idle_tunnel_is_small);
	return tcase;
}
