#include "exec/terminal/ansi.h"

#include <string.h>

#include "base/mem.h"

#define ESC 0x1b
#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a
#define SO  0x0e
#define SI  0x0f

#define MODE_MARGINS   69
#define MODE_ALTERNATE 1049

/* Cursor keys, inverse screen, origin, wrapping, cursor, margins, mouse, focus, mouse coordinates,
 * bracketed paste, synchronized output, alternate screen. */
const struct ansi_mode ansi_modes[ANSI_MODES] = {
	{ 1, ANSI_MODE_PLAIN },
	{ 5, ANSI_MODE_PLAIN },
	{ 6, ANSI_MODE_MOVES },
	{ 7, ANSI_MODE_INVERTED },
	{ 9, ANSI_MODE_PLAIN },
	{ 25, ANSI_MODE_INVERTED },
	{ MODE_MARGINS, ANSI_MODE_MOVES },
	{ 1000, ANSI_MODE_PLAIN },
	{ 1001, ANSI_MODE_PLAIN },
	{ 1002, ANSI_MODE_PLAIN },
	{ 1003, ANSI_MODE_PLAIN },
	{ 1004, ANSI_MODE_PLAIN },
	{ 1005, ANSI_MODE_PLAIN },
	{ 1006, ANSI_MODE_PLAIN },
	{ 1015, ANSI_MODE_PLAIN },
	{ 1016, ANSI_MODE_PLAIN },
	{ 2004, ANSI_MODE_PLAIN },
	{ 2026, ANSI_MODE_PLAIN },
	{ MODE_ALTERNATE, ANSI_MODE_SCREEN },
};

static int index_of(uint16_t number)
{
	if (number == 47 || number == 1047) /* older numbers of the same mode */
		number = MODE_ALTERNATE;
	for (int i = 0; i < ANSI_MODES; i++)
		if (ansi_modes[i].number == number)
			return i;
	return -1;
}

bool ansi_is_alternate(const struct ansi *ansi)
{
	return ansi->modes & BIT(ANSI_MODES - 1); /* the last entry of the table */
}

static void set_mode(struct ansi *ansi, uint16_t number, bool is_on)
{
	int i = index_of(number);

	if (i < 0)
		return;
	if (ansi_modes[i].kind == ANSI_MODE_MOVES)
		ansi->is_painted = true;
	if (number == MODE_MARGINS)
		ansi->left = ansi->right = 0;
	if (is_on != (ansi_modes[i].kind == ANSI_MODE_INVERTED))
		ansi->modes |= BIT(i);
	else
		ansi->modes &= ~BIT(i);
}

/* Returns how many there are, at least one; a missing number is 0. */
static size_t read_numbers(const char *at, uint16_t numbers[ANSI_PARAMETERS_KEPT])
{
	size_t count = 0;

	memset(numbers, 0, ANSI_PARAMETERS_KEPT * sizeof(numbers[0]));
	for (; *at; at++) {
		if (*at == ';' && ++count == ANSI_PARAMETERS_KEPT)
			return count;
		if (*at >= '0' && *at <= '9' &&
		    numbers[count] < 6000) /* larger than any that is used */
			numbers[count] = (uint16_t)(numbers[count] * 10 + (*at - '0'));
	}
	return count + 1;
}

/* As after a soft reset (DECSTR), which does not change the screen or the mouse modes. */
static void soft_reset(struct ansi *ansi)
{
	const uint16_t numbers[] = { 1, 6, MODE_MARGINS };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		set_mode(ansi, numbers[i], false);
	set_mode(ansi, 7, true);
	set_mode(ansi, 25, true);
	ansi->is_insert = ansi->is_keypad = ansi->is_shifted = false;
	ansi->charsets[0] = ansi->charsets[1] = 0;
	ansi->top = ansi->bottom = 0;
	ansi->style = (struct ansi_style){ 0 };
}

static void set_private(struct ansi *ansi, char final)
{
	uint16_t numbers[ANSI_PARAMETERS_KEPT];
	size_t count = read_numbers(ansi->parameters + 1, numbers);

	for (size_t i = 0; i < count && (final == 'h' || final == 'l'); i++)
		set_mode(ansi, numbers[i], final == 'h');
}

