/* ansi: reads what a terminal is sent closely enough to know where a sequence ends and which modes
 * are on, so that a prompt never lands inside a sequence and a full-screen program finds its modes
 * again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ansi_state {
	ANSI_GROUND,
	ANSI_ESCAPE,        /* after ESC */
	ANSI_INTERMEDIATE,  /* ESC and 0x20–0x2f: one final byte to come */
	ANSI_CSI,           /* ESC [ */
	ANSI_STRING,        /* OSC, DCS, SOS, PM, APC: up to ST (or BEL) */
	ANSI_STRING_ESCAPE, /* ESC inside one: ST if a backslash follows */
	ANSI_UTF8,          /* inside a character of several bytes */
};

/* Private modes that change what keys send or where output goes. */
#define ANSI_MODES 10

/* { 0 } is a fresh terminal. */
struct ansi {
	enum ansi_state state;
	uint8_t utf8_left;
	bool is_private; /* CSI ? … */
	bool is_plain;   /* CSI so far holds nothing but digits and ';' after the '?' */
	uint16_t numbers[ANSI_MODES];
	uint8_t number_count;
	uint16_t modes; /* one bit each; see ansi.c */
};

/* Reads @bytes. Returns how many of them end at a boundary: a prompt may be put after so many, 0
 * when none. */
size_t ansi_feed(struct ansi *ansi, const uint8_t *bytes, size_t len);

bool ansi_is_alternate(const struct ansi *ansi);

/* What takes a terminal out of the modes and back into them; NUL-terminated, returns the length. */
#define ANSI_TEXT_MAX 160
size_t ansi_leave(const struct ansi *ansi, char out[ANSI_TEXT_MAX]);
size_t ansi_restore(const struct ansi *ansi, char out[ANSI_TEXT_MAX]);
