#include "tests/unit/proxy/parse/parse_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/parse/hello.h"
#include "tests/unit/proxy/parse/stream.h"

static int parse_exact(const struct stream *stream, size_t len, struct hello *ret)
{
	auto_free uint8_t *exact = malloc(len > 0 ? len : 1);

	ck_assert_ptr_nonnull(exact);
	memcpy(exact, stream->bytes, len);
	return hello_parse(exact, len, ret);
}

/* The first answer, going byte by byte, must be the answer to the whole. */
static int parse_every_way(const struct stream *stream, struct hello *ret)
{
	size_t stride = stream->len > 4096 ? stream->len / 211 : 1;
	struct hello first = { 0 };
	int r = -EAGAIN, whole = parse_exact(stream, stream->len, ret);

	for (size_t len = 0; len < stream->len && r == -EAGAIN; len += stride)
		r = parse_exact(stream, len, &first);
	if (r == -EAGAIN)
		r = parse_exact(stream, stream->len, &first);
	ck_assert_int_eq(r, whole);
	ck_assert_mem_eq(&first, ret, sizeof(first));
	return whole;
}

#define SNI                                                                                        \
	"\0\0\0\x0b\0\x09\0\0\6"                                                                   \
	"a.test"
#define ALPN_H2 "\0\x10\0\x0e\0\x0c\2h2\x08http/1.1"
#define ALPN_H1 "\0\x10\0\x0b\0\x09\x08http/1.1"
#define GREASE  "\x0a\x0a\0\0"
#define ECH     "\xfe\x0d\0\4\0\1\2\3"