/* CSI > and CSI <: set how keys are sent. */
static void set_keys(struct ansi *ansi, char final)
{
	uint16_t numbers[ANSI_PARAMETERS_KEPT];

	(void)read_numbers(ansi->parameters + 1, numbers);
	if (final == 'u')
		ansi->has_own_keys = true;
	else if (final == 'm' && numbers[0] == 4 && ansi->parameters[0] == '>')
		ansi->modified_keys = (uint8_t)(numbers[1] <= 9 ? numbers[1] : 0);
	else if (final == 'n' && numbers[0] == 4 && ansi->parameters[0] == '>')
		ansi->modified_keys = 0;
}

/* A sequence that moves over what is already on the screen. */
static bool is_painting(char final, uint16_t number)
{
	if (final == 'J')
		return number != 0;
	return final != '\0' && strchr("AFHLMSTdfrsu", final) != NULL;
}

static void set_plain(struct ansi *ansi, char final)
{
	uint16_t numbers[ANSI_PARAMETERS_KEPT];
	size_t count = read_numbers(ansi->parameters, numbers);

	if (is_painting(final, numbers[0]) && !ansi_is_alternate(ansi))
		ansi->is_painted = true;
	if (final == 'm') {
		ansi_style_set(&ansi->style, ansi->parameters);
	} else if (final == 'r') {
		ansi->top = numbers[0] || numbers[1] ? (uint16_t)(numbers[0] ? numbers[0] : 1) : 0;
		ansi->bottom = numbers[1];
	} else if (final == 's' && (ansi->modes & BIT(index_of(MODE_MARGINS)))) {
		ansi->left = numbers[0];
		ansi->right = numbers[1];
	} else if (final == 's') {
		ansi->has_cursor = true;
	}
	for (size_t i = 0; i < count && (final == 'h' || final == 'l'); i++) {
		if (numbers[i] == 4)
			ansi->is_insert = final == 'h';
		if (numbers[i] == 20)
			ansi->is_newline = final == 'h';
	}
}

static void end_csi(struct ansi *ansi, char final)
{
	if (ansi->len == ANSI_PARAMETERS_MAX)
		return;
	ansi->parameters[ansi->len] = '\0';
	if (ansi->kind == '!' && final == 'p' && ansi->len == 0)
		return soft_reset(ansi);
	if (ansi->kind != '\0') /* a query, or a sequence without effect on our state */
		return;
	switch (ansi->parameters[0]) {
	case '?':
		set_private(ansi, final);
		break;
	case '<':
	case '=':
	case '>':
		set_keys(ansi, final);
		break;
	default:
		set_plain(ansi, final);
	}
}

static void begin(struct ansi *ansi, enum ansi_state state, char kind)
{
	ansi->state = state;
	ansi->kind = kind;
	ansi->len = 0;
}

static void keep_byte(struct ansi *ansi, uint8_t byte)
{
	if (ansi->len + 1 < ANSI_PARAMETERS_MAX)
		ansi->parameters[ansi->len++] = (char)byte;
	else
		ansi->len = ANSI_PARAMETERS_MAX;
}

static void in_csi(struct ansi *ansi, uint8_t byte)
{
	if (byte >= 0x40 && byte <= 0x7e) {
		ansi->state = ANSI_GROUND;
		end_csi(ansi, (char)byte);
	} else if (byte >= 0x20 && byte <= 0x2f) {
		ansi->kind = (char)byte;
	} else if (byte < 0x7f) {
		keep_byte(ansi, byte);
	} else if (byte > 0x7f) {
		ansi->len = ANSI_PARAMETERS_MAX; /* not a sequence that matters here */
	}
}

/* Operating system commands that redefine colours: the palette, foreground, background. */
static void in_string(struct ansi *ansi, uint8_t byte)
{
	uint16_t numbers[ANSI_PARAMETERS_KEPT];

	if (byte == BEL)
		ansi->state = ANSI_GROUND;
	if (ansi->kind != ']')
		return;
	keep_byte(ansi, byte);
	if (byte != ';' || ansi->len > 4)
		return;
	ansi->parameters[ansi->len] = '\0';
	(void)read_numbers(ansi->parameters, numbers);
	if (numbers[0] == 4 || numbers[0] == 10 || numbers[0] == 11)
		ansi->has_own_colours = true;
}

