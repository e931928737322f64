#include "tests/unit/exec/test_exec.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "exec/run/wire.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static uint64_t namespace_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len), 0);
	return cookie;
}

static void expect_listener(int fd, uint16_t port)
{
	struct sockaddr_in name = { 0 };
	socklen_t len = sizeof(name);
	int listens = 0;

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	ck_assert_int_eq(name.sin_family, AF_INET);
	ck_assert_int_eq(ntohs(name.sin_port), port);
	ck_assert_uint_eq(ntohl(name.sin_addr.s_addr), INADDR_LOOPBACK);
	len = sizeof(listens);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len), 0);
	ck_assert_int_eq(listens, 1);
	ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

static void check_listeners(struct rig *rig)
{
	auto_close int ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect_listener(rig->fds[EXEC_HTTP_LISTENER], EXEC_HTTP_PORT);
	expect_listener(rig->fds[EXEC_SOCKS_LISTENER], EXEC_SOCKS_PORT);
	ck_assert_uint_eq(namespace_of(rig->fds[EXEC_HTTP_LISTENER]),
			  namespace_of(rig->fds[EXEC_SOCKS_LISTENER]));
	ck_assert_uint_ne(namespace_of(rig->fds[EXEC_HTTP_LISTENER]), namespace_of(ours));
}

START_TEST(hands_out_its_listeners)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig.on_ready = check_listeners;
	rig_ok(&rig, "true");
	ck_assert_uint_eq(rig.egress_count, 1);
	rig_done(&rig);
}
END_TEST

/* A connection from inside arrives at the descriptor outside, and bytes go both ways. */
static void on_connection(evutil_socket_t listener, short what, void *arg)
{
	char text[16] = "";
	auto_close int fd = accept4((int)listener, NULL, NULL, SOCK_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(recv(fd, text, 5, MSG_WAITALL), 5);
	ck_assert_str_eq(text, "hello");
	ck_assert_int_eq(write(fd, arg, strlen(arg)), (ssize_t)strlen(arg));
}

static struct event accepting[2];

static void watch_listeners(struct rig *rig)
{
	static char names[2][8] = { "http\n", "socks\n" };

	for (int i = 0; i < 2; i++) {
		event_assign(&accepting[i], loop_base(rig->loop), rig->fds[i], EV_READ | EV_PERSIST,
			     on_connection, names[i]);
		event_add(&accepting[i], NULL);
	}
}

START_TEST(carries_what_is_said_inside)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig.on_ready = watch_listeners;
	ck_assert_str_eq(rig_ok(&rig, "exec bash -c 'for port in 61128 61080; do exec "
				      "3<>/dev/tcp/127.0.0.1/$port; "
				      "printf hello >&3; cat <&3; exec 3>&-; done'"),
			 "http\nsocks\n");
	event_del(&accepting[0]);
	event_del(&accepting[1]);
	rig_done(&rig);
}
END_TEST

static int hear(int inner, uint8_t *ret_answer)
{
	struct pollfd answer = { .fd = inner, .events = POLLIN };
	int fds[FD_PASS_MAX];
	size_t count = 0;

	ck_assert_int_eq(poll(&answer, 1, 10000), 1);
	ck_assert_int_eq(fd_recv(inner, ret_answer, 1, fds, &count), 1);
	ck_assert_uint_le(count, 1);
	return count == 1 ? fds[0] : -1;
}

static int ask(int inner, uint8_t byte, uint8_t *ret_answer)
{
	ck_assert_int_eq(send(inner, &byte, 1, MSG_NOSIGNAL), 1);
	return hear(inner, ret_answer);
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, name, &value, &len), 0);
	return value;
}

/* init serves the channel only once the command runs: so from a timer, not from on_ready. */
static void ask_for_sockets(void *arg)
{
	static const struct {
		uint8_t byte;
		int domain;
	} questions[] = { { 4, AF_INET }, { 6, AF_INET6 }, { 0, 0 },
			  { 5, 0 },       { 127, 0 },      { 4, AF_INET } };
	struct rig *rig = arg;
	uint8_t door = 0;
	auto_close int listener = hear(rig->fds[EXEC_INNER], &door);

	/* The first message is the door's. */
	ck_assert_int_eq(door, WIRE_INNER_DOOR);
	ck_assert_int_eq(option(listener, SO_DOMAIN), AF_UNIX);
	ck_assert_int_eq(option(listener, SO_ACCEPTCONN), 1);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		uint8_t said = 99;
		auto_close int fd = ask(rig->fds[EXEC_INNER], questions[i].byte, &said);

		ck_assert_int_eq(said, questions[i].domain ? questions[i].byte : 0);
		ck_assert_int_eq(fd >= 0, questions[i].domain != 0);
		if (fd < 0)
			continue;
		ck_assert_int_eq(option(fd, SO_DOMAIN), questions[i].domain);
		ck_assert_int_eq(option(fd, SO_TYPE), SOCK_STREAM);
		ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
		ck_assert_uint_eq(namespace_of(fd), namespace_of(rig->fds[EXEC_HTTP_LISTENER]));
	}
	/* A later worker asks for the door's listener again; the response is its own request. */
	for (unsigned int turn = 1; turn < 3; turn++) {
		uint8_t said = 0;
		auto_close int again =
			ask(rig->fds[EXEC_INNER], (uint8_t)(WIRE_INNER_RENEW | turn), &said);

		ck_assert_uint_eq(said, WIRE_INNER_RENEW | turn);
		ck_assert_int_eq(option(again, SO_DOMAIN), AF_UNIX);
		ck_assert_int_eq(option(again, SO_ACCEPTCONN), 1);
	}
	/* An asker that does not read its answers must not stop init from doing its work: the
	 * command ends all the same. */
	for (int i = 0;
	     i < 5000 && send(rig->fds[EXEC_INNER], "\4", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1; i++)
		;
}

