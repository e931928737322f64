#include "agent/rpc/piece.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

char *piece_join(struct piece *piece, const char *bytes, size_t len, bool is_last, size_t *ret_len)
{
	size_t had = piece->len, all = had + len;
	char *joined = mem_new(all + 1);

	memcpy(joined, piece->bytes, had);
	if (len > 0)
		memcpy(joined + had, bytes, len);
	piece->len = is_last ? 0 : text_torn(joined, all);
	*ret_len = all - piece->len;
	memcpy(piece->bytes, joined + *ret_len, piece->len);
	return joined;
}

/* The length of the UTF-8 character at @bytes; 0: there is none. */
static size_t character_len(const char *bytes, size_t len)
{
	if ((unsigned char)bytes[0] < 0x80)
		return 1;
	for (size_t n = 2; n <= 4 && n <= len; n++) {
		json_t *text = json_stringn(bytes, n);

		json_decref(text);
		if (text)
			return n;
	}
	return 0;
}

json_t *piece_text(const char *bytes, size_t len)
{
	static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */
	json_t *whole = json_stringn(bytes, len);
	size_t used = 0;

	if (whole)
		return whole;
	auto_free char *text = mem_new(3 * len + 1);

	for (size_t at = 0; at < len;) {
		size_t n = character_len(bytes + at, len - at);

		memcpy(text + used, n ? bytes + at : unknown, n ? n : 3);
		used += n ? n : 3;
		at += n ? n : 1;
	}
	return json_stringn(text, used);
}
