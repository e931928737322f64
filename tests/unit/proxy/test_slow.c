/* A side that does not read: the other side is held back, and the buffered data is limited. */
#include <string.h>
#include <sys/socket.h>

#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"
#include "proxy/way.h"

#define LARGE_BYTES (64U << 20)
#define PIECE_BYTES 65536

static size_t spilled(const struct rig *rig)
{
	return rig->proxy->shared.spilled;
}

/* Sends zeros until the other side does not read any more; returns their number. */
static size_t flood(struct rig *rig, int fd)
{
	static const char zeros[PIECE_BYTES];
	size_t sent = 0;
	int idle = 0;

	while (sent < LARGE_BYTES && idle < 100) {
		ssize_t more = send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL | MSG_DONTWAIT);

		idle = more > 0 ? 0 : idle + 1;
		sent += more > 0 ? (size_t)more : 0;
		loop_step(rig->loop);
		ck_assert_uint_le(spilled(rig), LIMITS_OUTPUT_BYTES);
	}
	return sent;
}

/* Reads until nothing comes; how many came. */
static size_t drain(struct rig *rig, int fd)
{
	static char bytes[PIECE_BYTES];
	size_t got = 0;
	int idle = 0;

	while (idle < 100) {
		ssize_t more = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		idle = more > 0 ? 0 : idle + 1;
		got += more > 0 ? (size_t)more : 0;
		loop_step(rig->loop);
	}
	return got;
}

static int tunnel(struct rig *rig, int *ret_server)
{
	int client = rig_connect(rig, RIG_HTTP);

	rig->promise = POLICY_TCP;
	rig_send(rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	*ret_server = rig_accept(rig);
	free(rig_read(rig, client, "\r\n\r\n"));
	return client;
}

START_TEST(tunnel_holds_the_sender_back)
{
	struct rig rig;
	int ends[2];
	size_t sent;

	rig_init(&rig);
	ends[0] = tunnel(&rig, &ends[1]);
	sent = flood(&rig, ends[_i]);
	ck_assert_uint_lt(sent, LARGE_BYTES);
	ck_assert_uint_gt(spilled(&rig), 0);
	ck_assert_uint_eq(drain(&rig, ends[!_i]), sent);
	ck_assert_uint_eq(spilled(&rig), 0);
	/* and it goes on */
	rig_send(&rig, ends[_i], "more");
	rig_expect(&rig, ends[!_i], "more");
	rig_close(&rig, ends[0]);
	rig_close(&rig, ends[1]);
	rig_done(&rig);
}
END_TEST

/* Buffered data is delivered before the half-close that follows it. */
START_TEST(half_close_waits_for_the_bytes)
{
	struct rig rig;
	int ends[2];
	size_t sent;

	rig_init(&rig);
	ends[0] = tunnel(&rig, &ends[1]);
	sent = flood(&rig, ends[_i]);
	rig_shut(&rig, ends[_i]);
	ck_assert_uint_eq(drain(&rig, ends[!_i]), sent);
	rig_expect_end(&rig, ends[!_i], false);
	rig_close(&rig, ends[0]);
	rig_close(&rig, ends[1]);
	rig_done(&rig);
}
END_TEST

START_TEST(answer_holds_the_server_back)
{
	struct rig rig;
	int client, server;
	size_t sent;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nConnection: close\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\n\r\n");
	sent = flood(&rig, server);
	ck_assert_uint_lt(sent, LARGE_BYTES);
	rig_close(&rig, server);
	ck_assert_uint_ge(drain(&rig, client), sent);
	ck_assert_uint_eq(spilled(&rig), 0);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	ck_assert_uint_ge(rig.reports[0].bytes_down, sent);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(upload_holds_the_client_back)
{
	struct rig rig;
	int client, server;
	size_t sent;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "PUT http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 99999999\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	sent = flood(&rig, client);
	ck_assert_uint_lt(sent, LARGE_BYTES);
	ck_assert_uint_eq(drain(&rig, server), sent);
	ck_assert_uint_eq(spilled(&rig), 0);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* A client that asks and asks and never reads is not served for ever: its answers wait for it, and
 * its requests in the kernel. */
START_TEST(pipelining_is_bounded)
{
	struct rig rig;
	int client;
	size_t sent = 0, answers = 0;
	auto_free char *ask = NULL;

	rig_init(&rig);
	ask = rig_expand(&rig, "GET http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\n\r\n");
	client = rig_connect(&rig, RIG_HTTP);
	for (int idle = 0; idle < 50;) {
		ssize_t more = send(client, ask, strlen(ask), MSG_NOSIGNAL | MSG_DONTWAIT);

		idle = more > 0 ? 0 : idle + 1;
		/* a cut request is sent to its end, or the stream would be none */
		if (more > 0 && (size_t)more < strlen(ask))
			break;
		sent += more > 0;
		loop_step(rig.loop);
		ck_assert_uint_le(spilled(&rig), LIMITS_OUTPUT_BYTES);
		ck_assert_uint_lt(sent, 200000);
	}
	answers = rig.submits;
	ck_assert_uint_lt(answers, sent);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

TCase *test_slow(void)
{
	TCase *tcase = tcase_create("slow");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, tunnel_holds_the_sender_back, 0, 2);
	tcase_add_loop_test(tcase, half_close_waits_for_the_bytes, 0, 2);
	tcase_add_test(tcase, answer_holds_the_server_back);
	tcase_add_test(tcase, upload_holds_the_client_back);
	tcase_add_test(tcase, pipelining_is_bounded);
	return tcase;
}