static struct loop_timer asking;

static void ask_later(struct rig *rig)
{
	loop_timer_start(rig->loop, &asking, 50, ask_for_sockets, rig);
}

START_TEST(hands_out_sockets_of_the_inside)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig.on_ready = ask_later;
	rig_ok(&rig, "sleep 0.5");
	ck_assert(!asking.is_armed);
	rig_done(&rig);
}
END_TEST

static const char *const dead_ends[] = {
	"echo >/dev/tcp/127.0.0.1/80",
	"echo >/dev/tcp/::1/80",
	"unshare -n true",
	"unshare -U true",
	"unshare -Urn true",
	"nsenter -t 1 -n true",
	"nsenter -t 1 -m true",
	"mount -t tmpfs x .",
	"umount /proc",
	"umount -l /tmp",
};

/* Every connection ends at the listener, at the address that the program wanted. */
static const struct {
	const char *host, *name;
} captured[] = {
	{ "192.0.2.1", "::ffff:192.0.2.1" },
	{ "169.254.169.254", "::ffff:169.254.169.254" },
	{ "255.255.255.254", "::ffff:255.255.255.254" },
	{ "2001:db8::1", "2001:db8::1" },
	{ "fe80::1", NULL },
};

static void accept_captured(struct rig *rig, const char *want)
{
	struct sockaddr_in6 name = { 0 };
	socklen_t len = sizeof(name);
	char text[INET6_ADDRSTRLEN];
	auto_close int fd = accept4(rig->fds[EXEC_CAPTURE_LISTENER], NULL, NULL, SOCK_CLOEXEC);

	ck_assert_int_eq(fd >= 0, want != NULL);
	if (!want)
		return;
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	ck_assert_str_eq(inet_ntop(AF_INET6, &name.sin6_addr, text, sizeof(text)), want);
	ck_assert_int_eq(ntohs(name.sin6_port), 80);
}

START_TEST(captures_connections)
{
	struct rig rig;
	size_t row = (size_t)_i / RIG_USERS;

	rig_init(&rig, _i % RIG_USERS);
	auto_free char *script =
		mem_printf("bash -c 'echo >/dev/tcp/%s/80' 2>/dev/null", captured[row].host);

	rig_sh(&rig, script);
	ck_assert_int_eq(rig.result.status == 0, captured[row].name != NULL);
	accept_captured(&rig, captured[row].name);
	rig_done(&rig);
}
END_TEST

START_TEST(there_is_no_other_way)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	auto_free char *script = mem_printf("bash -c '%s' 2>/dev/null", dead_ends[_i / RIG_USERS]);

	rig_sh(&rig, script);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_EXITED);
	ck_assert_int_ne(rig.result.status, 0);
	ck_assert_int_ne(rig.result.status, 127);
	rig_done(&rig);
}
END_TEST

START_TEST(the_gates_ports_cannot_be_taken)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig_sh(&rig, "exec perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); setsockopt(S, "
		     "SOL_SOCKET, 15, 1); "
		     "setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1); "
		     "exit(bind(S, sockaddr_in(61128, INADDR_ANY)) ? 0 : 3)'");
	ck_assert_int_eq(rig.result.status, 3);
	rig_done(&rig);
}
END_TEST

TCase *test_egress(void)
{
	TCase *tcase = tcase_create("egress");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, hands_out_its_listeners, 0, RIG_USERS);
	tcase_add_loop_test(tcase, carries_what_is_said_inside, 0, RIG_USERS);
	tcase_add_loop_test(tcase, hands_out_sockets_of_the_inside, 0, RIG_USERS);
	tcase_add_loop_test(tcase, captures_connections, 0, (int)ARRAY_SIZE(captured) * RIG_USERS);
	tcase_add_loop_test(tcase, there_is_no_other_way, 0,
			    (int)ARRAY_SIZE(dead_ends) * RIG_USERS);
	tcase_add_loop_test(tcase, the_gates_ports_cannot_be_taken, 0, RIG_USERS);
	return tcase;
}
