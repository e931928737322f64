#include "tests/unit/proxy/parse/parse_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/parse/socks5.h"

/* -EAGAIN and the bytes used are the same thing to a table: @want is what the whole input gives. */
static const struct {
	struct bytes input;
	int want;
	int method;
} greetings[] = {
	{ BYTES("\5\1\0"), 3, 0 },
	{ BYTES("\5\2\0\2"), 4, 0 },
	{ BYTES("\5\3\2\1\0"), 5, 0 },
	{ BYTES("\5\1\2"), 3, 2 },
	{ BYTES("\5\2\1\2"), 4, 2 },
	{ BYTES("\5\1\1"), 3, SOCKS5_NO_METHOD },
	{ BYTES("\5\1\xff"), 3, SOCKS5_NO_METHOD },
	{ BYTES("\5\1\0\5\1\0"), 3, 0 },
	{ BYTES(""), -EAGAIN, -1 },
	{ BYTES("\5"), -EAGAIN, -1 },
	{ BYTES("\5\2\0"), -EAGAIN, -1 },
	{ BYTES("\5\0"), -EBADMSG, -1 },
	{ BYTES("\4\1\0\x50\1\2\3\4\0"), -EBADMSG, -1 },
	{ BYTES("\4"), -EBADMSG, -1 },
	{ BYTES("GET / HTTP/1.1\r\n"), -EBADMSG, -1 },
	{ BYTES("\x16\3\1"), -EBADMSG, -1 },
	{ BYTES("\0"), -EBADMSG, -1 },
};

static uint8_t *exact_copy(struct bytes input, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, input.at, len);
	return copy;
}

START_TEST(greeting)
{
	struct bytes input = greetings[_i].input;
	int r = -EAGAIN;
	uint8_t method = 77;

	/* What comes first, going byte by byte, is what the whole gives. */
	for (size_t len = 0; len <= input.len && r == -EAGAIN; len++) {
		auto_free uint8_t *copy = exact_copy(input, len);

		r = socks5_parse_greeting(copy, len, &method);
	}
	ck_assert_int_eq(r, greetings[_i].want);
	ck_assert_int_eq(method, r < 0 ? 77 : greetings[_i].method);

	auto_free uint8_t *copy = exact_copy(input, input.len);

	ck_assert_int_eq(socks5_parse_greeting(copy, input.len, &method), greetings[_i].want);
}
END_TEST

static const struct {
	struct bytes input;
	int want;
} logins[] = {
	{ BYTES("\1\4user\4pass"), 11 },
	{ BYTES("\1\4user\4passmore"), 11 },
	{ BYTES("\1\0\0"), 3 },
	{ BYTES("\1\1x\0"), 4 },
	{ BYTES(""), -EAGAIN },
	{ BYTES("\1\4user"), -EAGAIN },
	{ BYTES("\1\4user\4pas"), -EAGAIN },
	{ BYTES("\5\4user\4pass"), -EBADMSG },
	{ BYTES("\0"), -EBADMSG },
};

START_TEST(login)
{
	struct bytes input = logins[_i].input;
	int r = -EAGAIN;

	for (size_t len = 0; len <= input.len && r == -EAGAIN; len++) {
		auto_free uint8_t *copy = exact_copy(input, len);

		r = socks5_parse_login(copy, len);
	}
	ck_assert_int_eq(r, logins[_i].want);
}
END_TEST

