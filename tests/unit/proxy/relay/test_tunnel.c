/* CONNECT, and the checks of the bytes after it. */
#include <string.h>

#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"
#define HELLO_ROOM  512

static int tunnel(struct rig *rig, enum policy_protocol promise, int *ret_server)
{
	int client = rig_connect(rig, RIG_HTTP);

	rig->promise = promise;
	rig_send(rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	*ret_server = rig_accept(rig);
	rig_expect(rig, client, ESTABLISHED);
	return client;
}

START_TEST(bytes_both_ways)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_TCP, &server);
	rig_send(&rig, server, "SSH-2.0-x\r\n");
	rig_expect(&rig, client, "SSH-2.0-x\r\n");
	rig_send(&rig, client, "GET http://{b}/ HTTP/1.1\r\n\r\n");
	rig_expect(&rig, server, "GET http://{b}/ HTTP/1.1\r\n\r\n");
	rig_close(&rig, client);
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	ck_assert_int_eq(rig.reports[0].verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(rig.reports[0].facts.way, POLICY_WAY_CONNECT);
	ck_assert_uint_eq(rig.reports[0].bytes_down, 11);
	ck_assert_uint_eq(rig.submits, 1);
	rig_done(&rig);
}
END_TEST

START_TEST(early_bytes_are_kept_and_are_no_request)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\nGET http://{b}/ HTTP/1.1\r\nHost: "
		 "{b}\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(&rig, client, ESTABLISHED);
	rig_expect(&rig, server, "GET http://{b}/ HTTP/1.1\r\nHost: {b}\r\n\r\n");
	ck_assert_uint_eq(rig.submits, 1);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* Also when CONNECT is refused: what follows it is not looked at. */
START_TEST(early_bytes_behind_a_refusal_are_no_request)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "CONNECT {denied} HTTP/1.1\r\nHost: {denied}\r\n\r\n"
		 "GET http://{b}/ HTTP/1.1\r\nHost: {b}\r\n\r\n");
	free(rig_read(&rig, client, "next: "));
	free(rig_read(&rig, client, NULL));
	ck_assert(rig_is_undialled(&rig));
	ck_assert_uint_eq(rig.submits, 1);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* The leg that an exchange left behind is not the tunnel's. */
START_TEST(tunnel_behind_an_exchange)
{
	struct rig rig;
	int client, first, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	first = rig_accept(&rig);
	free(rig_read(&rig, first, "\r\n\r\n"));
	rig_send(&rig, first, "HTTP/1.1 204 No\r\n\r\n");
	rig_expect(&rig, client, "HTTP/1.1 204 No\r\n\r\n");
	rig_send(&rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(&rig, client, ESTABLISHED);
	rig_send(&rig, client, "bytes");
	rig_expect(&rig, server, "bytes");
	rig_expect_quiet(&rig, first);
	rig_close(&rig, client);
	rig_close(&rig, first);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(failed_dial_is_no_200)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "CONNECT {gone} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n");
	auto_free char *answer = rig_read(&rig, client, "}\n");
	ck_assert_int_eq(strncmp(answer, "HTTP/1.1 502 Bad Gateway\r\n", 26), 0);
	ck_assert_ptr_nonnull(
		strstr(answer, "\"status\":\"failed\",\"reason\":\"connect_refused\""));
	ck_assert_ptr_nonnull(strstr(answer, "\"cause\":\"127.0.0.1:"));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_CONNECT_REFUSED);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(half_close_is_kept)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_TCP, &server);
	rig_send(&rig, client, "ask");
	rig_shut(&rig, client);
	rig_expect(&rig, server, "ask");
	rig_expect_end(&rig, server, false);
	loop_advance(rig.loop, 60000);
	rig_send(&rig, server, "answer");
	rig_expect(&rig, client, "answer");
	rig_expect_quiet(&rig, client);
	rig_close(&rig, server);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	rig_done(&rig);
}
END_TEST

