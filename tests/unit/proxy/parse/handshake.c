#include "proxy/parse/handshake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/parse/hello.h"
#include "tests/unit/proxy/parse/parse_test.h"
#include "tests/unit/proxy/parse/stream.h"

#define SAID_MAX 512

/* The parts that a script puts into a stream, one letter each. */
static const struct {
	char letter;
	struct bytes bytes;
} pieces[] = {
	{ 'c', BYTES("\x14\3\3\0\1\1") },               /* ChangeCipherSpec */
	{ 'C', BYTES("\x14\3\3\0\1\2") },               /* an invalid one */
	{ 'L', BYTES("\x14\3\3\0\2\1\1") },             /* two in one record */
	{ 'a', BYTES("\x15\3\3\0\2\1\x5a") },           /* an alert */
	{ 'A', BYTES("\x15\3\3\0\3\1\x5a\1") },         /* an encrypted one */
	{ 'd', BYTES("\x17\3\3\0\4wxyz") },             /* application data, or early data */
	{ 'k', BYTES("\x16\3\3\0\7\x10\0\0\3\2\1\1") }, /* ClientKeyExchange, a 1 inside */
	{ 'K', BYTES("\x16\3\3\0\2\x10\0\x16\3\3\0\5\0\3\2\1\1") }, /* over two records */
	{ 'f', BYTES("\x16\3\3\0\x08\1\xff\xff\xff\1\2\3\4") },     /* Finished, encrypted */
	{ 'F', BYTES("\x16\3\3\0\4\x99\1\2\3") },                   /* the same, of another key */
	{ 'u', BYTES("\x16\3\3\0\4\x63\0\0\0") },                   /* a message of no known type */
	{ 'o', BYTES("\x16\3\3\0\0") },                             /* an empty record */
	{ 't', BYTES("\x18\3\3\0\1\1") },                           /* a heartbeat */
	{ 'v', BYTES("\x16\2\0\0\4\x10\0\0\0") },                   /* of SSL 2 */
	{ '2', BYTES("\x80\x2e\1\3\3\0\x15\0\0\0\x10") },           /* an SSL 2 hello */
	{ 'j', BYTES("\x16\3\3\0\x0b\x10\0\0\0\1\0\0\3\3\3\1") },   /* a hello joined to another */
};

/* The server's data during that time. */
static const struct bytes server_says = BYTES("\x16\3\3\0\x2a\2\0\0\x26\3\3"
					      "0123456789abcdef0123456789abcdef"
					      "\0\x13\1\0");
static const struct bytes server_retries =
	BYTES("\x16\3\3\0\x2a\2\0\0\x26\3\3"
	      "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
	      "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"
	      "\0\x13\1\0");

static void put_hello(struct stream *to, char name, size_t record)
{
	char extensions[] = "\0\0\0\x0b\0\x09\0\0\6?.test";

	extensions[9] = name;
	stream_put_hello(to, (struct bytes){ extensions, sizeof(extensions) - 1 }, record);
}

static void put(struct stream *to, char letter)
{
	if (letter == 'h' || letter == 'e') {
		put_hello(to, letter == 'h' ? 'a' : 'b', HELLO_MAX_BYTES);
		return;
	}
	if (letter == 'H') { /* a byte to a record, as far as it goes */
		put_hello(to, 'a', 3);
		return;
	}
	if (letter == 'n') {
		stream_put_hello(to, (struct bytes){ "", 0 }, HELLO_MAX_BYTES);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		if (pieces[i].letter == letter) {
			stream_put(to, pieces[i].bytes.at, pieces[i].bytes.len);
			return;
		}
	}
	ck_abort_msg("no piece %c", letter);
}

/* A dot is a ServerHello, a comma a HelloRetryRequest, at that place of what the client says; then
 * what is found: the names, and how it ends. "+": all may go on and whatever follows, "!": refused,
 * "~": some is not whole. */
