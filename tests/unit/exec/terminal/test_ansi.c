#include "tests/unit/exec/test_exec.h"

#include <string.h>

#include "base/process/keeper.h"
#include "exec/terminal/ansi.h"
#include "exec/terminal/ansi_screen.h"

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

#define SAVE                                                                                       \
	"\x1b"                                                                                     \
	"7"
#define BACK                                                                                       \
	"\x1b"                                                                                     \
	"8"
#define CLEAR   "\x1b[0m\x1b[H\x1b[2J"
#define UNCLEAR "\x1b[0m\x1b[2J"
#define ASIDE   "\x1b[?1049h"
#define RETURN  "\x1b[?1049l"

static const struct {
	const char *text, *leave, *restore;
} modes[] = {
	{ "", "\x1b[0m", "" },
	{ "plain\r\ntext\x1b[K", "\x1b[0m", "" },
	{ "\x1b[?1049h", SAVE CLEAR, UNCLEAR BACK },
	{ "\x1b[?47h", SAVE CLEAR, UNCLEAR BACK },
	{ "\x1b[?1049h\x1b[3;4H\x1b[2J", SAVE CLEAR, UNCLEAR BACK },
	{ "\x1b[?1049h\x1b"
	  "7",
	  CLEAR, UNCLEAR }, /* its own place to go back to is kept */
	{ "\x1b[?1049h\x1b[H\x1b[?1049l", "\x1b[0m", "" },
	{ "\x1b[?25l", "\x1b[?25h\x1b[0m", "\x1b[?25l" }, /* the cursor is on unless switched off */
	{ "\x1b[?25h", "\x1b[0m", "" },
	{ "\x1b[?7l", "\x1b[?7h\x1b[0m", "\x1b[?7l" },
	{ "\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l\x1b[0m", "\x1b[?1000h\x1b[?1006h" },
	{ "\x1b[?2026h", "\x1b[?2026l\x1b[0m", "\x1b[?2026h" },
	{ "\x1b[?2004h\x1b[5;5H\x1b[1m\x1b"
	  "c",
	  "\x1b[0m", "" },                 /* a full reset */
	{ "\x1b[1000h", "\x1b[0m", "" },   /* not private: something else */
	{ "\x1b[?1000$p", "\x1b[0m", "" }, /* a question, not a setting */
	{ "\x1b[?99999999999999999999h", "\x1b[0m", "" },
	{ "\x1b[?;;;;;;;;;;;;;;;;;;;;1049h", "\x1b[0m", "" }, /* more parameters than are kept */

	/* A program that returns to the main screen finds it unchanged. */
	{ "\x1b[A", ASIDE CLEAR, UNCLEAR RETURN },
	{ "\x1b[5;5H", ASIDE CLEAR, UNCLEAR RETURN },
	{ "\x1b[2J", ASIDE CLEAR, UNCLEAR RETURN },
	{ "\x1b[J", "\x1b[0m", "" },
	{ "\x1bM", ASIDE CLEAR, UNCLEAR RETURN },
	{ "\x1b[2;9r", ASIDE "\x1b[r" CLEAR, UNCLEAR "\x1b[2;9r" RETURN },
	{ "\x1b[2;9r\x1b[r", ASIDE CLEAR, UNCLEAR RETURN },
	{ "\x1b[;9r", ASIDE "\x1b[r" CLEAR, UNCLEAR "\x1b[1;9r" RETURN },
	{ "\x1b[?6h", ASIDE "\x1b[?6l" CLEAR, UNCLEAR "\x1b[?6h" RETURN },
	{ "\x1b[?69h\x1b[3;7s", ASIDE "\x1b[?69l" CLEAR, UNCLEAR "\x1b[?69h\x1b[3;7s" RETURN },

	/* What it writes in. */
	{ "\x1b[1;31m", "\x1b[0m", "\x1b[0;1;31m" },
	{ "\x1b[1;31m\x1b[m", "\x1b[0m", "" },
	{ "\x1b[1;2;3;7m\x1b[22;27m", "\x1b[0m", "\x1b[0;3m" },
	{ "\x1b[38;5;200;4m", "\x1b[0m", "\x1b[0;4;38;5;200m" },
	{ "\x1b[48;2;1;2;3;9m", "\x1b[0m", "\x1b[0;9;48;2;1;2;3m" },
	{ "\x1b[4:3;58:2::1:2:3m", "\x1b[0m", "\x1b[0;4:3;58:2::1:2:3m" },
	{ "\x1b[4m\x1b[4:0m", "\x1b[0m", "" },
	{ "\x1b[97;101m\x1b[39m", "\x1b[0m", "\x1b[0;101m" },
	{ "\x1b[38;5m\x1b[48m\x1b[1;38;9m\x1b[38;2;1m", "\x1b[0m",
	  "\x1b[0;1m" }, /* half a colour */
	{ "\x1b[31\xff;1m\x1b[4\x7fm", "\x1b[0m", "\x1b[0;4m" },
	{ "\x1b[>4;2m", "\x1b[>4m\x1b[0m", "\x1b[>4;2m" },
	{ "\x1b[>4;2m\x1b[>4m", "\x1b[0m", "" },
	{ "\x1b[>1u", "\x1b[0m", "" }, /* the stack of the other screen is its own */
	{ "\x1b[?1049h\x1b[>1u", SAVE "\x1b[>0u" CLEAR, UNCLEAR "\x1b[<1u" BACK },
	{ "\x1b(0", "\x1b(B\x1b)B\x1b[0m", "\x1b(0\x1b)B" },
	{ "\x1b)0\x0e", "\x0f\x1b(B\x1b)B\x1b[0m", "\x1b(B\x1b)0\x0e" },
	{ "\x1b(0\x1b(B", "\x1b[0m", "" },
	{ "\x1b[4h\x1b[20h\x1b=", "\x1b[4l\x1b[20l\x1b>\x1b[0m", "\x1b=\x1b[20h\x1b[4h" },
	{ "\x1b[4;20h\x1b=\x1b[1m\x1b[!p", ASIDE "\x1b[20l" CLEAR, UNCLEAR RETURN "\x1b[20h" },
	{ "\x1b]11;black\x07", "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b[0m", "" },
	{ "\x1b]0;11;title\x07\x1b]52;c;eA==\x07", "\x1b[0m", "" },
};

