#include <errno.h>
#include <string.h>

#include "proxy/relay/body.h"
#include "tests/unit/proxy/rig.h"

/* How it comes, in pieces separated by '|'; how it goes; what is left behind the end. */
static const struct {
	enum http1_body in;
	uint64_t length;
	bool is_chunked_out;
	const char *pieces;
	const char *want;
	const char *left;
	int result;
} bodies[] = {
	{ HTTP1_NO_BODY, 0, false, "next", "", "next", 0 },
	{ HTTP1_LENGTH, 0, false, "next", "", "next", 0 },
	{ HTTP1_LENGTH, 5, false, "hello", "hello", "", 0 },
	{ HTTP1_LENGTH, 5, false, "he|llonext", "hello", "next", 0 },
	{ HTTP1_LENGTH, 5, true, "he|llo", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "", 0 },
	{ HTTP1_CHUNKED, 0, true, "5\r\nhello\r\n0\r\n\r\nnext", "5\r\nhello\r\n0\r\n\r\n", "next",
	  0 },
	{ HTTP1_CHUNKED, 0, false, "5;x=y\r\nhello\r\n0\r\n\r\n", "hello", "", 0 },
	/* many small chunks go out as one; extensions and trailers do not */
	{ HTTP1_CHUNKED, 0, true, "1\r\na\r\n1;q\r\nb\r\n2\r\ncd\r\n0\r\nT: x\r\n\r\nnext",
	  "4\r\nabcd\r\n0\r\n\r\n", "next", 0 },
	{ HTTP1_CHUNKED, 0, true, "5\r\nhe|llo\r|\n0\r\n|\r\n", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
	  "", 0 },
	{ HTTP1_CHUNKED, 0, false, "0x5\r\nhello\r\n0\r\n\r\n", "", "", -EBADMSG },
	{ HTTP1_CHUNKED, 0, false, "5\nhello\r\n", "", "", -EBADMSG },
	{ HTTP1_UNTIL_CLOSE, 0, false, "a|b", "ab", "", 0 },
	{ HTTP1_UNTIL_CLOSE, 0, true, "a|b", "1\r\na\r\n1\r\nb\r\n", "", 0 },
};

static int feed(struct body *body, const char *piece, size_t len, char *out, char *left)
{
	char bytes[256];
	struct iovec parts[BODY_PARTS];
	size_t used = 0;
	int count = 0, r;

	memcpy(bytes, piece, len);
	r = body_feed(body, bytes, len, &used, parts, &count);
	for (int i = 0; r == 0 && i < count; i++)
		strncat(out, parts[i].iov_base, parts[i].iov_len);
	if (r == 0)
		strncat(left, bytes + used, len - used);
	return r;
}

START_TEST(one_framing_into_another)
{
	struct body body;
	char out[512] = "", left[256] = "";
	const char *at = bodies[_i].pieces;
	int r = 0;

	body_init(&body, bodies[_i].in, bodies[_i].length, bodies[_i].is_chunked_out);
	while (r == 0 && *at) {
		size_t len = strcspn(at, "|");

		r = feed(&body, at, len, out, left);
		at += len + (at[len] == '|');
	}
	ck_assert_int_eq(r, bodies[_i].result);
	ck_assert_str_eq(out, bodies[_i].want);
	ck_assert_str_eq(left, bodies[_i].left);
	if (r == 0)
		ck_assert_int_eq(body.is_done, bodies[_i].in != HTTP1_UNTIL_CLOSE);
}
END_TEST

START_TEST(only_a_body_until_close_may_end_by_one)
{
	struct iovec parts[BODY_PARTS];
	struct body body;
	int count;

	body_init(&body, HTTP1_UNTIL_CLOSE, 0, true);
	ck_assert_int_eq(body_end(&body, parts, &count), 0);
	ck_assert_int_eq(count, 1);
	ck_assert_int_eq(memcmp(parts[0].iov_base, "0\r\n\r\n", 5), 0);
	body_init(&body, HTTP1_LENGTH, 3, true);
	ck_assert_int_eq(body_end(&body, parts, &count), -EPIPE);
	body_init(&body, HTTP1_CHUNKED, 0, true);
	ck_assert_int_eq(body_end(&body, parts, &count), -EPIPE);
}
END_TEST

TCase *test_body(void)
{
	TCase *tcase = tcase_create("body");

	tcase_add_loop_test(tcase, one_framing_into_another, 0, (int)ARRAY_SIZE(bodies));
	tcase_add_test(tcase, only_a_body_until_close_may_end_by_one);
	return tcase;
}
