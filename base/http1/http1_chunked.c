#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/http1/http1.h"
#include "base/http1/http1_chars.h"

#define SIZE_DIGITS_MAX   15  /* fits every 64-bit number: no recipient overflows */
#define SIZE_LINE_MAX     512 /* digits and extensions */
#define TRAILER_MAX_BYTES 8192

/* RFC 9112 §7.1: the position of the next byte. */
enum state {
	SIZE,      /* in the digits */
	EXTENSION, /* behind the ';', up to CR */
	QUOTED,    /* within the quoted value of an extension */
	ESCAPED,   /* behind a backslash in a quoted value */
	SIZE_LF,   /* behind the size line's CR */
	DATA,      /* @left bytes follow */
	DATA_CR,   /* behind the data */
	DATA_LF,
	TRAILER, /* at the start of a trailer line, or of the final blank line */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF, /* behind a trailer line's CR */
	END_LF,     /* behind the blank line's CR */
	END,
	BROKEN,
};

/* RFC 9110 §6.5.1: fields that frame, route or authenticate a message are not allowed in the
 * trailer. We would drop them like all others, but a sender of such a field expects some recipient
 * to use it, so the message is refused. */
static const char *const forbidden_trailers[] = {
	"authorization",
	"connection",
	"content-encoding",
	"content-length",
	"content-range",
	"content-type",
	"cookie",
	"expect",
	"host",
	"keep-alive",
	"proxy-authorization",
	"proxy-connection",
	"set-cookie",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
};

/* Allowed behind the digits: the end of the line or an extension; no padding. */
static enum state step_size(struct http1_chunked *decoder, char c)
{
	int value = http1_chars_hex(c);

	if (value >= 0) {
		if (decoder->line == SIZE_DIGITS_MAX)
			return BROKEN;
		decoder->left = decoder->left << 4 | (uint64_t)value;
		decoder->line++;
		return SIZE;
	}
	if (decoder->line == 0)
		return BROKEN;
	return c == ';' ? EXTENSION : c == '\r' ? SIZE_LF : BROKEN;
}

/* An unclosed quote is refused: recipients disagree on where such a line ends. */
static enum state step_extension(struct http1_chunked *decoder, enum state state, char c)
{
	if (c == '\r' && state == EXTENSION)
		return SIZE_LF;
	if (!http1_chars_is(c, HTTP1_CHAR_FIELD) || ++decoder->line > SIZE_LINE_MAX)
		return BROKEN;
	if (state == ESCAPED)
		return QUOTED;
	if (state == QUOTED && c == '\\')
		return ESCAPED;
	return (c == '"') == (state == QUOTED) ? EXTENSION : QUOTED;
}

static bool is_forbidden(const struct http1_chunked *decoder)
{
	/* A name that exceeds the stored part is longer than any forbidden one. */
	if (decoder->line > sizeof(decoder->name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(forbidden_trailers); i++) {
		if (text_equal_nocase(decoder->name, decoder->line, forbidden_trailers[i]))
			return true;
	}
	return false;
}

static enum state step_trailer_name(struct http1_chunked *decoder, char c)
{
	if (c == ':')
		return decoder->line == 0 || is_forbidden(decoder) ? BROKEN : TRAILER_VALUE;
	if (!http1_chars_is(c, HTTP1_CHAR_TOKEN))
		return BROKEN;
	if (decoder->line < sizeof(decoder->name))
		decoder->name[decoder->line] = c;
	decoder->line++;
	return TRAILER_NAME;
}

static enum state step_trailer(struct http1_chunked *decoder, enum state state, char c)
{
	if (++decoder->trailer_bytes > TRAILER_MAX_BYTES)
		return BROKEN;
	if (state == TRAILER) {
		decoder->line = 0;
		return c == '\r' ? END_LF : step_trailer_name(decoder, c);
	}
	if (state == TRAILER_NAME)
		return step_trailer_name(decoder, c);
	if (state == TRAILER_LF)
		return c == '\n' ? TRAILER : BROKEN;
	if (c == '\r')
		return TRAILER_LF;
	return http1_chars_is(c, HTTP1_CHAR_FIELD) ? TRAILER_VALUE : BROKEN;
}

static enum state step_size_end(struct http1_chunked *decoder, char c)
{
	decoder->line = 0;
	return c != '\n' ? BROKEN : decoder->left > 0 ? DATA : TRAILER;
}

/* Processes one byte that is not payload. */
static enum state step(struct http1_chunked *decoder, char c)
{
	enum state state = (enum state)decoder->state;

	switch (state) {
	case SIZE:
		return step_size(decoder, c);
	case EXTENSION:
	case QUOTED:
	case ESCAPED:
		return step_extension(decoder, state, c);
	case SIZE_LF:
		return step_size_end(decoder, c);
	case DATA_CR:
		return c == '\r' ? DATA_LF : BROKEN;
	case DATA_LF:
		return c == '\n' ? SIZE : BROKEN;
	case TRAILER:
	case TRAILER_NAME:
	case TRAILER_VALUE:
	case TRAILER_LF:
		return step_trailer(decoder, state, c);
	case END_LF:
		return c == '\n' ? END : BROKEN;
	case DATA:
	case END:
	case BROKEN:
		break;
	}
	return BROKEN;
}

static void take_data(struct http1_chunked *decoder, const char *bytes, size_t len,
		      struct http1_span *ret_data)
{
	*ret_data = (struct http1_span){ bytes, len < decoder->left ? len : decoder->left };
	decoder->left -= ret_data->len;
	if (decoder->left == 0)
		decoder->state = DATA_CR;
}

/* Stops behind the payload. The next call validates what follows, so that the same payload is
 * returned however the bytes were split. */
int http1_chunked_feed(struct http1_chunked *decoder, const char *bytes, size_t len,
		       size_t *ret_used, struct http1_span *ret_data)
{
	size_t at = 0;

	*ret_data = (struct http1_span){ bytes, 0 };
	while (at < len && decoder->state != DATA && decoder->state < END)
		decoder->state = (uint8_t)step(decoder, bytes[at++]);
	if (decoder->state == DATA && at < len) {
		take_data(decoder, bytes + at, len - at, ret_data);
		at += ret_data->len;
	}
	*ret_used = at;
	return decoder->state == BROKEN ? -EBADMSG : decoder->state == END ? 1 : 0;
}
