#include "exec/ansi.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ESC 0x1b
#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a

/* The cursor's is kept inverted: bit set means "hidden" (CSI ? 25 l), so that { 0 } is a fresh
 * terminal. */
#define MODE_CURSOR    25
#define MODE_ALTERNATE 1049

/* Cursor keys, cursor, mouse ×3, focus, mouse ×2, bracketed paste, alternate screen. */
static const uint16_t mode_numbers[ANSI_MODES] = {
	1, MODE_CURSOR, 1000, 1002, 1003, 1004, 1006, 1015, 2004, MODE_ALTERNATE,
};

static int index_of(uint16_t number)
{
	if (number == 47 || number == 1047) /* its older spellings */
		number = MODE_ALTERNATE;
	for (int i = 0; i < ANSI_MODES; i++)
		if (mode_numbers[i] == number)
			return i;
	return -1;
}

static void set_mode(struct ansi *ansi, uint16_t number, bool is_on)
{
	int i = index_of(number);

	if (i < 0)
		return;
	if (is_on != (number == MODE_CURSOR))
		ansi->modes |= (uint16_t)BIT(i);
	else
		ansi->modes &= (uint16_t)~BIT(i);
}

static void begin_csi(struct ansi *ansi)
{
	ansi->state = ANSI_CSI;
	ansi->is_private = false;
	ansi->is_plain = true;
	ansi->number_count = 0;
	memset(ansi->numbers, 0, sizeof(ansi->numbers));
}

static void in_csi(struct ansi *ansi, uint8_t byte)
{
	if (byte >= 0x40 && byte <= 0x7e) {
		ansi->state = ANSI_GROUND;
		if (!ansi->is_private || !ansi->is_plain || (byte != 'h' && byte != 'l'))
			return;
		for (int i = 0; i <= ansi->number_count && i < ANSI_MODES; i++)
			set_mode(ansi, ansi->numbers[i], byte == 'h');
	} else if (byte >= '0' && byte <= '9') {
		uint16_t *number =
			&ansi->numbers[ansi->number_count < ANSI_MODES ? ansi->number_count : 0];

		/* Past the last that we keep, or larger than any mode: not one of ours. */
		if (ansi->number_count < ANSI_MODES && *number < 6000)
			*number = (uint16_t)(*number * 10 + (byte - '0'));
	} else if (byte == ';') {
		if (ansi->number_count < ANSI_MODES)
			ansi->number_count++;
	} else if (byte == '?') {
		ansi->is_private = true;
	} else {
		ansi->is_plain = false;
	}
}

static void in_escape(struct ansi *ansi, uint8_t byte)
{
	if (byte == '[')
		begin_csi(ansi);
	else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
		ansi->state = ANSI_STRING;
	else if (byte >= 0x20 && byte <= 0x2f)
		ansi->state = ANSI_INTERMEDIATE;
	else
		ansi->state = ANSI_GROUND;
	if (byte == 'c') /* RIS: everything off */
		ansi->modes = 0;
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

static void in_string(struct ansi *ansi, uint8_t byte)
{
	if (byte == BEL)
		ansi->state = ANSI_GROUND;
}

static void step(struct ansi *ansi, uint8_t byte)
{
	/* These act from anywhere; a string is the exception for ESC, which may begin its end. */
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
		return; /* control characters act inside a sequence without ending it */
	}
	switch (ansi->state) {
	case ANSI_STRING_ESCAPE:
		if (byte == '\\')
			ansi->state = ANSI_GROUND;
		else
			in_escape(ansi, byte); /* it ended the string and begins another */
		break;
	case ANSI_ESCAPE:
		in_escape(ansi, byte);
		break;
	case ANSI_INTERMEDIATE:
		if (byte >= 0x30)
			ansi->state = ANSI_GROUND;
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

bool ansi_is_alternate(const struct ansi *ansi)
{
	return ansi->modes & BIT(index_of(MODE_ALTERNATE));
}

static size_t append_mode(char out[ANSI_TEXT_MAX], size_t len, uint16_t number, bool is_on)
{
	/* Each is at most 8 bytes, and there are ANSI_MODES of them. */
	int n = snprintf(out + len, ANSI_TEXT_MAX - len, "\x1b[?%u%c", number, is_on ? 'h' : 'l');

	return len + (size_t)n;
}

static size_t write_modes(const struct ansi *ansi, bool is_on, char out[ANSI_TEXT_MAX])
{
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < ANSI_MODES; i++)
		if (ansi->modes & BIT(i))
			len = append_mode(out, len, mode_numbers[i],
					  is_on != (mode_numbers[i] == MODE_CURSOR));
	return len;
}

size_t ansi_leave(const struct ansi *ansi, char out[ANSI_TEXT_MAX])
{
	size_t len = write_modes(ansi, false, out);

	return len + (size_t)snprintf(out + len, ANSI_TEXT_MAX - len, "\x1b[0m");
}

size_t ansi_restore(const struct ansi *ansi, char out[ANSI_TEXT_MAX])
{
	return write_modes(ansi, true, out);
}