#define NAME_64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define NAME_255                                                                                   \
	NAME_64 NAME_64 NAME_64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const struct {
	struct bytes input;
	int want;
	int command;
	struct bytes host;
	uint16_t port;
} requests[] = {
	{ BYTES("\5\1\0\3\6a.test\1\xbb"), 13, SOCKS5_CONNECT, BYTES("a.test"), 443 },
	{ BYTES("\5\1\0\3\6a.test\1\xbbmore"), 13, SOCKS5_CONNECT, BYTES("a.test"), 443 },
	{ BYTES("\5\1\0\1\x7f\0\0\1\0\x50"), 10, SOCKS5_CONNECT, BYTES("127.0.0.1"), 80 },
	{ BYTES("\5\1\0\4\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x16"), 22, SOCKS5_CONNECT,
	  BYTES("2001:db8::1"), 22 },
	{ BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\xff\xff"), 22, SOCKS5_CONNECT,
	  BYTES("::ffff:127.0.0.1"), 65535 },
	/* N01: length-counted, so that the canonicalising code sees the NUL. */
	{ BYTES("\5\1\0\3\x10"
		"evil.test\0a.test\1\xbb"),
	  23, SOCKS5_CONNECT, BYTES("evil.test\0a.test"), 443 },
	{ BYTES("\5\1\0\3\1\0\1\xbb"), 8, SOCKS5_CONNECT, BYTES("\0"), 443 },
	{ BYTES("\5\1\0\3\4a\r\nb\1\xbb"), 11, SOCKS5_CONNECT, BYTES("a\r\nb"), 443 },
	{ BYTES("\5\1\0\3\xff" NAME_255 "\0\1"), 262, SOCKS5_CONNECT, BYTES(NAME_255), 1 },
	/* Other commands are the caller's to answer. */
	{ BYTES("\5\2\0\1\0\0\0\0\0\0"), 10, SOCKS5_BIND, BYTES("0.0.0.0"), 0 },
	{ BYTES("\5\3\0\1\0\0\0\0\0\0"), 10, SOCKS5_UDP_ASSOCIATE, BYTES("0.0.0.0"), 0 },
	{ BYTES("\5\x99\0\1\1\2\3\4\0\1"), 10, 0x99, BYTES("1.2.3.4"), 1 },
	{ BYTES(""), -EAGAIN, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0"), -EAGAIN, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\3"), -EAGAIN, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\3\6a.test\1"), -EAGAIN, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\1\x7f\0\0\1\0"), -EAGAIN, 0, BYTES(""), 0 },
	{ BYTES("\4\1\0\x50\x7f\0\0\1\0"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\6"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\5\1\1\3\6a.test\1\xbb"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\5\1\xff\1\x7f\0\0\1\0\x50"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\3\0\1\xbb"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\3\6a.test\0\0"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\1\x7f\0\0\1\0\0"), -EBADMSG, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\0\x7f\0\0\1\0\x50"), -EAFNOSUPPORT, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\2\x7f\0\0\1\0\x50"), -EAFNOSUPPORT, 0, BYTES(""), 0 },
	{ BYTES("\5\1\0\5\x7f\0\0\1\0\x50"), -EAFNOSUPPORT, 0, BYTES(""), 0 },
};

START_TEST(request_table)
{
	struct bytes input = requests[_i].input, host = requests[_i].host;
	struct socks5_request request = { .port = 7777 };
	int r = -EAGAIN;

	for (size_t len = 0; len <= input.len && r == -EAGAIN; len++) {
		auto_free uint8_t *copy = exact_copy(input, len);

		r = socks5_parse_request(copy, len, &request);
	}
	ck_assert_int_eq(r, requests[_i].want);
	ck_assert_int_eq(r, socks5_parse_request((const uint8_t *)input.at, input.len, &request));
	if (r < 0) {
		ck_assert_uint_eq(request.port, 7777);
		return;
	}
	ck_assert_int_le(r, SOCKS5_MESSAGE_MAX);
	ck_assert_int_eq((int)request.command, requests[_i].command);
	ck_assert_uint_eq(request.port, requests[_i].port);
	ck_assert_uint_eq(request.host_len, host.len);
	ck_assert_mem_eq(request.host, host.at, host.len);
	ck_assert_int_eq(request.host[host.len], '\0');
	ck_assert_uint_eq(request.address_type, (uint8_t)input.at[3]);
}
END_TEST

