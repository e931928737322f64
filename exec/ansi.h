/* ansi: reads what a terminal is sent closely enough to know where a sequence ends and how the
 * terminal is set, so that a prompt never lands inside a sequence and a program finds its terminal
 * again as it left it. The screen itself is the terminal's to remember. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/ansi_style.h"

enum ansi_state {
	ANSI_GROUND,
	ANSI_ESCAPE,        /* after ESC */
	ANSI_INTERMEDIATE,  /* ESC and 0x20–0x2f: one final byte to come */
	ANSI_CSI,           /* ESC [ */
	ANSI_STRING,        /* OSC, DCS, SOS, PM, APC: up to ST (or BEL) */
	ANSI_STRING_ESCAPE, /* ESC inside one: ST if a backslash follows */
	ANSI_UTF8,          /* inside a character of several bytes */
};

/* Of the modes below, by their place in ansi_modes. */
#define ANSI_MODES 19
#define ANSI_PARAMETERS_MAX                                                                        \
	96                      /* bytes between CSI and its final byte; longer is nothing we know \
				 */
#define ANSI_PARAMETERS_KEPT 16 /* numbers read of them */

/* { 0 } is a fresh terminal. */
struct ansi {
	enum ansi_state state;
	uint8_t utf8_left;
	char parameters[ANSI_PARAMETERS_MAX]; /* of a control sequence, or the start of a string */
	uint8_t len;                          /* ANSI_PARAMETERS_MAX: too long */
	char kind;                            /* the byte that began the string; the intermediate */

	uint32_t modes; /* private modes that are not as on a fresh terminal; see ansi.c */
	bool is_insert, is_newline, is_keypad, is_shifted;
	uint8_t charsets[2];   /* final bytes for G0, G1; 0 is ASCII */
	uint16_t top, bottom;  /* the scrolling region; 0 and 0 is the screen */
	uint16_t left, right;  /* its margins, while mode 69 is on */
	uint8_t modified_keys; /* CSI > 4 ; N m */
	bool has_own_keys;     /* it spoke the kitty keyboard protocol */
	bool has_own_colours;  /* it redefined what colours look like */
	bool has_cursor;       /* it has saved a cursor to go back to */
	bool is_painted;       /* it moves about its screen, and does not only write on */
	struct ansi_style style;
};

/* What a private mode does that others have to know of. */
enum ansi_mode_kind {
	ANSI_MODE_PLAIN,
	ANSI_MODE_INVERTED, /* on, on a fresh terminal */
	ANSI_MODE_MOVES,    /* setting it moves the cursor */
	ANSI_MODE_SCREEN,   /* the alternate screen */
};
struct ansi_mode {
	uint16_t number;
	enum ansi_mode_kind kind;
};
extern const struct ansi_mode ansi_modes[ANSI_MODES];

/* Reads @bytes. Returns how many of them end at a boundary: a prompt may be put after so many, 0
 * when none. */
size_t ansi_feed(struct ansi *ansi, const uint8_t *bytes, size_t len);

bool ansi_is_alternate(const struct ansi *ansi);
