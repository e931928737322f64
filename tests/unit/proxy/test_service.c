/* Clients outside of every sandbox: who they are, and how they end. */
#include <stdlib.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/crypto/digest.h"
#include "tests/unit/proxy/rig.h"

#define SECRET "a secret, with: every byte"

enum who { NOBODY = 1, NEAR, NAMED };

static struct {
	char digest[DIGEST_TEXT_MAX];
	struct proxy_login login;
	struct proxy_source sources[2];
} known;

/* @is_near: our own address is a client's. */
static void serve(struct rig *rig, bool is_near, bool has_logins, bool is_open)
{
	ck_assert_int_eq(digest_text(SECRET, strlen(SECRET), "", 0, known.digest), 0);
	known.login = (struct proxy_login){ "ci", known.digest, NAMED };
	/* The wider block comes last, and is nobody's. */
	known.sources[0] =
		(struct proxy_source){ { { AF_INET, { 127 } }, 8 }, is_near ? NEAR : NOBODY };
	known.sources[1] = (struct proxy_source){ { { AF_INET, { 0 } }, 0 }, NOBODY };
	const struct proxy_service service = {
		.sources = known.sources,
		.source_count = ARRAY_SIZE(known.sources),
		.logins = &known.login,
		.login_count = has_logins,
		.exec_count = NAMED,
		.is_open = is_open,
		.shares = 1,
	};

	rig_init_service(rig, &service);
}

/* The head of a request with these credentials; NULL: none. */
static void ask(struct rig *rig, int client, const char *scheme, const char *login)
{
	auto_free char *encoded = login ? base64_encode(login, strlen(login)) : NULL;
	auto_free char *field = login ? mem_printf("Proxy-Authorization: %s%s\r\n", scheme, encoded)
				      : mem_strdup("");
	auto_free char *head = mem_printf("GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n%s\r\n", field);

	rig_send(rig, client, head);
}

static void expect_refused(struct rig *rig, int client, const char *status, enum policy_reason why)
{
	auto_free char *said = rig_read(rig, client, NULL);

	ck_assert_msg(strncmp(said, status, strlen(status)) == 0, "%s", said);
	ck_assert_ptr_nonnull(strstr(said, policy_reason_code(why)));
	ck_assert_int_eq(!strstr(said, "\r\nproxy-authenticate: Basic realm="),
			 why != POLICY_LOGIN_NEEDED);
	ck_assert_uint_eq(rig->submits, 0);
	ck_assert_int_eq(rig_report(rig, rig->report_count)->closed, why);
	rig_close(rig, client);
}

