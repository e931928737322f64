#include "exec/terminal/ansi_style.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Bold, faint, italic, blinking (two), inverse, hidden, crossed out, overlined; and the number that
 * ends each. */
static const struct {
	uint8_t on, off;
} styles[] = { { 1, 22 }, { 2, 22 }, { 3, 23 }, { 5, 25 }, { 6, 25 },
	       { 7, 27 }, { 8, 28 }, { 9, 29 }, { 53, 55 } };

/* One parameter with its subparameters: [at, end). */
struct parameter {
	const char *at, *end;
	unsigned int number; /* the first number; missing: 0 */
};

static struct parameter parameter_at(const char *at)
{
	struct parameter parameter = { .at = at, .end = at + strcspn(at, ";") };

	for (; *at >= '0' && *at <= '9'; at++)
		if (parameter.number < 10000)
			parameter.number = parameter.number * 10 + (unsigned int)(*at - '0');
	return parameter;
}

/* @size: of @out. A value that is too long, or contains other characters, is not kept. */
static void keep(char *out, size_t size, const char *at, const char *end)
{
	size_t len = (size_t)(end - at);

	if (len >= size || strspn(at, "0123456789:;") < len)
		len = 0;
	memcpy(out, at, len);
	out[len] = '\0';
}

/* 38;5;N and 38;2;R;G;B include the parameters that follow. Returns the end of the last one;
 * *@ret_is_whole: none is missing. */
static const char *colour_end(const struct parameter *parameter, bool *ret_is_whole)
{
	const char *end = parameter->end;
	int count;

	*ret_is_whole = memchr(parameter->at, ':', (size_t)(end - parameter->at)) != NULL;
	if (*ret_is_whole || *end == '\0')
		return end;
	struct parameter kind = parameter_at(end + 1);

	count = kind.number == 5 ? 2 : kind.number == 2 ? 4 : 0;
	*ret_is_whole = count > 0;
	for (; count > 0 && *end; count--)
		end = parameter_at(end + 1).end;
	*ret_is_whole = *ret_is_whole && count == 0;
	return *ret_is_whole ? end : kind.end;
}

static void set_simple(struct ansi_style *style, unsigned int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		if (styles[i].on == number)
			style->on |= (uint16_t)BIT(i);
		if (styles[i].off == number)
			style->on &= (uint16_t)~BIT(i);
	}
}

enum colour { COLOUR_NONE, COLOUR_INK, COLOUR_PAPER, COLOUR_LINE };

/* The colour that @number sets (or ends: *@ret_is_end). */
static enum colour colour_of(unsigned int number, bool *ret_is_end)
{
	*ret_is_end = number == 39 || number == 49 || number == 59;
	if ((number >= 30 && number <= 39) || (number >= 90 && number <= 97))
		return COLOUR_INK;
	if ((number >= 40 && number <= 49) || (number >= 100 && number <= 107))
		return COLOUR_PAPER;
	return number == 58 || number == 59 ? COLOUR_LINE : COLOUR_NONE;
}

void ansi_style_set(struct ansi_style *style, const char *parameters)
{
	char *const colours[] = { NULL, style->ink, style->paper, style->line };
	const char *at = parameters;

	for (;;) {
		struct parameter parameter = parameter_at(at);
		unsigned int number = parameter.number;
		bool is_end, is_whole = true;
		enum colour colour = colour_of(number, &is_end);

		if (number == 38 || number == 48 || number == 58)
			parameter.end = colour_end(&parameter, &is_whole);
		if (number == 0)
			*style = (struct ansi_style){ 0 };
		else if (number == 24 || (number == 4 && strncmp(parameter.at, "4:0", 3) == 0))
			style->underline[0] = '\0';
		else if (number == 4 || number == 21)
			keep(style->underline, sizeof(style->underline), parameter.at,
			     parameter.end);
		else if (colour != COLOUR_NONE && is_whole)
			keep(colours[colour], ANSI_COLOUR_MAX, parameter.at,
			     is_end ? parameter.at : parameter.end);
		else if (colour == COLOUR_NONE)
			set_simple(style, number);
		if (*parameter.end == '\0')
			return;
		at = parameter.end + 1;
	}
}

size_t ansi_style_text(const struct ansi_style *style, char out[ANSI_STYLE_MAX])
{
	const char *const texts[] = { style->underline, style->ink, style->paper, style->line };
	size_t len = (size_t)snprintf(out, ANSI_STYLE_MAX, "\x1b[0");

	/* It fits: each is at most 3 bytes, or as long as its array. */
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		if (style->on & BIT(i))
			len += (size_t)snprintf(out + len, ANSI_STYLE_MAX - len, ";%u",
						styles[i].on);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i][0] != '\0')
			len += (size_t)snprintf(out + len, ANSI_STYLE_MAX - len, ";%s", texts[i]);
	return len + (size_t)snprintf(out + len, ANSI_STYLE_MAX - len, "m");
}