START_TEST(remembers_modes)
{
	struct ansi ansi = { 0 };
	char out[ANSI_TEXT_MAX];

	ansi_feed(&ansi, (const uint8_t *)modes[_i].text, strlen(modes[_i].text));
	ck_assert_uint_eq(ansi_screen_leave(&ansi, out), strlen(out));
	ck_assert_str_eq(out, modes[_i].leave);
	ck_assert_uint_eq(ansi_screen_restore(&ansi, out), strlen(out));
	ck_assert_str_eq(out, modes[_i].restore);
}
END_TEST

START_TEST(all_of_it_fits)
{
	static const char all[] =
		"\x1b[?1;5;6;9;69;1000;1001;1002;1003;1004;1005;1006h\x1b[?1015;1016;2004;2026h"
		"\x1b[?25;7l\x1b[4;20h\x1b=\x1b(0\x1b)0\x0e\x1b[65000;65000r\x1b[60000;60000s"
		"\x1b[>4;2m\x1b[>1u\x1b]11;?\x07\x1b[1;2;3;5;6;7;8;9;53;4:333m"
		"\x1b[38:2::0255:0255:0000000000255m\x1b[48:2::0255:0255:0000000000255m"
		"\x1b[58:2::0255:0255:0000000000255m";
	struct ansi ansi = { 0 };
	char out[ANSI_TEXT_MAX];

	ansi_feed(&ansi, (const uint8_t *)all, sizeof(all) - 1);
	ck_assert_uint_eq(strlen(ansi.style.line), ANSI_COLOUR_MAX - 3);
	ck_assert_uint_lt(ansi_screen_leave(&ansi, out), sizeof(out) / 2);
	ck_assert_uint_lt(ansi_screen_abandon(&ansi, true, out), KEEPER_TEXT_MAX);
	ck_assert_uint_lt(ansi_screen_restore(&ansi, out), sizeof(out) / 4 * 3);
	/* To its last part. */
	ck_assert_str_eq(out + strlen(out) - 8, "\x1b[?2026h");
}
END_TEST

/* Whatever came before: what restores it, read by a fresh terminal, is that state again. */
START_TEST(what_is_restored_is_what_was_read)
{
	struct ansi ansi = { 0 }, again = { 0 };
	char out[ANSI_TEXT_MAX], back[ANSI_TEXT_MAX];

	ansi_feed(&ansi, (const uint8_t *)modes[_i].text, strlen(modes[_i].text));
	size_t len = ansi_screen_restore(&ansi, out);

	ansi_feed(&again, (const uint8_t *)out, len);
	again.is_painted = ansi.is_painted;
	again.has_cursor = ansi.has_cursor;
	again.has_own_keys = ansi.has_own_keys;
	if (ansi_is_alternate(&ansi))
		again.modes |= ansi.modes; /* it never left that screen */
	(void)ansi_screen_restore(&again, back);
	ck_assert_str_eq(back, out);
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
	tcase_add_test(tcase, all_of_it_fits);
	tcase_add_loop_test(tcase, what_is_restored_is_what_was_read, 0,
			    sizeof(modes) / sizeof(modes[0]));
	return tcase;
}
