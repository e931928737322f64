#include "tests/unit/base/http1/http1_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct outcome {
	int r;
	size_t used, len;
	char payload[16384];
};

/* Feeds @bytes, as a caller does, until the decoder wants more, ends or refuses. */
static void feed_all(struct http1_chunked *decoder, const char *bytes, size_t len,
		     struct outcome *outcome)
{
	size_t at = 0;

	while (outcome->r == 0 && at < len) {
		struct http1_span data;
		size_t used = 0;

		outcome->r = http1_chunked_feed(decoder, bytes + at, len - at, &used, &data);
		ck_assert_uint_le(used, len - at);
		ck_assert(used > 0 || outcome->r != 0);
		ck_assert(data.len == 0 ||
			  (data.at >= bytes + at && data.at + data.len <= bytes + at + used));
		ck_assert_uint_le(outcome->len + data.len, sizeof(outcome->payload));
		if (data.len > 0)
			memcpy(outcome->payload + outcome->len, data.at, data.len);
		outcome->len += data.len;
		at += used;
	}
	outcome->used += at;
}

/* In parts of @first and then @step bytes, each in a buffer of exactly its size. */
static struct outcome decode(struct bytes input, size_t first, size_t step)
{
	struct http1_chunked decoder = { 0 };
	struct outcome outcome = { 0 };

	for (size_t at = 0, part = first; at < input.len && outcome.r == 0;
	     at += part, part = step) {
		size_t len = part < input.len - at ? part : input.len - at;
		auto_free char *exact = malloc(len > 0 ? len : 1);

		ck_assert_ptr_nonnull(exact);
		memcpy(exact, input.at + at, len);
		feed_all(&decoder, exact, len, &outcome);
	}
	return outcome;
}

static void must_match(const struct outcome *outcome, const struct outcome *want)
{
	ck_assert_int_eq(outcome->r, want->r);
	ck_assert_uint_eq(outcome->used, want->used);
	ck_assert_uint_eq(outcome->len, want->len);
	ck_assert_mem_eq(outcome->payload, want->payload, want->len);
}

static struct outcome decode_every_way(struct bytes input)
{
	struct outcome want = decode(input, input.len, 1), again;
	size_t stride = input.len > 1024 ? input.len / 37 : 1;

	again = decode(input, 1, 1);
	must_match(&again, &want);
	for (size_t cut = 1; cut < input.len; cut += stride) {
		again = decode(input, cut, input.len);
		must_match(&again, &want);
	}
	return want;
}

