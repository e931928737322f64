#include "base/http1/http1_chars.h"

/* The character sets that each class of RFC 3986 belongs to. */
#define VISIBLE    (HTTP1_CHAR_FIELD | HTTP1_CHAR_TARGET)
#define DELIM      (VISIBLE | HTTP1_CHAR_USERINFO)
#define TOKEN      (VISIBLE | HTTP1_CHAR_TOKEN)
#define UNRESERVED (TOKEN | HTTP1_CHAR_USERINFO)
#define LOWER      (UNRESERVED | HTTP1_CHAR_HOST)
#define UPPER      (LOWER | HTTP1_CHAR_METHOD)

const uint8_t http1_chars[256] = {
	['\t'] = HTTP1_CHAR_FIELD,
	[' '] = HTTP1_CHAR_FIELD,
	['!'] = UNRESERVED,
	['"'] = VISIBLE,
	['#'] = HTTP1_CHAR_FIELD | HTTP1_CHAR_TOKEN,
	['$' ... '\''] = UNRESERVED,
	['(' ... ')'] = DELIM,
	['*' ... '+'] = UNRESERVED,
	[','] = DELIM,
	['-'] = UPPER,
	['.'] = LOWER,
	['/'] = VISIBLE,
	['0' ... '9'] = UPPER,
	[':' ... ';'] = DELIM,
	['<'] = VISIBLE,
	['='] = DELIM,
	['>' ... '@'] = VISIBLE,
	['A' ... 'Z'] = UPPER,
	['[' ... ']'] = VISIBLE,
	['^'] = TOKEN,
	['_'] = UPPER,
	['`'] = TOKEN,
	['a' ... 'z'] = LOWER,
	['{'] = VISIBLE,
	['|'] = TOKEN,
	['}'] = VISIBLE,
	['~'] = UNRESERVED,
	[0x80 ... 0xff] = HTTP1_CHAR_FIELD,
};
