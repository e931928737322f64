#include <string.h>

#include "base/process/keeper.h"
#include "exec/terminal/ansi.h"
#include "exec/terminal/ansi_screen.h"
#include "tests/fuzz/fuzz.h"

/* Fits, and is whole: what comes behind it is not taken for a part of it. */
static void check_text(const char *text, size_t len, size_t max)
{
	struct ansi ansi = { 0 };

	fuzz_must(len == strlen(text) && len < max);
	fuzz_must(ansi_feed(&ansi, (const uint8_t *)text, len) == len);
	fuzz_must(ansi.state == ANSI_GROUND);
}

/* A new terminal that gets the restoring sequence has the same state, as far as it can be restored.
 */
static void check_restored(const struct ansi *ansi)
{
	struct ansi again = { 0 };
	char out[ANSI_TEXT_MAX], back[ANSI_TEXT_MAX];
	size_t len = ansi_screen_restore(ansi, out);

	check_text(out, len, sizeof(out));
	(void)ansi_feed(&again, (const uint8_t *)out, len);
	fuzz_must(again.top == ansi->top || !ansi->is_painted);
	fuzz_must(again.is_insert == ansi->is_insert && again.is_keypad == ansi->is_keypad);
	fuzz_must(memcmp(again.charsets, ansi->charsets, sizeof(again.charsets)) == 0);
	char style[ANSI_STYLE_MAX], style_again[ANSI_STYLE_MAX];

	fuzz_must(ansi_style_text(&ansi->style, style) ==
		  ansi_style_text(&again.style, style_again));
	fuzz_must(strcmp(style, style_again) == 0);
	check_text(back, ansi_screen_leave(ansi, back), sizeof(back));
	check_text(back, ansi_screen_abandon(ansi, true, back), KEEPER_TEXT_MAX);
	check_text(back, ansi_screen_abandon(ansi, false, back), KEEPER_TEXT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ansi whole = { 0 }, parts = { 0 };
	size_t boundary = ansi_feed(&whole, bytes, len), half = len / 2;
	size_t first = ansi_feed(&parts, bytes, half);
	size_t second = ansi_feed(&parts, bytes + half, len - half);

	fuzz_must(boundary <= len);
	fuzz_must(boundary == (second > 0 ? half + second : first));
	fuzz_must(whole.state == parts.state && whole.modes == parts.modes);
	fuzz_must(whole.is_painted == parts.is_painted && whole.top == parts.top);
	check_restored(&whole);
	return 0;
}
