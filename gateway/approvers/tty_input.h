/* tty_input: what a terminal sends is keys and reports, mixed; the parser follows ECMA-48 §5 far
 * enough never to take a byte of a report, or of a bracketed paste, for a key. Private to tty*.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum tty_input_state {
	TTY_GROUND,
	TTY_ESCAPE,
	TTY_ESCAPED, /* nothing followed: it was the key, unless a sequence goes on after all */
	TTY_CONTROL,
	TTY_SHIFT,
	TTY_STRING,
	TTY_STRING_ESCAPE
};
/* Zeroed is the start. */
struct tty_input {
	enum tty_input_state state;
	char sequence[16]; /* of a control sequence, with its final byte */
	size_t len;
	bool is_paste;
	bool is_text; /* words are typed, no letters that answer: characters of UTF-8 are one */
	unsigned int rest; /* bytes of such a character that are to come */
};
enum tty_event {
	TTY_NOTHING,
	TTY_KEY,    /* one byte was typed */
	TTY_REPORT, /* a whole escape sequence went by */
	TTY_READY,  /* it was the "ready" report that ends the fence */
	TTY_UP,     /* it was an arrow; no report looks like one */
	TTY_DOWN,
};
enum tty_event tty_input_feed(struct tty_input *input, unsigned char byte);
/* All that has come was fed, and the last of it was an Escape by itself. Says so once. */
bool tty_input_is_escape(struct tty_input *input);