START_TEST(idle_tunnel_is_closed)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_TCP, &server);
	loop_advance(rig.loop, LIMITS_TUNNEL_MS - 1);
	rig_send(&rig, server, "x");
	rig_expect(&rig, client, "x");
	loop_advance(rig.loop, LIMITS_TUNNEL_MS - 1);
	rig_expect_quiet(&rig, client);
	loop_advance(rig.loop, 1);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_IDLE);
	rig_done(&rig);
}
END_TEST

START_TEST(reset_goes_through)
{
	struct linger now = { .l_onoff = 1 };
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_TCP, &server);
	ck_assert_int_eq(setsockopt(server, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	rig_close(&rig, server);
	rig_expect_end(&rig, client, true);
	rig_close(&rig, client);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_RESET);
	rig_done(&rig);
}
END_TEST

struct writer {
	uint8_t bytes[HELLO_ROOM];
	size_t len;
};

static void put(struct writer *writer, const void *bytes, size_t len)
{
	ck_assert_uint_le(writer->len + len, HELLO_ROOM);
	memcpy(writer->bytes + writer->len, bytes, len);
	writer->len += len;
}

static void put_u16(struct writer *writer, size_t value)
{
	uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	put(writer, bytes, 2);
}

/* A ClientHello (RFC 8446 §4.1.2) in one record; @name NULL: without server_name. */
static void write_hello(struct writer *writer, const char *name, bool has_ech)
{
	static const uint8_t head[] = { 3, 3 };
	static const uint8_t random[32], tail[] = { 0, 0, 2, 0x13, 1, 1, 0 };
	static const uint8_t ech[] = { 0xfe, 0x0d, 0, 4, 0, 0, 1, 0 };
	size_t name_len = name ? strlen(name) : 0;
	size_t extensions = (name ? 9 + name_len : 0) + (has_ech ? sizeof(ech) : 0);
	size_t hello = 2 + 32 + sizeof(tail) + 2 + extensions;

	writer->len = 0;
	put(writer, "\x16\x03\x01", 3);
	put_u16(writer, hello + 4);
	put(writer, "\x01\x00", 2);
	put_u16(writer, hello);
	put(writer, head, 2);
	put(writer, random, 32);
	put(writer, tail, sizeof(tail));
	put_u16(writer, extensions);
	if (name) {
		put_u16(writer, 0);
		put_u16(writer, name_len + 5);
		put_u16(writer, name_len + 3);
		put(writer, "", 1);
		put_u16(writer, name_len);
		put(writer, name, name_len);
	}
	if (has_ech)
		put(writer, ech, sizeof(ech));
}

static const struct {
	const char *name;
	bool has_ech;
	enum policy_reason reason;
	uint8_t alert;
} hellos[] = {
	{ "a.test", false, POLICY_DONE, 0 },
	{ "A.Test", false, POLICY_DONE, 0 },
	{ "a.test", true, POLICY_DONE, 0 }, /* GREASE, for all anyone can tell */
	{ "b.test", false, POLICY_HOST_MISMATCH, 112 },
	{ "b.test", true, POLICY_HOST_MISMATCH, 112 },
	{ "www.a.test", false, POLICY_HOST_MISMATCH, 112 },
	{ "127.0.0.1", false, POLICY_HOST_MISMATCH, 112 },
	{ NULL, false, POLICY_NO_SERVER_NAME, 112 },
	{ NULL, true, POLICY_NO_SERVER_NAME, 112 },
};

static void play_hello(int row, bool in_pieces)
{
	struct writer hello;
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	write_hello(&hello, hellos[row].name, hellos[row].has_ech);
	for (size_t at = 0; at < hello.len; at += in_pieces ? 1 : hello.len)
		rig_send_bytes(&rig, client, hello.bytes + at, in_pieces ? 1 : hello.len);
	if (hellos[row].reason == POLICY_DONE) {
		rig_expect_bytes(&rig, server, hello.bytes, hello.len);
		rig_send(&rig, server, "hello yourself");
		rig_expect(&rig, client, "hello yourself");
		rig_close(&rig, client);
	} else {
		const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, hellos[row].alert };

		rig_expect_bytes(&rig, client, alert, sizeof(alert));
		rig_expect_end(&rig, client, false);
		ck_assert_int_eq(rig_report(&rig, 1)->verdict.action, POLICY_DENY);
		ck_assert_int_eq(rig.reports[0].verdict.reason, hellos[row].reason);
		ck_assert_uint_eq(rig.reports[0].bytes_up, 0);
		rig_close(&rig, client);
	}
	rig_expect_end(&rig, server, false); /* and not a byte before it */
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.action,
			 hellos[row].reason == POLICY_DONE ? POLICY_ALLOW : POLICY_DENY);
	rig_done(&rig);
}

