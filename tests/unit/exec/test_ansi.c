#include "tests/unit/exec/test_exec.h"

#include <string.h>

#include "exec/ansi.h"

/* After how many bytes of the text may a prompt be put? */
static const struct {
	const char *text;
	size_t boundary;
	enum ansi_state state;
} boundaries[] = {
	{ "plain", 5, ANSI_GROUND },
	{ "line\r\n", 6, ANSI_GROUND },
	{ "\x1b", 0, ANSI_ESCAPE },
	{ "ab\x1b[", 2, ANSI_CSI },
	{ "ab\x1b[31", 2, ANSI_CSI },
	{ "ab\x1b[31m", 7, ANSI_GROUND },
	{ "ab\x1b[31mc", 8, ANSI_GROUND },
	{ "\x1b(B", 3, ANSI_GROUND },
	{ "\x1b(", 0, ANSI_INTERMEDIATE },
	{ "\x1b"
	  "7x",
	  3, ANSI_GROUND },
	{ "\x1b]0;title", 0, ANSI_STRING },
	{ "\x1b]0;title\a", 10, ANSI_GROUND },
	{ "\x1b]0;title\x1b", 0, ANSI_STRING_ESCAPE },
	{ "\x1b]0;title\x1b\\", 11, ANSI_GROUND },
	{ "\x1b]0;title\x1b[1", 0, ANSI_CSI }, /* ESC ends a string, whatever follows it */
	{ "\x1bPq#0\x18x", 7, ANSI_GROUND },   /* CAN ends anything */
	{ "\x1b[3\x1b[4m", 7, ANSI_GROUND },
	{ "\x1b[3\nm", 5,
	  ANSI_GROUND }, /* a line feed acts inside a sequence and does not end it */
	{ "\xc3", 0, ANSI_UTF8 },
	{ "\xc3\xa9", 2, ANSI_GROUND },
	{ "a\xe2\x82", 1, ANSI_UTF8 },
	{ "a\xe2\x82\xac", 4, ANSI_GROUND },
	{ "\xf0\x9f\x98", 0, ANSI_UTF8 },
	{ "\xe2"
	  "a",
	  2, ANSI_GROUND }, /* a character that breaks off */
	{ "\x80\x80", 2, ANSI_GROUND },
};

START_TEST(finds_the_end_of_a_sequence)
{
	struct ansi ansi = { 0 };
	const char *text = boundaries[_i].text;

	ck_assert_uint_eq(ansi_feed(&ansi, (const uint8_t *)text, strlen(text)),
			  boundaries[_i].boundary);
	ck_assert_int_eq(ansi.state, boundaries[_i].state);
}
END_TEST

START_TEST(finds_it_byte_by_byte)
{
	struct ansi ansi = { 0 };
	const char *text = boundaries[_i].text;
	size_t boundary = 0;

	for (size_t i = 0; text[i]; i++)
		if (ansi_feed(&ansi, (const uint8_t *)text + i, 1) == 1)
			boundary = i + 1;
	ck_assert_uint_eq(boundary, boundaries[_i].boundary);
	ck_assert_int_eq(ansi.state, boundaries[_i].state);
}
END_TEST

static const struct {
	const char *text, *leave, *restore;
} modes[] = {
	{ "", "\x1b[0m", "" },
	{ "\x1b[?1049h", "\x1b[?1049l\x1b[0m", "\x1b[?1049h" },
	{ "\x1b[?47h", "\x1b[?1049l\x1b[0m", "\x1b[?1049h" },
	{ "\x1b[?1049h\x1b[?1049l", "\x1b[0m", "" },
	{ "\x1b[?25l", "\x1b[?25h\x1b[0m", "\x1b[?25l" }, /* the cursor is on unless switched off */
	{ "\x1b[?25h", "\x1b[0m", "" },
	{ "\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l\x1b[0m", "\x1b[?1000h\x1b[?1006h" },
	{ "\x1b[?2004h\x1b"
	  "c",
	  "\x1b[0m", "" },                 /* a full reset */
	{ "\x1b[1000h", "\x1b[0m", "" },   /* not private: something else */
	{ "\x1b[?1000$p", "\x1b[0m", "" }, /* a question, not a setting */
	{ "\x1b[?99999999999999999999h", "\x1b[0m", "" },
	{ "\x1b[?;;;;;;;;;;;;;;;;;;;;1049h", "\x1b[0m", "" }, /* more parameters than are kept */
};

START_TEST(remembers_modes)
{
	struct ansi ansi = { 0 };
	char out[ANSI_TEXT_MAX];

	ansi_feed(&ansi, (const uint8_t *)modes[_i].text, strlen(modes[_i].text));
	ck_assert_uint_eq(ansi_leave(&ansi, out), strlen(modes[_i].leave));
	ck_assert_str_eq(out, modes[_i].leave);
	ck_assert_uint_eq(ansi_restore(&ansi, out), strlen(modes[_i].restore));
	ck_assert_str_eq(out, modes[_i].restore);
	ck_assert_int_eq(ansi_is_alternate(&ansi), strstr(modes[_i].restore, "1049") != NULL);
}
END_TEST

START_TEST(all_modes_fit)
{
	static const char all[] = "\x1b[?1;1000;1002;1003;1004;1006;1015;2004;1049h\x1b[?25l";
	struct ansi ansi = { 0 };
	char out[ANSI_TEXT_MAX];

	ansi_feed(&ansi, (const uint8_t *)all, sizeof(all) - 1);
	ck_assert_uint_lt(ansi_leave(&ansi, out), sizeof(out));
	ck_assert_uint_lt(ansi_restore(&ansi, out), sizeof(out));
}
END_TEST

TCase *test_ansi(void)
{
	TCase *tcase = tcase_create("ansi");

	tcase_add_loop_test(tcase, finds_the_end_of_a_sequence, 0,
			    sizeof(boundaries) / sizeof(boundaries[0]));
	tcase_add_loop_test(tcase, finds_it_byte_by_byte, 0,
			    sizeof(boundaries) / sizeof(boundaries[0]));
	tcase_add_loop_test(tcase, remembers_modes, 0, sizeof(modes) / sizeof(modes[0]));
	tcase_add_test(tcase, all_modes_fit);
	return tcase;
}