static const struct {
	struct bytes input;
	int want;
	const char *payload; /* of what is not refused */
	size_t rest;         /* bytes behind the body, not consumed */
} bodies[] = {
	{ BYTES("0\r\n\r\n"), 1, "", 0 },
	{ BYTES("5\r\nhello\r\n0\r\n\r\n"), 1, "hello", 0 },
	{ BYTES("5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\nGET / HT"), 1, "hello, world", 8 },
	{ BYTES("A\r\n0123456789\r\n00\r\n\r\n"), 1, "0123456789", 0 },
	{ BYTES("a\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n"), 1, "\r\n\r\n\r\n\r\n\r\n", 0 },
	{ BYTES("000000000000005\r\nhello\r\n0\r\n\r\n"), 1, "hello", 0 },
	{ BYTES("5;a=b;c=\"d e\\\"\"\r\nhello\r\n0;x\r\n\r\n"), 1, "hello", 0 },
	{ BYTES("5;\xc3\xa9\t\r\nhello\r\n0\r\n\r\n"), 1, "hello", 0 },
	{ BYTES("0\r\nX-Sum: 1\r\nServer-Timing:\r\nx-very-long-name-of-a-trailer: y\r\n\r\nZ"), 1,
	  "", 1 },
	{ BYTES("0\r\nHosts: 1\r\nX-Host: 2\r\nhos: 3\r\n\r\n"), 1, "", 0 },
	/* not whole */
	{ BYTES("5"), 0, "", 0 },
	{ BYTES("5\r\nhel"), 0, "hel", 0 },
	{ BYTES("5\r\nhello\r\n"), 0, "hello", 0 },
	{ BYTES("0\r\n"), 0, "", 0 },
	{ BYTES("0\r\nX: y\r\n"), 0, "", 0 },
	{ BYTES("FFFFFFFFFFFFFFF\r\nx"), 0, "x", 0 },
	/* H03 */
	{ BYTES("0000000000000005\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("FFFFFFFFFFFFFFFF\r\nx"), -EBADMSG, NULL, 0 },
	{ BYTES("5;a=\"\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5;a=\"b\\\"\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5;a=\"b\\\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\r\nhello\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\r\nhello\r\n0\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\r\nhello\r\n0\r\n\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\rXhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\r\nhelloX\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\r\nhello\rX0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5\r\nhello0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5;a\nb\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5;a\rb\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5;a\0b\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5;\"\r\n\"\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0x5\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("+5\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("-5\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES(" 5\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5 \r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5 ;a\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("5_0\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("g\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES(";a\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("00000000000000005\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("10000000000000005\r\nhello\r\n0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("00000000000000000\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nTransfer-Encoding: chunked\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX: y\r\ncontent-LENGTH: 5\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nHost: a.test\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX : y\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\n: y\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX: y\r\n z\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX: y\nZ: z\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX: y\rZ\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\nX: \0\r\n\r\n"), -EBADMSG, NULL, 0 },
	{ BYTES("0\r\n\rX"), -EBADMSG, NULL, 0 },
};

START_TEST(chunked_bodies)
{
	struct outcome outcome = decode_every_way(bodies[_i].input);

	ck_assert_int_eq(outcome.r, bodies[_i].want);
	if (outcome.r < 0)
		return;
	ck_assert_uint_eq(outcome.len, strlen(bodies[_i].payload));
	ck_assert_mem_eq(outcome.payload, bodies[_i].payload, outcome.len);
	ck_assert_uint_eq(outcome.used, bodies[_i].input.len - bodies[_i].rest);
}
END_TEST

/* Extensions and trailers end somewhere, and what is in them is not payload. */
static const struct {
	const char *before;
	size_t fill;
	const char *after;
	int want;
} limits[] = {
	{ "1;", 500, "\r\nx\r\n0\r\n\r\n", 1 }, { "1;", 600, "\r\nx\r\n0\r\n\r\n", -EBADMSG },
	{ "0\r\nX:", 8000, "\r\n\r\n", 1 },     { "0\r\nX:", 8192, "\r\n\r\n", -EBADMSG },
	{ "0\r\n", 8000, ":\r\n\r\n", 1 },      { "0\r\n", 8192, ":\r\n\r\n", -EBADMSG },
};

START_TEST(chunked_limits)
{
	auto_free char *filler = mem_new(limits[_i].fill + 1);

	memset(filler, 'x', limits[_i].fill);

	auto_free char *input = mem_printf("%s%s%s", limits[_i].before, filler, limits[_i].after);
	struct outcome outcome = decode_every_way((struct bytes){ input, strlen(input) });

	ck_assert_int_eq(outcome.r, limits[_i].want);
}
END_TEST

/* Many short trailers count together. */
START_TEST(chunked_many_trailers)
{
	struct http1_chunked decoder = { 0 };
	struct outcome outcome = { 0 };

	feed_all(&decoder, "0\r\n", 3, &outcome);
	for (int i = 0; i < 2000 && outcome.r == 0; i++)
		feed_all(&decoder, "X: y\r\n", 6, &outcome);
	ck_assert_int_eq(outcome.r, -EBADMSG);
	ck_assert_uint_eq(outcome.used, 3 + 8192 + 1);
}
END_TEST

/* Once ended or refused, it stays so and eats nothing. */
START_TEST(chunked_end_is_final)
{
	static const char *const inputs[] = { "0\r\n\r\n", "x" };
	static const int wants[] = { 1, -EBADMSG };
	struct http1_chunked decoder = { 0 };
	struct outcome outcome = { 0 };
	struct http1_span data;
	size_t used = 99;

	feed_all(&decoder, inputs[_i], strlen(inputs[_i]), &outcome);
	ck_assert_int_eq(outcome.r, wants[_i]);
	ck_assert_int_eq(http1_chunked_feed(&decoder, "5\r\nhello", 8, &used, &data), wants[_i]);
	ck_assert_uint_eq(used, 0);
	ck_assert_uint_eq(data.len, 0);
}
END_TEST

TCase *chunked_cases(void)
{
	TCase *tcase = tcase_create("chunked");

	tcase_add_loop_test(tcase, chunked_bodies, 0, ARRAY_SIZE(bodies));
	tcase_add_loop_test(tcase, chunked_limits, 0, ARRAY_SIZE(limits));
	tcase_add_test(tcase, chunked_many_trailers);
	tcase_add_loop_test(tcase, chunked_end_is_final, 0, 2);
	return tcase;
}