START_TEST(server_name_is_the_approved_one)
{
	play_hello(_i, false);
}
END_TEST

START_TEST(server_name_byte_by_byte)
{
	play_hello(_i, true);
}
END_TEST

START_TEST(what_is_not_tls_gets_nowhere)
{
	static const char *const first[] = { "SSH-2.0-x\r\n", "GET / HTTP/1.1\r\n\r\n",
					     "\x80\x2e\x01" };
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	rig_send(&rig, client, first[_i]);
	rig_expect_end(&rig, client, false);
	rig_expect_end(&rig, server, false);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_NOT_TLS);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(hello_that_never_ends)
{
	struct writer hello;
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	write_hello(&hello, "a.test", false);
	rig_send_bytes(&rig, client, hello.bytes, _i ? hello.len - 1 : 0);
	loop_advance(rig.loop, LIMITS_HELLO_MS - 1);
	rig_expect_quiet(&rig, client);
	loop_advance(rig.loop, 1);
	rig_expect_end(&rig, server, false);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, _i ? POLICY_NOT_TLS : POLICY_CLIENT_TIMEOUT);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(server_that_speaks_first_waits_for_the_hello)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	rig_send(&rig, server, "220 mail\r\n");
	rig_expect_quiet(&rig, client);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

static const uint8_t change[] = { 20, 3, 3, 0, 1, 1 }, data[] = { 23, 3, 3, 0, 2, 7, 7 },
		     heartbeat[] = { 24, 3, 3, 0, 1, 1 };

/* What follows the first hello, and what comes of it. */
static const struct {
	const char *name; /* of the second hello */
	bool has_hello, has_change, has_data, has_heartbeat;
	enum policy_reason reason;
} seconds[] = {
	{ "a.test", true, false, false, false, POLICY_DONE },
	{ "a.test", true, true, false, false, POLICY_DONE },
	{ "b.test", true, false, false, false, POLICY_HOST_MISMATCH },
	{ "b.test", true, true, false, false, POLICY_HOST_MISMATCH },
	{ "b.test", true, true, true, false, POLICY_HOST_MISMATCH },
	{ NULL, true, false, false, false, POLICY_NO_SERVER_NAME },
	{ "b.test", false, false, false, true, POLICY_MALFORMED },
};

/* A server that asks for another hello gets one that names the same host, or none. */
static void play_second(int row, size_t at_once)
{
	struct writer first, second = { .len = 0 };
	uint8_t all[3 * HELLO_ROOM];
	size_t len = 0;
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	write_hello(&first, "a.test", false);
	if (seconds[row].has_hello)
		write_hello(&second, seconds[row].name, false);
	memcpy(all, first.bytes, len = first.len);
	if (seconds[row].has_change)
		memcpy(all + len, change, sizeof(change)), len += sizeof(change);
	if (seconds[row].has_data)
		memcpy(all + len, data, sizeof(data)), len += sizeof(data);
	if (seconds[row].has_heartbeat)
		memcpy(all + len, heartbeat, sizeof(heartbeat)), len += sizeof(heartbeat);
	memcpy(all + len, second.bytes, second.len);
	len += second.len;
	for (size_t at = 0; at < len; at += at_once)
		rig_send_bytes(&rig, client, all + at, at_once < len - at ? at_once : len - at);
	if (seconds[row].reason == POLICY_DONE) {
		rig_expect_bytes(&rig, server, all, len);
		rig_close(&rig, client);
		rig_expect_end(&rig, server, false);
	} else {
		auto_free char *sent = NULL;

		ck_assert_int_eq(rig_report(&rig, 1)->verdict.action, POLICY_DENY);
		ck_assert_int_eq(rig.reports[0].verdict.reason, seconds[row].reason);
		ck_assert_uint_le(rig.reports[0].bytes_up, len - second.len);
		rig_close(&rig, client);
		sent = rig_read(&rig, server, NULL);
		ck_assert_ptr_null(strstr(sent, "b.test"));
	}
	rig_close(&rig, server);
	rig_done(&rig);
}

