/* tty_input: separates keys from the reports that a terminal sends. The parser follows ECMA-48 §5
 * as far as needed never to take a byte of a report, or of a bracketed paste, for a key. Private to
 * tty*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum tty_input_state {
	TTY_GROUND,
	TTY_ESCAPE,
	TTY_ESCAPED, /* no byte followed: it was the Escape key, unless a sequence follows later */
	TTY_CONTROL,
	TTY_SHIFT,
	TTY_STRING,
	TTY_STRING_ESCAPE
};
/* Zeroed is the initial state. */
struct tty_input {
	enum tty_input_state state;
	char sequence[16]; /* of a control sequence, with its final byte */
	size_t len;
	bool is_paste;
	bool is_text;      /* text is typed, not answering letters: a UTF-8 character is one key */
	unsigned int rest; /* missing bytes of such a character */
};
enum tty_event {
	TTY_NOTHING,
	TTY_KEY,    /* one byte was typed */
	TTY_REPORT, /* a whole escape sequence was skipped */
	TTY_READY,  /* it was the "ready" report that ends the fence */
	TTY_UP,     /* an arrow key; no report has its form */
	TTY_DOWN,
};
enum tty_event tty_input_feed(struct tty_input *input, unsigned char byte);
/* True once: all input was fed, and it ended with a lone Escape. */
bool tty_input_is_escape(struct tty_input *input);