static const struct {
	struct bytes extensions;
	int want;
	const char *name; /* NULL: none */
	bool h2, ech;
} hellos[] = {
	{ BYTES(SNI), 0, "a.test", false, false },
	{ BYTES(GREASE SNI ALPN_H2), 0, "a.test", true, false },
	{ BYTES(ALPN_H1 SNI), 0, "a.test", false, false },
	{ BYTES(SNI ECH), 0, "a.test", false, true },
	{ BYTES(ECH), 0, NULL, false, true },
	{ BYTES(ALPN_H2), 0, NULL, true, false },
	{ BYTES(""), 0, NULL, false, false },
	/* T02: kept as sent, for the caller to canonicalise */
	{ BYTES("\0\0\0\x0c\0\x0a\0\0\7A.Test."), 0, "A.Test.", false, false },
	{ BYTES("\0\0\0\x0e\0\x0c\0\0\x09"
		"127.0.0.1"),
	  0, "127.0.0.1", false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6_x-1.t"), 0, "_x-1.t", false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6a\0test"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6a.tes\0"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6a test"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6a/test"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6a*test"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6a\x1b[2Jt"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\6\xc3\xa9.tst"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x08\0\x06\0\0\3::1"), -EBADMSG, NULL, false, false },
	/* two names, in one list and in two; other types of name; nothing where a name should be */
	{ BYTES("\0\0\0\x14\0\x12\0\0\6a.test\0\0\6b.test"), -EBADMSG, NULL, false, false },
	{ BYTES(SNI SNI), -EBADMSG, NULL, false, false },
	{ BYTES(SNI GREASE "\0\0\0\x0b\0\x09\0\0\6"
			   "b.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\1\0\6a.test"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x14\0\x12\0\0\6a.test\1\0\6b.test"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\0"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\2\0\0"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\5\0\3\0\0\0"), -EBADMSG, NULL, false, false },
	/* lengths that do not add up */
	{ BYTES("\0\0\0\x0b\0\x08\0\0\6"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x0a\0\0\6"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\5"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\0\7"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0c\0\x09\0\0\6"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0a\0\x09\0\0\6"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\0\0\x0b\0\x09\0\xff\xff"
		"a.test"),
	  -EBADMSG, NULL, false, false },
	{ BYTES("\0\x10\0\0"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\x10\0\2\0\0"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\x10\0\3\0\1\0"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\x10\0\5\0\3\3h2"), -EBADMSG, NULL, false, false },
	{ BYTES("\0\x10\0\6\0\4\2h2\0"), -EBADMSG, NULL, false, false },
	{ BYTES(ALPN_H1 ALPN_H2), -EBADMSG, NULL, false, false },
	{ BYTES(GREASE GREASE), -EBADMSG, NULL, false, false },
	{ BYTES(SNI "\0"), -EBADMSG, NULL, false, false },
	{ BYTES(SNI "\0\x15\0"), -EBADMSG, NULL, false, false },
	{ BYTES(SNI "\0\x15\0\1"), -EBADMSG, NULL, false, false },
};

static const size_t record_sizes[] = { 16384, 64, 7, 3 };

/* T03: the answer is the same however the hello is cut into records and segments. */
START_TEST(extension_blocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(record_sizes); i++) {
		struct stream stream = { 0 };
		struct hello hello = { 0 };

		stream_put_hello(&stream, hellos[_i].extensions, record_sizes[i]);
		ck_assert_int_eq(parse_every_way(&stream, &hello), hellos[_i].want);
		if (hellos[_i].want < 0)
			continue;
		ck_assert_int_eq(hello.has_server_name, hellos[_i].name != NULL);
		ck_assert_str_eq(hello.server_name, hellos[_i].name != NULL ? hellos[_i].name : "");
		ck_assert_int_eq(hello.offers_h2, hellos[_i].h2);
		ck_assert_int_eq(hello.has_ech, hellos[_i].ech);
	}
}
END_TEST

/* What is before the extensions, byte by byte of the table: @body replaces all of it. */
static const struct {
	struct bytes body;
	int want;
} bodies[] = {
#define RANDOM "0123456789abcdef0123456789abcdef"
	{ BYTES("\3\3" RANDOM "\0"
		"\0\2\x13\1"
		"\1\0"),
	  0 }, /* no extensions at all */
	{ BYTES("\3\1" RANDOM "\0"
		"\0\2\x13\1"
		"\1\0"),
	  0 },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\4\x13\1\x13\2"
		"\2\1\0"
		"\0\0"),
	  0 },
	{ BYTES("\2\0" RANDOM "\0"
		"\0\2\x13\1"
		"\1\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\x21" RANDOM "x"
		"\0\2\x13\1"
		"\1\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\0"
		"\1\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\3\x13\1\x13"
		"\1\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\2\x13\1"
		"\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\2\x13\1"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\xff\xff\x13\1"
		"\1\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\2\x13\1"
		"\1\0"
		"\0"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\2\x13\1"
		"\1\0"
		"\0\1"),
	  -EBADMSG },
	{ BYTES("\3\3" RANDOM "\0"
		"\0\2\x13\1"
		"\1\0"
		"\0\0x"),
	  -EBADMSG },
	{ BYTES("\3\3"
		"0123"),
	  -EBADMSG },
	{ BYTES(""), -EBADMSG },
#undef RANDOM
};

START_TEST(starts)
{
	struct stream stream = { 0 }, body = { 0 };
	struct hello hello = { 0 };

	stream_put(&body, bodies[_i].body.at, bodies[_i].body.len);
	stream_put_records(&stream, &body, 1, 16384);
	ck_assert_int_eq(parse_every_way(&stream, &hello), bodies[_i].want);
}
END_TEST

/* T05: raw streams. */
static const struct {
	struct bytes stream;
	int want;
} streams[] = {
	{ BYTES(""), -EAGAIN },
	{ BYTES("\x16"), -EAGAIN },
	{ BYTES("\x16\3\1\2\0\1\0\1\xfc"), -EAGAIN },
	{ BYTES("SSH-2.0-x\r\n"), -EPROTO },
	{ BYTES("GET / HTTP/1.1\r\n"), -EPROTO },
	{ BYTES("\0"), -EPROTO },
	{ BYTES("\x80\x2e\1\0\2\0\x15\0\0\0\x10"), -EPROTO }, /* SSL 2 */
	{ BYTES("\x80\x2e\1\3\1\0\x15\0\0\0\x10"), -EPROTO }, /* TLS in an SSL 2 hello */
	{ BYTES("\x16\2\0\0\5"), -EPROTO },
	{ BYTES("\x16\3\0\0\5"), -EPROTO }, /* SSL 3 */
	{ BYTES("\x16\3\4\0\5"), -EPROTO },
	{ BYTES("\x16\4"), -EPROTO },
	{ BYTES("\x15\3\1\0\2\2\x28"), -EPROTO }, /* an alert */
	{ BYTES("\x17\3\3\0\5hello"), -EPROTO },
	{ BYTES("\x14\3\3\0\1\1"), -EPROTO },
	{ BYTES("\x16\3\1\0\0"), -EBADMSG },
	{ BYTES("\x16\3\1\x40\1"), -EBADMSG },
	{ BYTES("\x16\3\1\xff\xff"), -EBADMSG },
	{ BYTES("\x16\3\1\0\4\2\0\0\0"), -EBADMSG }, /* a ServerHello */
	{ BYTES("\x16\3\1\0\1\0"), -EBADMSG },
	{ BYTES("\x16\3\1\0\4\1\0\x40\0"), -EBADMSG }, /* larger than we hold */
	{ BYTES("\x16\3\1\0\4\1\xff\xff\xff"), -EBADMSG },
	{ BYTES("\x16\3\1\0\1\1\x17\3\1\0\1\0"), -EBADMSG }, /* other records between */
	{ BYTES("\x16\3\1\0\1\1\x16\3\0\0\1\0"), -EBADMSG },
	{ BYTES("\x16\3\1\0\1\1\x16\3\1\0\0"), -EBADMSG },
	{ BYTES("\x16\3\1\0\5\1\0\0\0x"), -EBADMSG }, /* more behind the message */
};

START_TEST(raw_streams)
{
	struct stream stream = { 0 };
	struct hello hello = { 0 };

	stream_put(&stream, streams[_i].stream.at, streams[_i].stream.len);
	ck_assert_int_eq(parse_every_way(&stream, &hello), streams[_i].want);
}
END_TEST

/* Data after the hello in separate records is not read. */
START_TEST(early_data_behind)
{
	struct stream stream = { 0 };
	struct hello hello = { 0 };

	stream_put_hello(&stream, (struct bytes)BYTES(SNI), 16384);
	stream_put(&stream, "\x17\3\3\0\1xgarbage", 13);
	ck_assert_int_eq(parse_every_way(&stream, &hello), 0);
	ck_assert_str_eq(hello.server_name, "a.test");
}
END_TEST

/* A hello of exactly HELLO_MAX_BYTES, and one byte more; padding as the extension of RFC 7685. */
START_TEST(largest)
{
	static const size_t before = 4 + 2 + 32 + 33 + 4 + 2 + 2 + sizeof(SNI) - 1 + 4;

	for (size_t over = 0; over <= 1; over++) {
		static struct stream stream, extensions;
		struct hello hello = { 0 };
		size_t padding = HELLO_MAX_BYTES + over - before;

		stream.len = extensions.len = 0;
		stream_put(&extensions, SNI, sizeof(SNI) - 1);
		stream_put(&extensions, "\0\x15", 2);
		stream_put_number(&extensions, padding, 2);
		for (size_t i = 0; i < padding; i++)
			stream_put(&extensions, "\0", 1);
		stream_put_hello(&stream,
				 (struct bytes){ (const char *)extensions.bytes, extensions.len },
				 300);
		ck_assert_int_eq(parse_every_way(&stream, &hello), over == 0 ? 0 : -EBADMSG);
		ck_assert(over > 0 || stream.len <= HELLO_MAX_STREAM);
	}
}
END_TEST

/* However it is cut, a full buffer of HELLO_MAX_STREAM bytes has an answer. */
START_TEST(too_many_records)
{
	struct stream stream = { 0 };
	struct hello hello = { 0 };

	stream_put(&stream, "\x16\3\1\0\4\1\0\x3f\0", 9);
	for (int i = 0; i < 2 * HELLO_MAX_RECORDS; i++)
		stream_put(&stream, "\x16\3\1\0\1x", 6);
	ck_assert_int_eq(parse_every_way(&stream, &hello), -EBADMSG);
}
END_TEST

START_TEST(too_many_extensions)
{
	for (size_t count = 128; count <= 129; count++) {
		struct stream stream = { 0 }, extensions = { 0 };
		struct hello hello = { 0 };

		for (size_t i = 0; i < count; i++) {
			stream_put_number(&extensions, 1000 + i, 2);
			stream_put(&extensions, "\0\0", 2);
		}
		stream_put_hello(&stream,
				 (struct bytes){ (const char *)extensions.bytes, extensions.len },
				 16384);
		ck_assert_int_eq(parse_every_way(&stream, &hello), count == 128 ? 0 : -EBADMSG);
	}
}
END_TEST

/* A name of 255 bytes fills the buffer, one of 256 is refused. */
START_TEST(longest_name)
{
	for (size_t len = 255; len <= 256; len++) {
		struct stream stream = { 0 }, extensions = { 0 };
		struct hello hello = { 0 };

		stream_put_number(&extensions, 0, 2);
		stream_put_number(&extensions, len + 5, 2);
		stream_put_number(&extensions, len + 3, 2);
		stream_put_number(&extensions, 0, 1);
		stream_put_number(&extensions, len, 2);
		for (size_t i = 0; i < len; i++)
			stream_put(&extensions, "a", 1);
		stream_put_hello(&stream,
				 (struct bytes){ (const char *)extensions.bytes, extensions.len },
				 16384);
		ck_assert_int_eq(parse_every_way(&stream, &hello), len == 255 ? 0 : -EBADMSG);
		ck_assert_uint_eq(strlen(hello.server_name), len == 255 ? 255 : 0);
	}
}
END_TEST

TCase *hello_cases(void)
{
	TCase *tcase = tcase_create("hello");

	tcase_set_timeout(tcase, 30);
	tcase_add_loop_test(tcase, extension_blocks, 0, ARRAY_SIZE(hellos));
	tcase_add_loop_test(tcase, starts, 0, ARRAY_SIZE(bodies));
	tcase_add_loop_test(tcase, raw_streams, 0, ARRAY_SIZE(streams));
	tcase_add_test(tcase, early_data_behind);
	tcase_add_test(tcase, largest);
	tcase_add_test(tcase, too_many_records);
	tcase_add_test(tcase, too_many_extensions);
	tcase_add_test(tcase, longest_name);
	return tcase;
}
