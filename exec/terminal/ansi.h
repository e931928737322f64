/* ansi: parses the output to a terminal, to know where sequences end and how the terminal is set:
 * so a prompt is never written inside a sequence, and a program finds its terminal as it left it.
 * The content of the screen is not kept here; the terminal keeps it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/terminal/ansi_style.h"

enum ansi_state {
	ANSI_GROUND,
	ANSI_ESCAPE,        /* after ESC */
	ANSI_INTERMEDIATE,  /* ESC and 0x20–0x2f: one final byte follows */
	ANSI_CSI,           /* ESC [ */
	ANSI_STRING,        /* OSC, DCS, SOS, PM, APC: until ST (or BEL) */
	ANSI_STRING_ESCAPE, /* ESC in a string: ST if a backslash follows */
	ANSI_UTF8,          /* inside a multi-byte character */
};

/* Bits for the modes below, by their index in ansi_modes. */
#define ANSI_MODES 19
#define ANSI_PARAMETERS_MAX                                                                        \
	96                      /* bytes between CSI and its final byte; longer is nothing we know \
				 */
#define ANSI_PARAMETERS_KEPT 16 /* of these, how many numbers are kept */

/* { 0 } is a terminal after a reset. */
struct ansi {
	enum ansi_state state;
	uint8_t utf8_left;
	char parameters[ANSI_PARAMETERS_MAX]; /* of a control sequence, or the start of a string */
	uint8_t len;                          /* ANSI_PARAMETERS_MAX: too long */
	char kind; /* the first byte of the string; or the intermediate byte */

	uint32_t modes; /* private modes that differ from those after a reset; see ansi.c */
	bool is_insert, is_newline, is_keypad, is_shifted;
	uint8_t charsets[2];   /* final bytes for G0, G1; 0 is ASCII */
	uint16_t top, bottom;  /* the scrolling region; 0 and 0: the whole screen */
	uint16_t left, right;  /* its margins, while mode 69 is on */
	uint8_t modified_keys; /* CSI > 4 ; N m */
	bool has_own_keys;     /* it uses the kitty keyboard protocol */
	bool has_own_colours;  /* it redefined colours */
	bool has_cursor;       /* it has saved a cursor position */
	bool is_painted;       /* it moves the cursor on its screen, and does not only append */
	struct ansi_style style;
};

/* The effect of a private mode, if other code has to know it. */
enum ansi_mode_kind {
	ANSI_MODE_PLAIN,
	ANSI_MODE_INVERTED, /* on after a reset */
	ANSI_MODE_MOVES,    /* setting it moves the cursor */
	ANSI_MODE_SCREEN,   /* the alternate screen */
};
struct ansi_mode {
	uint16_t number;
	enum ansi_mode_kind kind;
};
extern const struct ansi_mode ansi_modes[ANSI_MODES];

/* Parses @bytes. Returns how many of them end at a boundary: a prompt may be written after these; 0
 * if there is no boundary. */
size_t ansi_feed(struct ansi *ansi, const uint8_t *bytes, size_t len);

bool ansi_is_alternate(const struct ansi *ansi);