static const struct {
	struct bytes input;
	int want;
	struct bytes host;
	uint16_t port;
} datagrams[] = {
	{ BYTES("\0\0\0\3\6a.test\0\x35"), 13, BYTES("a.test"), 53 },
	{ BYTES("\0\0\0\3\6a.test\0\x35payload"), 13, BYTES("a.test"), 53 },
	{ BYTES("\0\0\0\1\x32\0\0\x0a\x13\x88x"), 10, BYTES("50.0.0.10"), 5000 },
	{ BYTES("\0\0\0\4\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x16"), 22, BYTES("2001:db8::1"),
	  22 },
	{ BYTES("\0\0\0\3\x10"
		"evil.test\0a.test\1\xbb"),
	  23, BYTES("evil.test\0a.test"), 443 },
	{ BYTES("\0\0\0\3\xff" NAME_255 "\0\1"), 262, BYTES(NAME_255), 1 },
	{ BYTES("\0\0\1\3\6a.test\0\x35"), -EOPNOTSUPP, BYTES(""), 0 },
	{ BYTES("\0\0\x81\3\6a.test\0\x35"), -EOPNOTSUPP, BYTES(""), 0 },
	{ BYTES("\0\1\0\3\6a.test\0\x35"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\5\0\0\3\6a.test\0\x35"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0\3\6a.test\0\0"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0\3\6a.test\0"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0\3\0\0\x35"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0\3"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0\1\x32\0\0\x0a\x13"), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0"), -EBADMSG, BYTES(""), 0 },
	{ BYTES(""), -EBADMSG, BYTES(""), 0 },
	{ BYTES("\0\0\0\5\x32\0\0\x0a\x13\x88"), -EAFNOSUPPORT, BYTES(""), 0 },
};

START_TEST(datagram)
{
	struct bytes input = datagrams[_i].input, host = datagrams[_i].host;
	struct socks5_request dst = { .port = 7777 };
	auto_free uint8_t *copy = exact_copy(input, input.len);
	int r = socks5_parse_datagram(copy, input.len, &dst);

	ck_assert_int_eq(r, datagrams[_i].want);
	ck_assert_uint_eq(dst.port, r < 0 ? 7777 : datagrams[_i].port);
	if (r < 0)
		return;
	ck_assert_uint_eq(dst.host_len, host.len);
	ck_assert_mem_eq(dst.host, host.at, host.len);
	ck_assert_int_eq(dst.host[host.len], '\0');
}
END_TEST

START_TEST(associated)
{
	static const uint8_t want[] = { 5, 0, 0, 1, 127, 0, 0, 1, 0x13, 0x88 };
	uint8_t out[SOCKS5_REPLY_BYTES];

	memset(out, 0xaa, sizeof(out));
	socks5_write_associated(5000, out);
	ck_assert_mem_eq(out, want, sizeof(want));
}
END_TEST

START_TEST(reply)
{
	static const uint8_t want[SOCKS5_REPLY_BYTES] = { 5, 2, 0, 1 };
	uint8_t out[SOCKS5_REPLY_BYTES];

	memset(out, 0xaa, sizeof(out));
	socks5_write_reply(SOCKS5_NOT_ALLOWED, out);
	ck_assert_mem_eq(out, want, sizeof(want));
}
END_TEST

TCase *socks5_cases(void)
{
	TCase *tcase = tcase_create("socks5");

	tcase_add_loop_test(tcase, greeting, 0, ARRAY_SIZE(greetings));
	tcase_add_loop_test(tcase, login, 0, ARRAY_SIZE(logins));
	tcase_add_loop_test(tcase, request_table, 0, ARRAY_SIZE(requests));
	tcase_add_loop_test(tcase, datagram, 0, ARRAY_SIZE(datagrams));
	tcase_add_test(tcase, reply);
	tcase_add_test(tcase, associated);
	return tcase;
}
