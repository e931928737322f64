#include "agent/piece.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/* How long a character is that begins so; 0: none does. RFC 3629, section 3. */
static size_t length_of(uint8_t lead)
{
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/* Bytes at the end that could be the begin of a character. */
static size_t count_torn(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= PIECE_MAX && back <= len; back++) {
		uint8_t byte = (uint8_t)bytes[len - back];

		if (byte < 0x80 || byte > 0xbf)
			return length_of(byte) > back ? back : 0;
	}
	return 0;
}

char *piece_join(struct piece *piece, const char *bytes, size_t len, bool is_last, size_t *ret_len)
{
	size_t had = piece->len, all = had + len;
	char *joined = mem_new(all + 1);

	memcpy(joined, piece->bytes, had);
	if (len > 0)
		memcpy(joined + had, bytes, len);
	piece->len = is_last ? 0 : count_torn(joined, all);
	*ret_len = all - piece->len;
	memcpy(piece->bytes, joined + *ret_len, piece->len);
	return joined;
}
