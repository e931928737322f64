/* ansi_style: the style in which characters are written (ECMA-48 §8.3.117, SGR), to be able to
 * restore it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ANSI_COLOUR_MAX 32 /* "38:2::255:255:255" */
#define ANSI_STYLE_MAX  160

/* { 0 } is the default style. */
struct ansi_style {
	uint16_t on; /* one bit per attribute; see ansi_style.c */
	char underline[8], ink[ANSI_COLOUR_MAX], paper[ANSI_COLOUR_MAX], line[ANSI_COLOUR_MAX];
};

/* Applies "CSI @parameters m"; unknown parameters are ignored. */
void ansi_style_set(struct ansi_style *style, const char *parameters);
/* The sequence that sets this style on any terminal, whatever its style was; NUL-terminated,
 * returns the length. */
size_t ansi_style_text(const struct ansi_style *style, char out[ANSI_STYLE_MAX]);