START_TEST(second_hello_in_one_segment)
{
	play_second(_i, 3 * HELLO_ROOM);
}
END_TEST

START_TEST(second_hello_byte_by_byte)
{
	play_second(_i, 1);
}
END_TEST

/* Behind the handshake nothing is looked at any more. */
START_TEST(encrypted_bytes_are_carried_as_they_are)
{
	static const uint8_t server_hello[] = { 22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3, [46] = 0 };
	struct writer hello;
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	write_hello(&hello, "a.test", false);
	rig_send_bytes(&rig, client, hello.bytes, hello.len);
	rig_expect_bytes(&rig, server, hello.bytes, hello.len);
	rig_send_bytes(&rig, server, server_hello, sizeof(server_hello));
	rig_expect_bytes(&rig, client, server_hello, sizeof(server_hello));
	rig_send_bytes(&rig, client, change, sizeof(change));
	rig_send_bytes(&rig, client, data, sizeof(data));
	rig_send(&rig, client, "anything");
	rig_expect_bytes(&rig, server, change, sizeof(change));
	rig_expect_bytes(&rig, server, data, sizeof(data));
	rig_expect(&rig, server, "anything");
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* Half a record is not sent on when its other half will not come. */
START_TEST(end_in_the_middle_of_a_second_hello)
{
	struct writer hello, second;
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, POLICY_HTTPS, &server);
	write_hello(&hello, "a.test", false);
	write_hello(&second, "a.test", false);
	rig_send_bytes(&rig, client, hello.bytes, hello.len);
	rig_expect_bytes(&rig, server, hello.bytes, hello.len);
	rig_send_bytes(&rig, client, second.bytes, second.len - 1);
	rig_expect_quiet(&rig, server);
	rig_shut(&rig, client);
	rig_expect_end(&rig, server, true);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_CLIENT_CLOSED);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

TCase *test_tunnel(void)
{
	TCase *tcase = tcase_create("tunnel");

	tcase_add_test(tcase, bytes_both_ways);
	tcase_add_test(tcase, early_bytes_are_kept_and_are_no_request);
	tcase_add_test(tcase, early_bytes_behind_a_refusal_are_no_request);
	tcase_add_test(tcase, tunnel_behind_an_exchange);
	tcase_add_test(tcase, failed_dial_is_no_200);
	tcase_add_test(tcase, half_close_is_kept);
	tcase_add_test(tcase, idle_tunnel_is_closed);
	tcase_add_test(tcase, reset_goes_through);
	tcase_add_loop_test(tcase, server_name_is_the_approved_one, 0, (int)ARRAY_SIZE(hellos));
	tcase_add_loop_test(tcase, server_name_byte_by_byte, 0, (int)ARRAY_SIZE(hellos));
	tcase_add_loop_test(tcase, what_is_not_tls_gets_nowhere, 0, 3);
	tcase_add_loop_test(tcase, hello_that_never_ends, 0, 2);
	tcase_add_loop_test(tcase, second_hello_in_one_segment, 0, (int)ARRAY_SIZE(seconds));
	tcase_add_loop_test(tcase, second_hello_byte_by_byte, 0, (int)ARRAY_SIZE(seconds));
	tcase_add_test(tcase, encrypted_bytes_are_carried_as_they_are);
	tcase_add_test(tcase, end_in_the_middle_of_a_second_hello);
	tcase_add_test(tcase, server_that_speaks_first_waits_for_the_hello);
	return tcase;
}
