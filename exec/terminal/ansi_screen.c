#include "exec/terminal/ansi_screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* All text together is shorter than ANSI_TEXT_MAX; a test checks the sum. */
struct text {
	char *out;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text->out + text->len, ANSI_TEXT_MAX - text->len, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < ANSI_TEXT_MAX - text->len)
		text->len += (size_t)n;
	text->out[text->len] = '\0';
}

/* Does a question need a screen of its own? False: the program only appends text, so we may do the
 * same. */
static bool is_wanted(const struct ansi *ansi)
{
	return ansi->is_painted || ansi_is_alternate(ansi);
}

static void say_modes(struct text *text, const struct ansi *ansi, bool is_back,
		      enum ansi_mode_kind least, enum ansi_mode_kind most)
{
	for (size_t i = 0; i < ANSI_MODES; i++) {
		enum ansi_mode_kind kind = ansi_modes[i].kind;

		if ((ansi->modes & BIT(i)) && kind >= least && kind <= most)
			say(text, "\x1b[?%u%c", ansi_modes[i].number,
			    is_back != (kind == ANSI_MODE_INVERTED) ? 'h' : 'l');
	}
}

/* Resets everything except the cursor position and the screen. */
static void say_fresh(struct text *text, const struct ansi *ansi)
{
	say_modes(text, ansi, false, ANSI_MODE_PLAIN, ANSI_MODE_MOVES);
	say(text, "%s%s%s%s", ansi->is_insert ? "\x1b[4l" : "", ansi->is_newline ? "\x1b[20l" : "",
	    ansi->is_keypad ? "\x1b>" : "", ansi->is_shifted ? "\x0f" : "");
	if (ansi->charsets[0] || ansi->charsets[1])
		say(text, "\x1b(B\x1b)B");
	if (ansi->top || ansi->bottom)
		say(text, "\x1b[r");
	if (ansi->modified_keys)
		say(text, "\x1b[>4m");
	if (ansi->has_own_colours)
		say(text, "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\");
	say(text, "\x1b[0m");
}

size_t ansi_screen_leave(const struct ansi *ansi, char out[ANSI_TEXT_MAX])
{
	struct text text = { .out = out };

	out[0] = '\0';
	if (!is_wanted(ansi)) {
		say_fresh(&text, ansi);
		return text.len;
	}
	if (!ansi_is_alternate(ansi))
		say(&text, "\x1b[?1049h"); /* also saves the cursor */
	else if (!ansi->has_cursor)
		say(&text, "\x1b"
			   "7");
	if (ansi->has_own_keys)
		say(&text, "\x1b[>0u");
	say_fresh(&text, ansi);
	say(&text, "\x1b[H\x1b[2J");
	return text.len;
}

/* First what moves the cursor, then the cursor position itself. */
static void say_place(struct text *text, const struct ansi *ansi)
{
	say(text, "\x1b[0m\x1b[2J");
	if (ansi->has_own_keys)
		say(text, "\x1b[<1u");
	say_modes(text, ansi, true, ANSI_MODE_MOVES, ANSI_MODE_MOVES);
	if (ansi->top || ansi->bottom)
		say(text, "\x1b[%u;%ur", ansi->top, ansi->bottom);
	if (ansi->left || ansi->right)
		say(text, "\x1b[%u;%us", ansi->left, ansi->right);
	if (!ansi_is_alternate(ansi))
		say(text, "\x1b[?1049l");
	else if (!ansi->has_cursor)
		say(text, "\x1b"
			  "8");
}

size_t ansi_screen_restore(const struct ansi *ansi, char out[ANSI_TEXT_MAX])
{
	struct text text = { .out = out };
	char style[ANSI_STYLE_MAX];

	out[0] = '\0';
	if (is_wanted(ansi))
		say_place(&text, ansi);
	if (ansi->charsets[0] || ansi->charsets[1])
		say(&text, "\x1b(%c\x1b)%c", ansi->charsets[0] ? ansi->charsets[0] : 'B',
		    ansi->charsets[1] ? ansi->charsets[1] : 'B');
	say(&text, "%s%s%s%s", ansi->is_shifted ? "\x0e" : "", ansi->is_keypad ? "\x1b=" : "",
	    ansi->is_newline ? "\x1b[20h" : "", ansi->is_insert ? "\x1b[4h" : "");
	if (ansi->modified_keys)
		say(&text, "\x1b[>4;%um", ansi->modified_keys);
	if (ansi_style_text(&ansi->style, style) > sizeof("\x1b[0m") - 1)
		say(&text, "%s", style);
	say_modes(&text, ansi, true, ANSI_MODE_PLAIN, ANSI_MODE_INVERTED);
	return text.len;
}

size_t ansi_screen_abandon(const struct ansi *ansi, bool is_left, char out[ANSI_TEXT_MAX])
{
	struct text text = { .out = out };
	bool is_aside = ansi_is_alternate(ansi) || (is_left && is_wanted(ansi));

	out[0] = '\0';
	if (ansi->has_own_keys && !is_left)
		say(&text, "\x1b[=0u");
	say_fresh(&text, ansi);
	say(&text, "%s%s", is_left ? "\x1b[?2004l" : "", is_aside ? "\x1b[?1049l" : "");
	return text.len;
}