/* ESC and one byte. */
static void end_escape(struct ansi *ansi, uint8_t byte)
{
	if (strchr("78M", byte) && !ansi_is_alternate(ansi))
		ansi->is_painted = true;
	if (byte == 'c') /* RIS: full reset */
		*ansi = (struct ansi){ 0 };
	else if (byte == '7')
		ansi->has_cursor = true;
	else if (byte == '=' || byte == '>')
		ansi->is_keypad = byte == '=';
	ansi->state = ANSI_GROUND;
}

/* ESC ( or ESC ) and one byte: selects a character set. */
static void end_intermediate(struct ansi *ansi, uint8_t byte)
{
	if ((ansi->kind == '(' || ansi->kind == ')') && byte < 0x7f)
		ansi->charsets[ansi->kind == ')'] = byte == 'B' ? 0 : byte;
	ansi->state = ANSI_GROUND;
}

static void in_escape(struct ansi *ansi, uint8_t byte)
{
	if (byte == '[')
		begin(ansi, ANSI_CSI, '\0');
	else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
		begin(ansi, ANSI_STRING, (char)byte);
	else if (byte >= 0x20 && byte <= 0x2f)
		begin(ansi, ANSI_INTERMEDIATE, (char)byte);
	else
		end_escape(ansi, byte);
}

static void in_ground(struct ansi *ansi, uint8_t byte)
{
	uint8_t left = byte >= 0xf0 && byte <= 0xf4  ? 3
		       : byte >= 0xe0 && byte < 0xf0 ? 2
		       : byte >= 0xc2 && byte < 0xe0 ? 1
						     : 0;

	if (left > 0) {
		ansi->state = ANSI_UTF8;
		ansi->utf8_left = left;
	}
}

static void step(struct ansi *ansi, uint8_t byte)
{
	/* These act in every state; except ESC in a string, where it may begin the terminator. */
	if (byte == CAN || byte == SUB) {
		ansi->state = ANSI_GROUND;
		return;
	}
	if (byte == ESC) {
		ansi->state = ansi->state == ANSI_STRING ? ANSI_STRING_ESCAPE : ANSI_ESCAPE;
		return;
	}
	if (byte < 0x20 && ansi->state != ANSI_STRING && ansi->state != ANSI_STRING_ESCAPE) {
		if (ansi->state == ANSI_UTF8)
			ansi->state = ANSI_GROUND;
		if (byte == SO || byte == SI)
			ansi->is_shifted = byte == SO;
		return; /* control characters act inside a sequence without ending it */
	}
	switch (ansi->state) {
	case ANSI_STRING_ESCAPE:
		if (byte == '\\')
			ansi->state = ANSI_GROUND;
		else
			in_escape(ansi, byte); /* it ended the string and begins another sequence */
		break;
	case ANSI_ESCAPE:
		in_escape(ansi, byte);
		break;
	case ANSI_INTERMEDIATE:
		if (byte >= 0x30)
			end_intermediate(ansi, byte);
		break;
	case ANSI_CSI:
		in_csi(ansi, byte);
		break;
	case ANSI_STRING:
		in_string(ansi, byte);
		break;
	case ANSI_UTF8:
		ansi->state = ANSI_GROUND;
		if ((byte & 0xc0) == 0x80 && --ansi->utf8_left > 0)
			ansi->state = ANSI_UTF8;
		else if ((byte & 0xc0) != 0x80)
			in_ground(ansi, byte);
		break;
	case ANSI_GROUND:
	default:
		in_ground(ansi, byte);
	}
}

size_t ansi_feed(struct ansi *ansi, const uint8_t *bytes, size_t len)
{
	size_t boundary = 0;

	for (size_t i = 0; i < len; i++) {
		step(ansi, bytes[i]);
		if (ansi->state == ANSI_GROUND)
			boundary = i + 1;
	}
	return boundary;
}
