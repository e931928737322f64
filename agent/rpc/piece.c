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
