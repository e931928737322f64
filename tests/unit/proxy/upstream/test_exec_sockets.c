#include "tests/unit/proxy/dial_test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/upstream/dial.h"
#include "proxy/upstream/dial_impl.h"
#include "proxy/upstream/exec_sockets.h"

#define EXEC 7

struct outcome {
	int runs;
	struct dial_result result;
};

/* The test is the sandbox's init: it holds the other end of the channel. */
struct fixture {
	struct dial_test base;
	struct policy *policy;
	struct dialer *dialer;
	int init, channel;
	struct outcome outcome;
};

static void on_done(struct dial_result *result, void *arg)
{
	struct outcome *outcome = arg;

	outcome->runs++;
	outcome->result = *result;
}

static void begin(struct fixture *fixture)
{
	int pair[2];

	*fixture = (struct fixture){ .outcome.result.fd = -1 };
	dial_test_init(&fixture->base, NULL, 0, NULL, 0);
	fixture->policy = policy_new();
	fixture->dialer = dialer_new(fixture->base.loop, fixture->base.resolver, fixture->policy);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fixture->init = pair[0];
	fixture->channel = pair[1];
	dialer_set_inner(fixture->dialer, EXEC, pair[1]);
}

static void done(struct fixture *fixture)
{
	fd_close(fixture->outcome.result.fd);
	fd_close(fixture->init);
	dialer_free(fixture->dialer);
	policy_free(fixture->policy);
	dial_test_done(&fixture->base);
}

static struct dial *start_for(struct fixture *fixture, uint64_t exec, const char *host,
			      uint16_t port, struct outcome *outcome)
{
	struct policy_verdict verdict = { .action = POLICY_ALLOW, .reason = POLICY_INSIDE };
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, host, strlen(host), port, NULL), 0);
	return dial_start(fixture->dialer, exec, &dst, &verdict, true, on_done, outcome);
}

static struct dial *start(struct fixture *fixture, const char *host, uint16_t port)
{
	return start_for(fixture, EXEC, host, port, &fixture->outcome);
}

/* The question's byte; fails when none is there. */
static int take_question(struct fixture *fixture)
{
	char bytes[8];

	dial_test_settle(fixture->base.loop);
	ck_assert_int_eq(recv(fixture->init, bytes, sizeof(bytes), MSG_DONTWAIT), 1);
	return bytes[0];
}

