/* ansi_style: the rendition that characters are written in (ECMA-48 §8.3.117, SGR), as far as it
 * takes to set it again. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ANSI_COLOUR_MAX 32 /* "38:2::255:255:255" */
#define ANSI_STYLE_MAX  160

/* { 0 } is plain. */
struct ansi_style {
	uint16_t on; /* one bit each; see ansi_style.c */
	char underline[8], ink[ANSI_COLOUR_MAX], paper[ANSI_COLOUR_MAX], line[ANSI_COLOUR_MAX];
};

/* As "CSI @parameters m" changes it; what is not known is left out. */
void ansi_style_set(struct ansi_style *style, const char *parameters);
/* The sequence that sets it on any terminal, whatever it had; NUL-terminated, returns the length.
 */
size_t ansi_style_text(const struct ansi_style *style, char out[ANSI_STYLE_MAX]);
