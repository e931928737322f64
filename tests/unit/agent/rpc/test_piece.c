#include "agent/rpc/piece.h"

#include <string.h>

#include "base/mem.h"
#include "tests/unit/agent/test_agent.h"

/* What is read, cut at |, and what is told of it, cut likewise; ~ is the end. */
static const struct {
	const char *read, *told;
} pieces[] = {
	{ "abc~", "abc" },
	{ "a|b~", "a|b" },
	{ "\xc3|\xa9~", "|\xc3\xa9" },
	{ "a\xe2\x82|\xac"
	  "b~",
	  "a|\xe2\x82\xac"
	  "b" },
	{ "\xe2|\x82|\xac~", "||\xe2\x82\xac" },
	{ "\xf0\x9f\x98|\x80~", "|\xf0\x9f\x98\x80" },
	{ "\xf0|\x9f|\x98|\x80x~", "|||\xf0\x9f\x98\x80x" },
	/* it was the end, or never one */
	{ "a\xc3~", "a\xc3" },
	{ "\xc3|a~", "|\xc3"
		     "a" },
	{ "\xe2\x82|\xe2\x82|\xac~", "|\xe2\x82|\xe2\x82\xac" },
	/* what begins no character does not wait */
	{ "\xff|a~", "\xff|a" },
	{ "\xc0|\x80~", "\xc0|\x80" },
	{ "\xf5\x80|a~", "\xf5\x80|a" },
	{ "\x80\x80\x80\x80|a~", "\x80\x80\x80\x80|a" },
	{ "\xc3\xa9|\xc3\xa9~", "\xc3\xa9|\xc3\xa9" },
};

START_TEST(no_character_is_torn)
{
	struct piece piece = { 0 };
	char told[64] = "";

	for (const char *at = pieces[_i].read; *at;) {
		size_t len = strcspn(at, "|~"), count;
		bool is_last = at[len] == '~';
		auto_free char *bytes = piece_join(&piece, at, len, is_last, &count);

		(void)strncat(told, bytes, count);
		if (!is_last)
			(void)strncat(told, "|", sizeof(told) - strlen(told) - 1);
		at += len + 1;
	}
	ck_assert_str_eq(told, pieces[_i].told);
	ck_assert_uint_eq(piece.len, 0);
}
END_TEST

/* Each byte that is not part of a character is one U+FFFD. */
static const struct {
	const char *bytes, *text;
} texts[] = {
	{ "abc", "abc" },
	{ "\xc3\xa9", "\xc3\xa9" },
	{ "a\xff", "a\xef\xbf\xbd" },
	{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xc0\x80x", "\xef\xbf\xbd\xef\xbf\xbdx" },
};

START_TEST(bytes_become_text)
{
	json_t *text = piece_text(texts[_i].bytes, strlen(texts[_i].bytes));

	ck_assert_str_eq(json_string_value(text), texts[_i].text);
	json_decref(text);
}
END_TEST

TCase *test_piece(void)
{
	TCase *tcase = tcase_create("piece");

	tcase_add_loop_test(tcase, no_character_is_torn, 0, ARRAY_SIZE(pieces));
	tcase_add_loop_test(tcase, bytes_become_text, 0, ARRAY_SIZE(texts));
	return tcase;
}
