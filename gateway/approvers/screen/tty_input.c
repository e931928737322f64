#include "gateway/approvers/screen/tty_input.h"

#include <string.h>

static bool input_is_enter(unsigned char byte)
{
	return byte == '\r' || byte == '\n';
}

static enum tty_event input_enter(struct tty_input *input, enum tty_input_state next)
{
	input->state = next;
	input->len = 0;
	return TTY_NOTHING;
}

static enum tty_event input_end(struct tty_input *input)
{
	input->state = TTY_GROUND;
	return TTY_REPORT;
}

/* C1 controls in their eight-bit form (ECMA-48 §5.3); all other bytes from 0x80 on belong to
 * characters, which are not answers. */
static enum tty_event input_high(struct tty_input *input, unsigned char byte)
{
	switch (byte) {
	case 0x9b: /* CSI */
		return input_enter(input, TTY_CONTROL);
	case 0x8f: /* SS3 */
		return input_enter(input, TTY_SHIFT);
	case 0x90: /* DCS, SOS, OSC, PM, APC */
	case 0x98:
	case 0x9d:
	case 0x9e:
	case 0x9f:
		return input_enter(input, TTY_STRING);
	default:
		return TTY_NOTHING;
	}
}

/* RFC 3629 §3. True: @byte belongs to a character, so it is not a C1 control, which would swallow
 * the following input. False while letters answer, so that no eight-bit report is taken for a
 * character. */
static bool input_is_character(struct tty_input *input, unsigned char byte)
{
	bool goes_on = input->rest > 0 && (byte & 0xc0) == 0x80;

	if (goes_on)
		input->rest--;
	else
		input->rest = byte < 0xc2   ? 0
			      : byte < 0xe0 ? 1
			      : byte < 0xf0 ? 2
			      : byte < 0xf5 ? 3
					    : 0;
	return input->is_text && (goes_on || input->rest > 0);
}

static enum tty_event input_ground(struct tty_input *input, unsigned char byte)
{
	if (input_is_character(input, byte))
		return TTY_NOTHING;
	if (byte == 0x1b)
		return input_enter(input, TTY_ESCAPE);
	if (byte >= 0x80)
		return input_high(input, byte);
	return input->is_paste ? TTY_NOTHING : TTY_KEY;
}

/* Does @byte begin a sequence after an Escape? */
static bool input_begins(unsigned char byte)
{
	return byte != '\0' && strchr("\x1b[OPX]^_", byte) != NULL;
}

static enum tty_event input_escape(struct tty_input *input, unsigned char byte)
{
	switch (byte) {
	case 0x1b:
		return TTY_NOTHING;
	case '[':
		return input_enter(input, TTY_CONTROL);
	case 'O':
		return input_enter(input, TTY_SHIFT);
	case 'P':
	case 'X':
	case ']':
	case '^':
	case '_':
		return input_enter(input, TTY_STRING);
	default:
		return input_end(input);
	}
}

static enum tty_event input_control(struct tty_input *input, unsigned char byte)
{
	if (byte == 0x1b)
		return input_enter(input, TTY_ESCAPE);
	if (input->len + 1 < sizeof(input->sequence))
		input->sequence[input->len++] = (char)byte;
	else
		input->len = sizeof(input->sequence); /* longer than any sequence that we know */
	if (byte < 0x40 || byte > 0x7e)
		return TTY_NOTHING;

	size_t len = input->len;
	if (len == 2 && memcmp(input->sequence, "0n", 2) == 0) {
		(void)input_end(input);
		return TTY_READY;
	}
	if (len == 1 && (byte == 'A' || byte == 'B') && !input->is_paste) {
		(void)input_end(input);
		return byte == 'A' ? TTY_UP : TTY_DOWN;
	}
	if (len == 4 && memcmp(input->sequence, "200~", 4) == 0)
		input->is_paste = true;
	if (len == 4 && memcmp(input->sequence, "201~", 4) == 0)
		input->is_paste = false;
	return input_end(input);
}

static enum tty_event input_string(struct tty_input *input, unsigned char byte)
{
	if (byte == 0x1b)
		return input_enter(input, TTY_STRING_ESCAPE);
	if (byte == 0x07 || byte == 0x9c) /* BEL, as terminals end an OSC; ST */
		return input_end(input);
	return TTY_NOTHING;
}

static enum tty_event input_string_escape(struct tty_input *input, unsigned char byte)
{
	if (byte == '\\')
		return input_end(input);
	input->state = TTY_ESCAPE; /* another sequence interrupted the string */
	return input_escape(input, byte);
}

/* CAN and SUB cancel a sequence (ECMA-48 §8.3.6, §8.3.148). Here Enter does so too, for a person
 * who typed a lone Escape, or Alt with a bracket, which looks like the start of a sequence. That
 * Enter is not an answer. */
enum tty_event tty_input_feed(struct tty_input *input, unsigned char byte)
{
	if (input->state == TTY_ESCAPED)
		input->state = input_begins(byte) ? TTY_ESCAPE : TTY_GROUND;
	if (input->state != TTY_GROUND && (input_is_enter(byte) || byte == 0x18 || byte == 0x1a))
		return input_end(input);
	switch (input->state) {
	case TTY_GROUND:
		return input_ground(input, byte);
	case TTY_ESCAPE:
	case TTY_ESCAPED: /* a byte has followed */
		return input_escape(input, byte);
	case TTY_CONTROL:
		return input_control(input, byte);
	case TTY_SHIFT:
		return input_end(input);
	case TTY_STRING:
		return input_string(input, byte);
	case TTY_STRING_ESCAPE:
		return input_string_escape(input, byte);
	}
	return TTY_NOTHING;
}

bool tty_input_is_escape(struct tty_input *input)
{
	if (input->state != TTY_ESCAPE)
		return false;
	input->state = TTY_ESCAPED;
	return true;
}