static const struct {
	bool is_near, has_logins, is_open;
	const char *scheme, *login;
	uint64_t exec;          /* 0: refused, */
	enum policy_reason why; /* with this reason */
} visits[] = {
	{ false, false, true, "", NULL, NOBODY, POLICY_NONE },
	{ true, false, false, "", NULL, NEAR, POLICY_NONE },
	{ false, false, false, "", NULL, 0, POLICY_CLIENT_UNKNOWN },
	{ false, true, false, "", NULL, 0, POLICY_LOGIN_NEEDED },
	{ false, true, true, "", NULL, NOBODY, POLICY_NONE },
	{ true, true, false, "", NULL, NEAR, POLICY_NONE },
	{ false, true, false, "Basic ", "ci:" SECRET, NAMED, POLICY_NONE },
	{ true, true, false, "bASIC   ", "ci:" SECRET, NAMED, POLICY_NONE },
	/* where nobody has a secret, what is sent does not count */
	{ true, false, false, "Basic ", "ci:" SECRET, NEAR, POLICY_NONE },
	/* wrong, where none would do */
	{ true, true, true, "Basic ", "ci:another", 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic ", "ci:" SECRET "x", 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic ", "ci:", 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic ", "c:" SECRET, 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic ", "ci", 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic ", ":" SECRET, 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic", "ci:" SECRET, 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Bearer ", "ci:" SECRET, 0, POLICY_LOGIN_NEEDED },
	{ true, true, true, "Basic !", "ci:" SECRET, 0, POLICY_LOGIN_NEEDED },
	/* two, of which another proxy may have added the one that it means */
	{ true, true, true,
	  "Basic Y2k6YSBzZWNyZXQsIHdpdGg6IGV2ZXJ5IGJ5dGU=\r\nProxy-Authorization: Basic ",
	  "ci:another", 0, POLICY_LOGIN_NEEDED },
};

START_TEST(a_client_is_known_by_its_address_or_its_secret)
{
	struct rig rig;
	int client, server;

	serve(&rig, visits[_i].is_near, visits[_i].has_logins, visits[_i].is_open);
	client = rig_connect(&rig, RIG_SERVICE);
	ask(&rig, client, visits[_i].scheme, visits[_i].login);
	if (visits[_i].exec == 0) {
		expect_refused(&rig, client,
			       visits[_i].why == POLICY_LOGIN_NEEDED ? "HTTP/1.1 407 "
								     : "HTTP/1.1 403 ",
			       visits[_i].why);
	} else {
		server = rig_accept(&rig);
		ck_assert_uint_eq(rig.asked.exec, visits[_i].exec);
		ck_assert_int_eq(rig.asked.peer.family, AF_INET);
		ck_assert_int_eq(rig.asked.peer.bytes[0], 127);
		auto_free char *head = rig_read(&rig, server, "\r\n\r\n");

		ck_assert_ptr_null(strcasestr(head, "proxy-authorization"));
		rig_close(&rig, server);
		rig_close(&rig, client);
	}
	rig_done(&rig);
}
END_TEST

/* RFC 1929: bytes of both, with their lengths. */
static void send_login(struct rig *rig, int client, const char *name, const char *secret)
{
	auto_free char *bytes =
		mem_printf("\x01%c%s%c%s", (char)strlen(name), name, (char)strlen(secret), secret);

	rig_send_bytes(rig, client, bytes, strlen(name) + strlen(secret) + 3);
}

static const struct {
	bool is_near;
	const char *methods; /* offered */
	const char *chosen;
	const char *secret; /* that is sent then; NULL: none */
	bool is_known;
} greetings[] = {
	{ false, "\x05\x01\x02", "\x05\x02", SECRET, true },
	{ false, "\x05\x02\x01\x02", "\x05\x02", SECRET, true },
	{ false, "\x05\x01\x02", "\x05\x02", "wrong", false },
	{ true, "\x05\x01\x02", "\x05\x02", "wrong", false },
	{ true, "\x05\x01\x02", "\x05\x02", SECRET, true },
	{ false, "\x05\x01\x03", "\x05\xff", NULL, false },
};

START_TEST(a_login_of_socks_is_checked)
{
	struct rig rig;
	int client;

	serve(&rig, greetings[_i].is_near, true, false);
	client = rig_connect(&rig, RIG_SERVICE);
	rig_send_bytes(&rig, client, greetings[_i].methods, strlen(greetings[_i].methods));
	rig_expect_bytes(&rig, client, greetings[_i].chosen, 2);
	if (greetings[_i].secret) {
		send_login(&rig, client, "ci", greetings[_i].secret);
		rig_expect_bytes(&rig, client, greetings[_i].is_known ? "\x01\x00" : "\x01\x01", 2);
	}
	if (!greetings[_i].is_known) {
		rig_expect_end(&rig, client, false);
		ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_LOGIN_NEEDED);
	}
	ck_assert_uint_eq(rig.submits, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(a_client_without_a_name_may_not_choose_to_send_none)
{
	static const uint8_t none[] = { 5, 1, 0 };
	struct rig rig;
	int client;

	serve(&rig, false, true, false);
	client = rig_connect(&rig, RIG_SERVICE);
	rig_send_bytes(&rig, client, none, sizeof(none));
	rig_expect_bytes(&rig, client, "\x05\xff", 2);
	rig_expect_end(&rig, client, false);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_LOGIN_NEEDED);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

static const char *const loopbacks[] = { "127.0.0.1:1", "localhost:1", "[::1]:1", "x.localhost:1" };

START_TEST(loopback_is_nobodys)
{
	struct rig rig;

	serve(&rig, true, false, false);
	int client = rig_connect(&rig, RIG_SERVICE);
	auto_free char *head =
		mem_printf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", loopbacks[_i], loopbacks[_i]);

	rig_send(&rig, client, head);
	expect_refused(&rig, client, "HTTP/1.1 403 ", POLICY_OWN_LISTENER);
	rig_done(&rig);
}
END_TEST

START_TEST(what_is_open_ends_before_the_proxy)
{
	struct rig rig;
	int idle, carried, server;

	serve(&rig, true, false, false);
	rig.promise = POLICY_TCP;
	idle = rig_connect(&rig, RIG_SERVICE);
	carried = rig_connect(&rig, RIG_SERVICE);
	rig_send(&rig, carried, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, carried, "\r\n\r\n"));
	proxy_drain(rig.proxy);
	rig_expect_end(&rig, idle, false);
	rig_close(&rig, idle);
	rig_send(&rig, carried, "still here");
	rig_expect(&rig, server, "still here");
	ck_assert_uint_eq(rig.drains, 0);
	rig_close(&rig, carried);
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	rig_settle(&rig);
	ck_assert_uint_eq(rig.drains, 1);
	rig_done(&rig);
}
END_TEST

START_TEST(a_request_is_the_last_of_its_connection)
{
	struct rig rig;
	int client, server;

	serve(&rig, true, false, false);
	client = rig_connect(&rig, RIG_SERVICE);
	ask(&rig, client, "", NULL);
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	proxy_drain(rig.proxy);
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	auto_free char *said = rig_read(&rig, client, NULL);

	ck_assert_ptr_nonnull(strstr(said, "\r\n\r\nok"));
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_settle(&rig);
	ck_assert_uint_eq(rig.drains, 1);
	rig_done(&rig);
}
END_TEST

/* The client at this address was ended; a login of another, on the same connection, is over. */
START_TEST(a_login_ends_with_its_request)
{
	struct rig rig;
	int client, server;

	serve(&rig, false, true, false);
	client = rig_connect(&rig, RIG_SERVICE);
	ask(&rig, client, "Basic ", "ci:" SECRET);
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	proxy_close(rig.proxy, NOBODY);
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	free(rig_read(&rig, client, "ok"));
	rig_close(&rig, server);
	rig.submits = 0;
	ask(&rig, client, "", NULL);
	auto_free char *said = rig_read(&rig, client, NULL);

	ck_assert_ptr_nonnull(strstr(said, policy_reason_code(POLICY_GATE_CLOSING)));
	ck_assert_uint_eq(rig.submits, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(nothing_open_ends_at_once)
{
	struct rig rig;

	serve(&rig, true, true, true);
	proxy_drain(rig.proxy);
	rig_settle(&rig);
	ck_assert_uint_eq(rig.drains, 1);
	rig_done(&rig);
}
END_TEST

TCase *test_service(void)
{
	TCase *tcase = tcase_create("service");

	tcase_add_loop_test(tcase, a_client_is_known_by_its_address_or_its_secret, 0,
			    ARRAY_SIZE(visits));
	tcase_add_loop_test(tcase, a_login_of_socks_is_checked, 0, ARRAY_SIZE(greetings));
	tcase_add_test(tcase, a_client_without_a_name_may_not_choose_to_send_none);
	tcase_add_loop_test(tcase, loopback_is_nobodys, 0, ARRAY_SIZE(loopbacks));
	tcase_add_test(tcase, what_is_open_ends_before_the_proxy);
	tcase_add_test(tcase, a_request_is_the_last_of_its_connection);
	tcase_add_test(tcase, a_login_ends_with_its_request);
	tcase_add_test(tcase, nothing_open_ends_at_once);
	return tcase;
}
