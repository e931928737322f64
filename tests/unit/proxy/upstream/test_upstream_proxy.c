#include "tests/unit/proxy/dial_test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "policies/policies_upstream.h"
#include "proxy/limits.h"
#include "proxy/upstream/dial.h"
#include "proxy/upstream/upstream_talk.h"

#define NAMED   "\0\3\4name\0\0"
#define REQUEST "\5\1\0\3\6a.test\0\120"
#define LOGIN   "\1\3ana\4hush"
#define TEXT(s) s, sizeof(s) - 1
#define OK      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

/* What the proxy sends, as one stream, and what it is sent. @want: 0: a tunnel, and the @left last
 * bytes of the stream belong to it. */
static const struct talk {
	const char *url, *host, *answer;
	size_t answer_len, left;
	const char *sent;
	size_t sent_len;
	enum policy_reason want;
	const char *cause;
} talks[] = {
	{ "http://p.test:1", "a.test", TEXT(OK), 0,
	  TEXT("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n"), POLICY_NONE, "" },
	{ "http://p.test:1", "fd00::1", TEXT("HTTP/1.0 200 Established\r\n\r\nhello"), 5,
	  TEXT("CONNECT [fd00::1]:80 HTTP/1.1\r\nHost: [fd00::1]:80\r\n\r\n"), POLICY_NONE, "" },
	{ "http://ana:hush@p.test:1", "a.test", TEXT("HTTP/1.1 299 \r\n\r\n"), 0,
	  TEXT("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n"
	       "Proxy-Authorization: Basic YW5hOmh1c2g=\r\n\r\n"),
	  POLICY_NONE, "" },
	{ "http://p.test:1", "a.test", TEXT("HTTP/1.1 403 No\x1b[2J\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_FAILED, "http://p.test:1 did not answer as HTTP/1.1" },
	{ "http://p.test:1", "a.test", TEXT("HTTP/1.1 503 Busy\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_REFUSED, "http://p.test:1 answered 503 Busy" },
	{ "http://p.test:1", "a.test", TEXT("HTTP/1.1 407 Login\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_REFUSED, "http://p.test:1 answered 407 Login; it needs a login" },
	{ "http://ana:hush@p.test:1", "a.test", TEXT("HTTP/1.1 407 Login\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_REFUSED, "http://p.test:1 answered 407 Login; the login is wrong" },
	{ "http://p.test:1", "a.test", TEXT("HTTP/1.1 100 Wait\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_REFUSED, "http://p.test:1 answered 100 Wait" },
	{ "http://p.test:1", "a.test", TEXT("HTTP/1.1 101 Switch\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_REFUSED, "http://p.test:1 answered 101 Switch" },
	{ "http://p.test:1", "a.test", TEXT("HTTP/1.1 20 OK\r\n\r\n"), 0, NULL, 0,
	  POLICY_PROXY_FAILED, "http://p.test:1 did not answer as HTTP/1.1" },
	{ "http://p.test:1", "a.test", TEXT("SSH-2.0"), 0, NULL, 0, POLICY_PROXY_FAILED,
	  "http://p.test:1 did not answer as HTTP/1.1" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\0\5\0" NAMED "hi"), 2, TEXT("\5\1\0" REQUEST),
	  POLICY_NONE, "" },
	{ "socks5h://p.test:1", "10.0.0.1", TEXT("\5\0\5\0\0\1\0\0\0\0\0\0"), 0,
	  TEXT("\5\1\0\5\1\0\1\12\0\0\1\0\120"), POLICY_NONE, "" },
	{ "socks5h://p.test:1", "::2", TEXT("\5\0\5\0\0\4iiiiiiiiiiiiiiii\0\0"), 0,
	  TEXT("\5\1\0\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\120"), POLICY_NONE, "" },
	{ "socks5h://ana:hush@p.test:1", "a.test", TEXT("\5\2\1\0\5\0" NAMED), 0,
	  TEXT("\5\2\0\2" LOGIN REQUEST), POLICY_NONE, "" },
	{ "socks5h://ana:hush@p.test:1", "a.test", TEXT("\5\0\5\0" NAMED), 0,
	  TEXT("\5\2\0\2" REQUEST), POLICY_NONE, "" },
	{ "socks5h://ana:hush@p.test:1", "a.test", TEXT("\5\2\1\1"), 0, NULL, 0,
	  POLICY_PROXY_REFUSED, "socks5h://p.test:1 refused the login" },
	{ "socks5h://ana:hush@p.test:1", "a.test", TEXT("\5\2\5\0"), 0, NULL, 0,
	  POLICY_PROXY_FAILED, "socks5h://p.test:1 did not answer as SOCKS5" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\2"), 0, NULL, 0, POLICY_PROXY_REFUSED,
	  "socks5h://p.test:1 needs a login" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\377"), 0, NULL, 0, POLICY_PROXY_REFUSED,
	  "socks5h://p.test:1 needs a login" },
	{ "socks5h://p.test:1", "a.test", TEXT("HTTP"), 0, NULL, 0, POLICY_PROXY_FAILED,
	  "socks5h://p.test:1 did not answer as SOCKS5" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\0\5\2"), 0, NULL, 0, POLICY_PROXY_REFUSED,
	  "socks5h://p.test:1 answered that its rules do not allow this destination" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\0\5\143"), 0, NULL, 0, POLICY_PROXY_REFUSED,
	  "socks5h://p.test:1 refused the connection" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\0\4\0\0\1\0\0\0\0\0\0"), 0, NULL, 0,
	  POLICY_PROXY_FAILED, "socks5h://p.test:1 did not answer as SOCKS5" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\0\5\0\1\1\0\0\0\0\0\0"), 0, NULL, 0,
	  POLICY_PROXY_FAILED, "socks5h://p.test:1 did not answer as SOCKS5" },
	{ "socks5h://p.test:1", "a.test", TEXT("\5\0\5\0\0\2\0\0\0"), 0, NULL, 0,
	  POLICY_PROXY_FAILED, "socks5h://p.test:1 did not answer as SOCKS5" },
};

static void start_talk(struct upstream_talk *talk, struct policy_upstream *upstream,
		       struct policy_destination *dst, const char *url, const char *host)
{
	ck_assert_int_eq(policy_upstream_parse(url, upstream, NULL), 0);
	ck_assert_int_eq(policy_destination_set(dst, host, strlen(host), 80, NULL), 0);
	*talk = (struct upstream_talk){ 0 };
	upstream_talk_begin(talk, upstream, dst);
}

/* Plays a talk with answers that arrive in pieces of @step bytes. */
static void play(const struct talk *want, size_t step)
{
	struct upstream_talk talk;
	struct policy_upstream upstream;
	struct policy_destination dst;
	char sent[600];
	size_t sent_len = 0, at = 0, shown = step;
	int r = 1;

	start_talk(&talk, &upstream, &dst, want->url, want->host);
	while (r != 0 && r != -EBADMSG) {
		size_t used = 0;

		if (r == 1) {
			ck_assert_uint_le(sent_len + talk.out_len, sizeof(sent));
			memcpy(sent + sent_len, talk.out, talk.out_len);
			sent_len += talk.out_len;
		}
		ck_assert_msg(at < want->answer_len, "%s waits for more", want->url);
		shown = at + step < want->answer_len ? step : want->answer_len - at;
		r = upstream_talk_read(&talk, want->answer + at, shown, &used);
		ck_assert_uint_le(used, shown);
		ck_assert(used > 0 || r == -EBADMSG);
		at += used;
	}
	ck_assert_msg(talk.reason == want->want, "%s: %s", policy_reason_code(talk.reason),
		      talk.cause);
	ck_assert_str_eq(talk.cause, want->cause);
	ck_assert_int_eq(r, want->want == POLICY_NONE ? 0 : -EBADMSG);
	if (r != 0)
		return;
	ck_assert_uint_eq(want->answer_len - at, want->left);
	ck_assert_uint_eq(sent_len, want->sent_len);
	ck_assert_mem_eq(sent, want->sent, sent_len);
}

START_TEST(an_answer_means_one_thing_however_it_arrives)
{
	play(&talks[_i], SIZE_MAX / 2);
	play(&talks[_i], 1);
	play(&talks[_i], 3);
}
END_TEST

START_TEST(an_answer_has_a_limit)
{
	static const char begin[] = "HTTP/1.1 200 OK\r\n", field[] = "X: y\r\n";
	struct upstream_talk talk;
	struct policy_upstream upstream;
	struct policy_destination dst;
	size_t used = 0, total = 0;
	int r;

	start_talk(&talk, &upstream, &dst, "http://p.test:1", "a.test");
	r = upstream_talk_read(&talk, begin, sizeof(begin) - 1, &used);
	while (r == -EAGAIN && total <= UPSTREAM_TALK_IN_MAX) {
		r = upstream_talk_read(&talk, field, sizeof(field) - 1, &used);
		total += used;
	}
	ck_assert_int_eq(r, -EBADMSG);
	ck_assert_int_eq(talk.reason, POLICY_PROXY_FAILED);
	ck_assert_str_eq(talk.cause, "http://p.test:1 sent a head that is too large");
}
END_TEST

struct fixture {
	struct dial_test base;
	struct policy *policy;
	struct dialer *dialer;
	struct policy_upstreams upstreams;
	struct proxy_config config;
	int listener, runs;
	struct dial_result result;
};

static void on_done(struct dial_result *result, void *arg)
{
	struct fixture *fixture = arg;

	fixture->runs++;
	fixture->result = *result;
}

/* Nobody has its key. */
static const char authority[] = "-----BEGIN CERTIFICATE-----\n"
				"MIIBdDCCARugAwIBAgIUS0VBb479CqUf9eaM/UbNXihLQb0wCgYIKoZIzj0EAwIw\n"
				"DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjcwODU4MTBaGA8yMTI2MTEwMzA4NTgx\n"
				"MFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMGu\n"
				"NRnLqD6RlPr3dPuAUcAV/SivOj1UnKY0lKjZf0d1DeIpjDQJPZMghszET4twTD0I\n"
				"Lziq99LmIh6gD4OIn72jUzBRMB0GA1UdDgQWBBSpQ0C2qV3d08CwG0Ydc2lFcBNe\n"
				"CDAfBgNVHSMEGDAWgBSpQ0C2qV3d08CwG0Ydc2lFcBNeCDAPBgNVHRMBAf8EBTAD\n"
				"AQH/MAoGCCqGSM49BAMCA0cAMEQCIBXAyfxjlJZLqFSJ1WQimws/9oFye4c1gy88\n"
				"e1WJbKgLAiAD/OeVfxqclIu2/ETMt2z9/sOGqxKaeCdEymS8HbYjSg==\n"
				"-----END CERTIFICATE-----\n";

static void begin_with(struct fixture *fixture, const char *scheme)
{
	static const struct dns_name zone[] = { { .name = "p.test", .v4 = "127.0.0.1" } };
	uint16_t port = 0;
	char url[64];

	(void)signal(SIGPIPE, SIG_IGN); /* as in a worker */
	*fixture = (struct fixture){ .result.fd = -1, .upstreams.direct = "" };
	fixture->listener = dial_test_listen("127.0.0.1", &port, 5);
	(void)snprintf(url, sizeof(url), "%sp.test:%u", scheme, (unsigned int)port);
	ck_assert_int_eq(policy_upstream_parse(url, &fixture->upstreams.http, NULL), 0);
	fixture->upstreams.authorities = fixture->upstreams.http.is_tls ? authority : NULL;
	fixture->config.upstreams = &fixture->upstreams;
	dial_test_init(&fixture->base, zone, ARRAY_SIZE(zone), NULL, 0);
	fixture->policy = policy_new();
	policy_load_text(fixture->policy, "<test>", "version 1\ndeny 203.0.115.0/24:*\n");
	ck_assert_int_eq(policy_finish(fixture->policy), 0);
	fixture->dialer = dialer_new(fixture->base.loop, fixture->base.resolver, fixture->policy);
	ck_assert_int_eq(dialer_set_upstreams(fixture->dialer, &fixture->config, NULL), 0);
}

static void begin(struct fixture *fixture)
{
	begin_with(fixture, "http://");
}

static void done(struct fixture *fixture)
{
	fd_close(fixture->result.fd);
	fd_close(fixture->listener);
	dialer_free(fixture->dialer);
	policy_free(fixture->policy);
	dial_test_done(&fixture->base);
}

static struct dial *start(struct fixture *fixture, const char *host)
{
	struct policy_verdict verdict = { .action = POLICY_ALLOW,
					  .reason = POLICY_RULE_ALLOW,
					  .promise = POLICY_TCP };
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, host, strlen(host), 80, NULL), 0);
	return dial_start(fixture->dialer, 0, &dst, &verdict, true, on_done, fixture);
}

/* Waits until the dialler has connected to the proxy and sent its request. */
static int accept_bytes(struct fixture *fixture, char *bytes, size_t size)
{
	int proxy = -1;
	ssize_t got = -1;

	for (int i = 0; i < 20000 && got <= 0; i++) {
		dial_test_settle(fixture->base.loop);
		if (proxy < 0)
			proxy = accept4(fixture->listener, NULL, NULL,
					SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (proxy >= 0)
			got = recv(proxy, bytes, size - 1, MSG_DONTWAIT);
	}
	ck_assert_int_gt(got, 0);
	bytes[got] = '\0';
	return proxy;
}

static int accept_request(struct fixture *fixture)
{
	char bytes[512];
	int proxy = accept_bytes(fixture, bytes, sizeof(bytes));

	ck_assert_str_eq(bytes, "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n");
	return proxy;
}

static void assert_denied(struct fixture *fixture, enum policy_reason reason)
{
	dial_test_until(fixture->base.loop, &fixture->runs, 1);
	ck_assert_int_eq(fixture->result.fd, -1);
	ck_assert_int_eq(fixture->result.verdict.action, POLICY_DENY);
	ck_assert_msg(fixture->result.verdict.reason == reason, "%s: %s",
		      policy_reason_code(fixture->result.verdict.reason), fixture->result.cause);
}

/* The first bytes of the tunnel, which arrive with the answer, stay in the socket. */
START_TEST(a_tunnel_begins_behind_the_answer)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\n\r\nhello";
	struct fixture fixture;
	char bytes[16];

	begin(&fixture);
	start(&fixture, "a.test");
	int proxy = accept_request(&fixture);

	ck_assert_int_eq(send(proxy, answer, sizeof(answer) - 1, 0), sizeof(answer) - 1);
	dial_test_until(fixture.base.loop, &fixture.runs, 1);
	ck_assert_int_eq(fixture.result.verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(fixture.result.addr.family, 0);
	ck_assert_int_eq(recv(fixture.result.fd, bytes, sizeof(bytes), 0), 5);
	ck_assert_mem_eq(bytes, "hello", 5);
	ck_assert_uint_eq(dns_stub_asked(fixture.base.dns, "a.test"), 0);
	ck_assert_uint_eq(fixture.result.dns_ms, 0);
	ck_assert_uint_gt(fixture.result.dial_ms, 0);
	fd_close(proxy);
	done(&fixture);
}
END_TEST

START_TEST(a_silent_proxy_times_out)
{
	struct fixture fixture;

	begin(&fixture);
	start(&fixture, "a.test");
	int proxy = accept_request(&fixture);

	ck_assert_int_eq(send(proxy, TEXT("HTTP/1.1 2"), 0), 10);
	dial_test_settle(fixture.base.loop);
	loop_advance(fixture.base.loop, LIMITS_PROXY_MS - 1);
	ck_assert_int_eq(fixture.runs, 0);
	loop_advance(fixture.base.loop, 1);
	assert_denied(&fixture, POLICY_PROXY_TIMEOUT);
	ck_assert_ptr_nonnull(strstr(fixture.result.cause, "http://p.test:"));
	fd_close(proxy);
	done(&fixture);
}
END_TEST

/* Before it is known who the proxy is, it gets a ClientHello and nothing else. */
static const struct {
	const char *sends; /* then it closes; NULL: it does neither */
	enum policy_reason reason;
	const char *cause;
} shakes[] = {
	{ NULL, POLICY_PROXY_TIMEOUT, "did not answer in time" },
	{ "", POLICY_PROXY_FAILED, "closed the connection in the TLS handshake" },
	{ "\26\3\3", POLICY_PROXY_FAILED, "closed the connection in the TLS handshake" },
	{ "\26\3\3\1\1\2", POLICY_PROXY_FAILED, "closed the connection in the TLS handshake" },
	{ "HTTP/1.1 200 OK\r\n\r\n", POLICY_PROXY_FAILED, "failed in the TLS handshake: " },
	{ "\25\3\3\0\2\2\50", POLICY_PROXY_FAILED, "failed in the TLS handshake: " },
};

START_TEST(a_handshake_that_fails_is_explained)
{
	struct fixture fixture;
	char hello[4096] = "";

	begin_with(&fixture, "https://ana:hush@");
	start(&fixture, "a.test");
	int proxy = accept_bytes(&fixture, hello, sizeof(hello));

	ck_assert_int_eq(hello[0], 0x16);
	ck_assert_ptr_null(memmem(hello, sizeof(hello), "CONNECT", 7));
	if (shakes[_i].sends) {
		size_t len = shakes[_i].sends[0] == '\25' ? 7 : strlen(shakes[_i].sends);

		ck_assert_int_eq(send(proxy, shakes[_i].sends, len, 0), (ssize_t)len);
		fd_close(fd_take(&proxy));
	}
	dial_test_settle(fixture.base.loop);
	if (!shakes[_i].sends)
		loop_advance(fixture.base.loop, LIMITS_PROXY_MS);
	assert_denied(&fixture, shakes[_i].reason);
	ck_assert_ptr_nonnull(strstr(fixture.result.cause, shakes[_i].cause));
	ck_assert_ptr_nonnull(strstr(fixture.result.cause, "https://p.test:"));
	fd_close(proxy);
	done(&fixture);
}
END_TEST

START_TEST(a_handshake_can_be_withdrawn)
{
	struct fixture fixture;
	char hello[4096] = "";

	begin_with(&fixture, "https://ana:hush@");
	struct dial *dial = start(&fixture, "a.test");
	int proxy = accept_bytes(&fixture, hello, sizeof(hello));

	dial_withdraw(dial);
	fd_close(proxy);
	start(&fixture, "a.test"); /* left to dialer_free() */
	proxy = accept_bytes(&fixture, hello, sizeof(hello));
	dialer_free(take(fixture.dialer));
	ck_assert_int_eq(fixture.runs, 0);
	fd_close(proxy);
	done(&fixture);
}
END_TEST

START_TEST(a_proxy_that_is_not_there_is_named)
{
	struct fixture fixture;

	begin(&fixture);
	if (_i)
		fd_close(fd_take(&fixture.listener));
	else
		ck_assert_int_eq(
			policy_upstream_parse("gone.test:1", &fixture.upstreams.http, NULL), 0);
	start(&fixture, "a.test");
	assert_denied(&fixture, POLICY_PROXY_FAILED);
	ck_assert_ptr_nonnull(
		strstr(fixture.result.cause, _i ? "cannot be reached: Connection refused"
						: "http://gone.test:1 cannot be found: "));
	done(&fixture);
}
END_TEST

/* An address is judged here, because it is known here. */
START_TEST(addresses_are_judged_before_the_proxy_is_asked)
{
	static const struct {
		const char *host;
		enum policy_reason reason;
	} rows[] = {
		{ "169.254.169.254", POLICY_METADATA_ADDRESS },
		{ "10.0.0.1", POLICY_PRIVATE_ADDRESS },
		{ "203.0.115.1", POLICY_RULE_DENY },
		{ "255.255.255.255", POLICY_SPECIAL_ADDRESS },
	};
	struct fixture fixture;

	begin(&fixture);
	start(&fixture, rows[_i].host);
	assert_denied(&fixture, rows[_i].reason);
	dial_test_settle(fixture.base.loop);
	ck_assert_int_eq(accept4(fixture.listener, NULL, NULL, SOCK_CLOEXEC), -1);
	done(&fixture);
}
END_TEST

/* --resolve names an address, so that this address is meant. */
START_TEST(mapped_names_are_dialled_directly)
{
	struct proxy_mapping mapping = { .name = "a.test", .addr = dial_test_addr("10.0.0.1") };
	struct policy_destination dst;
	struct fixture fixture;

	begin(&fixture);
	ck_assert_int_eq(policy_destination_set(&dst, "a.test", 6, 80, NULL), 0);
	ck_assert_ptr_nonnull(dialer_upstream(fixture.dialer, &dst));
	fixture.config.resolves = &mapping;
	fixture.config.resolve_count = 1;
	ck_assert_ptr_null(dialer_upstream(fixture.dialer, &dst));
	done(&fixture);
}
END_TEST

START_TEST(withdrawing_is_safe_at_each_step)
{
	struct fixture fixture;

	begin(&fixture);
	dial_withdraw(start(&fixture, "a.test")); /* the proxy's name is being looked up */
	struct dial *dial = start(&fixture, "a.test");
	int proxy = accept_request(&fixture);

	dial_withdraw(dial);
	fd_close(proxy);
	start(&fixture, "a.test"); /* left to dialer_free() */
	proxy = accept_request(&fixture);
	dialer_free(take(fixture.dialer));
	loop_advance(fixture.base.loop, 2 * LIMITS_PROXY_MS);
	ck_assert_int_eq(fixture.runs, 0);
	fd_close(proxy);
	done(&fixture);
}
END_TEST

TCase *test_upstream_proxy(void)
{
	TCase *tcase = tcase_create("upstream-proxy");

	tcase_add_loop_test(tcase, an_answer_means_one_thing_however_it_arrives, 0,
			    ARRAY_SIZE(talks));
	tcase_add_test(tcase, an_answer_has_a_limit);
	tcase_add_test(tcase, a_tunnel_begins_behind_the_answer);
	tcase_add_test(tcase, a_silent_proxy_times_out);
	tcase_add_loop_test(tcase, a_handshake_that_fails_is_explained, 0, ARRAY_SIZE(shakes));
	tcase_add_test(tcase, a_handshake_can_be_withdrawn);
	tcase_add_loop_test(tcase, a_proxy_that_is_not_there_is_named, 0, 2);
	tcase_add_loop_test(tcase, addresses_are_judged_before_the_proxy_is_asked, 0, 4);
	tcase_add_test(tcase, mapped_names_are_dialled_directly);
	tcase_add_test(tcase, withdrawing_is_safe_at_each_step);
	return tcase;
}