static const struct {
	const char *script, *want;
} scripts[] = {
	/* TLS 1.3, in one round and in two */
	{ ".cdd", "+" },
	{ ".d", "+" },
	{ ",h.d", "a.test +" },
	{ ",ch.d", "a.test +" },
	{ ",e", "b.test" },
	{ ",ce", "b.test" },
	{ "e", "b.test" },
	{ "he", "a.test b.test" },
	{ "H", "a.test" },
	{ "Hce", "a.test b.test" },
	{ ",n", "-" },
	{ "ae", "b.test" },
	/* early data: skipped by a server that retries */
	{ "de", "b.test" },
	{ "cdde.d", "b.test +" },
	{ "d,e", "b.test" },
	{ "dd", "" },
	{ "d.d", "+" },
	/* TLS 1.2: all of it, resumed, and with a certificate */
	{ ".kcF", "+" },
	{ ".kcf", "+" },
	{ "kcf", "+" },
	{ ".KcF", "+" },
	{ ".cF", "+" },
	{ ".cf", "+" },
	{ ".ca", "+" },
	{ ".cA", "+" },
	{ ".a", "" },
	/* a server that waits for a hello takes none of these for one; neither do we for the end */
	{ "cF", "!" },
	{ ",cF", "!" },
	{ ",cf", "!" },
	{ ",cA", "!" },
	{ "C", "!" },
	{ "L", "!" },
	{ "A", "!" },
	{ "u", "!" },
	{ "o", "!" },
	{ "t", "!" },
	{ "v", "!" },
	{ "2", "!" },
	{ "j", "!" },
	{ ".j", "!" },
	{ "kj", "!" },
};

/* What is found when @at_once bytes come at a time. */
static void play(const char *script, size_t at_once, char said[SAID_MAX])
{
	struct handshake handshake = { 0 };
	auto_free struct stream *stream = mem_new(sizeof(*stream));
	size_t used_up = 0, len = 0;
	int r = HANDSHAKE_MORE;

	for (; *script && r == HANDSHAKE_MORE; script++) {
		if (*script == '.' || *script == ',') {
			const struct bytes *says = *script == '.' ? &server_says : &server_retries;

			for (size_t at = 0; at < says->len; at++)
				handshake_server(&handshake, (const uint8_t *)says->at + at, 1);
			continue;
		}
		size_t here = stream->len;

		put(stream, *script);
		while (r == HANDSHAKE_MORE && here < stream->len) {
			here = here + at_once < stream->len ? here + at_once : stream->len;
			do {
				struct hello hello = { 0 };
				size_t used = 0;

				r = handshake_client(&handshake, stream->bytes + used_up,
						     here - used_up, &used, &hello);
				used_up += r < 0 ? 0 : used;
				if (r == HANDSHAKE_HELLO)
					len += (size_t)snprintf(
						said + len, SAID_MAX - len, "%s%s", len ? " " : "",
						hello.has_server_name ? hello.server_name : "-");
			} while (r == HANDSHAKE_HELLO);
		}
	}
	(void)snprintf(said + len, SAID_MAX - len, "%s%s", len && r ? " " : "",
		       r == HANDSHAKE_OVER ? "+"
		       : r < 0             ? "!"
					   : "");
	if (r == HANDSHAKE_MORE)
		ck_assert_uint_eq(used_up, stream->len);
}

START_TEST(every_plaintext_hello_is_found)
{
	static const size_t steps[] = { 1, 2, 3, 5, 6, 7, 100000 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char said[SAID_MAX] = "";

		play(scripts[_i].script, steps[i], said);
		ck_assert_msg(!strcmp(said, scripts[_i].want), "%s by %zu: %s, not %s",
			      scripts[_i].script, steps[i], said, scripts[_i].want);
	}
}
END_TEST

/* Data that is not TLS has no effect on hellos. */
START_TEST(server_that_is_none_ends_nothing)
{
	static const char *const says[] = { "220 mail\r\n", "HTTP/1.1 400 Bad\r\n\r\n",
					    "\x16\3\3\0\4\x0b\0\0\0", "\x17\3\3\0\1x" };
	struct handshake handshake = { 0 };
	struct hello hello;
	size_t used = 0;

	handshake_server(&handshake, (const uint8_t *)says[_i], strlen(says[_i]));
	handshake_server(&handshake, (const uint8_t *)server_says.at, server_says.len);
	ck_assert(!handshake.is_past_hello);
	ck_assert_int_eq(
		handshake_client(&handshake, (const uint8_t *)"\x17\3\3\0\1x", 6, &used, &hello),
		HANDSHAKE_MORE);
}
END_TEST

TCase *handshake_cases(void)
{
	TCase *tcase = tcase_create("handshake");

	tcase_add_loop_test(tcase, every_plaintext_hello_is_found, 0, (int)ARRAY_SIZE(scripts));
	tcase_add_loop_test(tcase, server_that_is_none_ends_nothing, 0, 4);
	return tcase;
}