static bool has_question(struct fixture *fixture)
{
	char byte;

	dial_test_settle(fixture->base.loop);
	return recv(fixture->init, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

static void hand_out(struct fixture *fixture, int fd)
{
	ck_assert_int_eq(fd_send(fixture->init, "", 1, &fd, fd < 0 ? 0 : 1), 0);
	fd_close(fd);
}

static int tcp(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC,
		      0); /* blocking, as a careless init makes it */
}

static void assert_denied(struct fixture *fixture, enum policy_reason reason)
{
	dial_test_until(fixture->base.loop, &fixture->outcome.runs, 1);
	ck_assert_int_eq(fixture->outcome.result.fd, -1);
	ck_assert_int_eq(fixture->outcome.result.verdict.action, POLICY_DENY);
	ck_assert_msg(fixture->outcome.result.verdict.reason == reason, "%s: %s",
		      policy_reason_code(fixture->outcome.result.verdict.reason),
		      fixture->outcome.result.cause);
}

START_TEST(loopback_is_dialled_inside)
{
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin(&fixture);
	start(&fixture, _i ? "127.0.0.1" : "localhost", port);
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_out(&fixture, tcp(AF_INET));
	dial_test_until(fixture.base.loop, &fixture.outcome.runs, 1);
	ck_assert_int_ge(fixture.outcome.result.fd, 0);
	ck_assert_int_eq(fixture.outcome.result.verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(fcntl(fixture.outcome.result.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	ck_assert_int_ge(server, 0);
	fd_close(server);
	ck_assert_uint_eq(dns_stub_asked(fixture.base.dns, NULL), 0);
	ck_assert_uint_eq(fixture.outcome.result.dns_ms + fixture.outcome.result.dial_ms, 0);
	fd_close(listener);
	done(&fixture);
}
END_TEST

START_TEST(localhost_tries_the_other_family)
{
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("::1", &port, 5);

	begin(&fixture);
	start(&fixture, "localhost", port);
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_out(&fixture, tcp(AF_INET));
	ck_assert_int_eq(take_question(&fixture), 6);
	hand_out(&fixture, tcp(AF_INET6));
	dial_test_until(fixture.base.loop, &fixture.outcome.runs, 1);
	ck_assert_int_ge(fixture.outcome.result.fd, 0);
	ck_assert_int_eq(fixture.outcome.result.addr.family, AF_INET6);
	fd_close(listener);
	done(&fixture);
}
END_TEST

START_TEST(nobody_listens_inside)
{
	struct fixture fixture;
	uint16_t port = 0;

	fd_close(dial_test_listen("127.0.0.1", &port, 5));
	begin(&fixture);
	start(&fixture, _i ? "127.0.0.1" : "localhost", port);
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_out(&fixture, tcp(AF_INET));
	if (_i == 0) {
		ck_assert_int_eq(take_question(&fixture), 6);
		hand_out(&fixture, tcp(AF_INET6));
	}
	assert_denied(&fixture, POLICY_CONNECT_REFUSED);
	ck_assert(!has_question(&fixture));
	done(&fixture);
}
END_TEST

static int bad_none(void)
{
	return -1;
}

static int bad_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int bad_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int bad_family(void)
{
	return tcp(AF_INET6);
}

static int bad_listening(void)
{
	uint16_t port = 0;

	return dial_test_listen("127.0.0.1", &port, 5);
}

static int (*const bad[])(void) = { bad_none, bad_unix, bad_udp, bad_family, bad_listening };

START_TEST(other_descriptors_are_refused)
{
	struct fixture fixture;

	begin(&fixture);
	start(&fixture, "127.0.0.1", 80);
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_out(&fixture, bad[_i]());
	assert_denied(&fixture, POLICY_CONNECT_FAILED);
	/* seen before it was used, not by the use failing */
	ck_assert_str_eq(fixture.outcome.result.cause,
			 "the sandbox cannot make a socket for 127.0.0.1");
	done(&fixture);
}
END_TEST

START_TEST(only_loopback_is_inside)
{
	static const char *const hosts[] = { "10.0.0.1", "a.test", "169.254.169.254" };
	struct fixture fixture;

	begin(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		fixture.outcome.runs = 0;
		start(&fixture, hosts[i], 80);
		assert_denied(&fixture, POLICY_CONNECT_FAILED);
	}
	ck_assert(!has_question(&fixture));
	done(&fixture);
}
END_TEST

START_TEST(an_unknown_exec_has_no_inside)
{
	struct fixture fixture;

	begin(&fixture);
	start_for(&fixture, EXEC + 1, "localhost", 80, &fixture.outcome);
	assert_denied(&fixture, POLICY_EXEC_ENDED);
	ck_assert(!has_question(&fixture));
	done(&fixture);
}
END_TEST

/* An answer that comes too late must not be taken for the next one's. */
START_TEST(late_answers_keep_the_order)
{
	struct fixture fixture;
	struct outcome second = { 0 };
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin(&fixture);
	start(&fixture, "127.0.0.1", port);
	loop_advance(fixture.base.loop, 1999);
	ck_assert_int_eq(fixture.outcome.runs, 0);
	loop_advance(fixture.base.loop, 1);
	assert_denied(&fixture, POLICY_CONNECT_TIMEOUT);
	start_for(&fixture, EXEC, "::1", port, &second);
	ck_assert_int_eq(take_question(&fixture), 4);
	ck_assert_int_eq(take_question(&fixture), 6);
	hand_out(&fixture, tcp(AF_INET)); /* nobody waits for it: closed */
	dial_test_settle(fixture.base.loop);
	ck_assert_int_eq(second.runs, 0);
	hand_out(&fixture, tcp(AF_INET6));
	dial_test_until(fixture.base.loop, &second.runs, 1);
	ck_assert_int_eq(second.result.verdict.reason, POLICY_CONNECT_REFUSED);
	ck_assert_int_eq(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
	fd_close(listener);
	done(&fixture);
}
END_TEST

START_TEST(questions_are_bounded)
{
	struct fixture fixture;
	struct outcome waiting = { 0 };

	begin(&fixture);
	for (int i = 0; i < 256; i++)
		start_for(&fixture, EXEC, "127.0.0.1", 80, &waiting);
	start(&fixture, "127.0.0.1", 80);
	assert_denied(&fixture, POLICY_OVERLOADED);
	ck_assert_int_eq(waiting.runs, 0);
	done(&fixture);
}
END_TEST

START_TEST(the_sandbox_ends)
{
	struct fixture fixture;

	begin(&fixture);
	start(&fixture, "127.0.0.1", 80);
	dial_test_settle(fixture.base.loop);
	if (_i == 0)
		fd_close(fd_take(&fixture.init)); /* init died */
	else if (_i == 1)
		dialer_clear_inner(fixture.dialer, EXEC);
	else
		dialer_set_inner(fixture.dialer, EXEC, socket(AF_UNIX, SOCK_SEQPACKET, 0));
	ck_assert_int_eq(fixture.outcome.runs, 0);
	assert_denied(&fixture, POLICY_EXEC_ENDED);
	done(&fixture);
}
END_TEST

START_TEST(nonsense_closes_the_channel)
{
	struct fixture fixture;

	begin(&fixture);
	hand_out(&fixture, tcp(AF_INET)); /* nobody asked */
	dial_test_settle(fixture.base.loop);
	start(&fixture, "127.0.0.1", 80);
	assert_denied(&fixture, POLICY_EXEC_ENDED);
	done(&fixture);
}
END_TEST

struct doors {
	int count, last;
};

static void on_door(int listener, void *arg)
{
	struct doors *doors = arg;

	doors->count++;
	fd_close(doors->last);
	doors->last = listener;
}

static int listener_of(int domain, int type, bool listens)
{
	int fd = socket(domain, type | SOCK_CLOEXEC, 0); /* blocking, as above */

	ck_assert_int_ge(fd, 0);
	/* Unix sockets get a name by themselves, TCP ones a port. */
	if (listens && domain == AF_UNIX)
		ck_assert_int_eq(
			bind(fd, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t)),
			0);
	if (listens)
		ck_assert_int_eq(listen(fd, 5), 0);
	return fd;
}

static void hand_door(struct fixture *fixture, int fd)
{
	ck_assert_int_eq(fd_send(fixture->init, "d", 1, &fd, fd < 0 ? 0 : 1), 0);
	fd_close(fd);
	dial_test_settle(fixture->base.loop);
}

/* The first message may be the door's listener, and answers follow it. */
START_TEST(door_comes_first)
{
	struct fixture fixture;
	struct doors doors = { .last = -1 };

	begin(&fixture);
	exec_sockets_on_door(dialer_inner(fixture.dialer, EXEC), on_door, &doors);
	start(&fixture, "127.0.0.1", 80); /* asked already */
	hand_door(&fixture, listener_of(AF_UNIX, SOCK_STREAM, true));
	ck_assert_int_eq(doors.count, 1);
	ck_assert_int_eq(fcntl(doors.last, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	ck_assert_int_eq(fixture.outcome.runs, 0); /* it was no answer */
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_out(&fixture, tcp(AF_INET));
	dial_test_until(fixture.base.loop, &fixture.outcome.runs, 1);
	fd_close(doors.last);
	done(&fixture);
}
END_TEST

static const struct {
	int domain, type;
	bool listens;
} bad_doors[] = {
	{ AF_UNIX, SOCK_STREAM, false },
	{ AF_UNIX, SOCK_SEQPACKET, true },
	{ AF_INET, SOCK_STREAM, true },
	{ AF_UNIX, SOCK_DGRAM, false },
	{ -1, 0, false },
};

START_TEST(bad_door_closes_the_channel)
{
	struct fixture fixture;
	struct doors doors = { .last = -1 };
	bool has_one = bad_doors[_i].domain >= 0;

	begin(&fixture);
	exec_sockets_on_door(dialer_inner(fixture.dialer, EXEC), on_door, &doors);
	hand_door(&fixture, has_one ? listener_of(bad_doors[_i].domain, bad_doors[_i].type,
						  bad_doors[_i].listens)
				    : -1);
	ck_assert_int_eq(doors.count, 0);
	start(&fixture, "127.0.0.1", 80);
	assert_denied(&fixture, POLICY_EXEC_ENDED);
	done(&fixture);
}
END_TEST

/* A worker that follows another one gets the other's responses first, and ignores them. */
START_TEST(a_later_worker_asks_again)
{
	struct fixture fixture;
	struct doors doors = { .last = -1 };
	uint8_t response = 0x80 | 3;
	int door = listener_of(AF_UNIX, SOCK_STREAM, true);

	begin(&fixture);
	exec_sockets_on_door(dialer_inner(fixture.dialer, EXEC), on_door, &doors);
	exec_sockets_renew(dialer_inner(fixture.dialer, EXEC), 3);
	ck_assert_int_eq(take_question(&fixture) & 0xff, response);
	start(&fixture, "127.0.0.1", 80);
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_door(&fixture, listener_of(AF_UNIX, SOCK_STREAM, true)); /* of the start */
	hand_out(&fixture, tcp(AF_INET));                             /* for the other */
	dial_test_settle(fixture.base.loop);
	ck_assert_int_eq(doors.count, 0);
	ck_assert_int_eq(fixture.outcome.runs, 0);
	ck_assert_int_eq(fd_send(fixture.init, &response, 1, &door, 1), 0);
	fd_close(door);
	hand_out(&fixture, tcp(AF_INET));
	dial_test_until(fixture.base.loop, &fixture.outcome.runs, 1);
	ck_assert_int_eq(doors.count, 1);
	fd_close(doors.last);
	done(&fixture);
}
END_TEST

/* Later, the same message is an answer, and to no question. */
START_TEST(second_door_closes_the_channel)
{
	struct fixture fixture;
	struct doors doors = { .last = -1 };

	begin(&fixture);
	exec_sockets_on_door(dialer_inner(fixture.dialer, EXEC), on_door, &doors);
	hand_door(&fixture, listener_of(AF_UNIX, SOCK_STREAM, true));
	hand_door(&fixture, listener_of(AF_UNIX, SOCK_STREAM, true));
	ck_assert_int_eq(doors.count, 1);
	start(&fixture, "127.0.0.1", 80);
	assert_denied(&fixture, POLICY_EXEC_ENDED);
	fd_close(doors.last);
	done(&fixture);
}
END_TEST

START_TEST(withdrawing_is_safe)
{
	struct fixture fixture;
	uint16_t port = 0;
	int listener = dial_test_listen("127.0.0.1", &port, 5);

	begin(&fixture);
	dial_withdraw(start(&fixture, "127.0.0.1", port)); /* asked */
	struct dial *racing = start(&fixture, "127.0.0.1", port);

	ck_assert_int_eq(take_question(&fixture), 4);
	ck_assert_int_eq(take_question(&fixture), 4);
	hand_out(&fixture, tcp(AF_INET)); /* for the one that left */
	dial_test_settle(fixture.base.loop);
	ck_assert_int_eq(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
	dial_withdraw(racing);
	hand_out(&fixture, tcp(AF_INET));
	start(&fixture, "127.0.0.1", port); /* left to dialer_free() */
	fd_close(fd_take(&fixture.init));
	dial_withdraw(start(&fixture, "127.0.0.1", port)); /* the channel is closing */
	dialer_free(take(fixture.dialer));
	loop_advance(fixture.base.loop, 5000);
	ck_assert_int_eq(fixture.outcome.runs, 0);
	fd_close(listener);
	done(&fixture);
}
END_TEST

/* Does an epoll of this process still watch @fd? */
static bool is_watched(int fd)
{
	auto_free char *want = mem_printf("tfd: %8d ", fd);
	bool is = false;

	for (int other = 0; other < 64; other++) {
		auto_free char *path = mem_printf("/proc/self/fdinfo/%d", other);
		auto_close int info = open(path, O_RDONLY | O_CLOEXEC);
		char text[4096] = "";

		is |= info >= 0 && read(info, text, sizeof(text) - 1) > 0 && strstr(text, want);
	}
	return is;
}

/* The gate has a copy of the channel. Epoll watches what is behind a descriptor, so a channel that
 * the worker closed too early would be reported in every turn of its loop. */
START_TEST(the_sandbox_ends_while_the_gate_has_a_copy)
{
	struct fixture fixture;
	int copy;

	begin(&fixture);
	dial_test_settle(fixture.base.loop);
	ck_assert(is_watched(fixture.channel));
	copy = fcntl(fixture.channel, F_DUPFD_CLOEXEC, 0);
	ck_assert_int_ge(copy, 0);
	fd_close(fd_take(&fixture.init));
	dial_test_settle(fixture.base.loop);
	ck_assert(!is_watched(fixture.channel));
	fd_close(copy);
	done(&fixture);
}
END_TEST

TCase *test_inner(void)
{
	TCase *tcase = tcase_create("inner");

	tcase_add_loop_test(tcase, loopback_is_dialled_inside, 0, 2);
	tcase_add_test(tcase, localhost_tries_the_other_family);
	tcase_add_test(tcase, door_comes_first);
	tcase_add_test(tcase, a_later_worker_asks_again);
	tcase_add_loop_test(tcase, bad_door_closes_the_channel, 0, ARRAY_SIZE(bad_doors));
	tcase_add_test(tcase, second_door_closes_the_channel);
	tcase_add_loop_test(tcase, nobody_listens_inside, 0, 2);
	tcase_add_loop_test(tcase, other_descriptors_are_refused, 0, ARRAY_SIZE(bad));
	tcase_add_test(tcase, only_loopback_is_inside);
	tcase_add_test(tcase, an_unknown_exec_has_no_inside);
	tcase_add_test(tcase, late_answers_keep_the_order);
	tcase_add_test(tcase, questions_are_bounded);
	tcase_add_loop_test(tcase, the_sandbox_ends, 0, 3);
	tcase_add_test(tcase, the_sandbox_ends_while_the_gate_has_a_copy);
	tcase_add_test(tcase, nonsense_closes_the_channel);
	tcase_add_test(tcase, withdrawing_is_safe);
	return tcase;
}
