#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/web/web.h"
#include "web_files_text.h"

const char *web_files_find(const struct http1_span *path, const char **ret_type, size_t *ret_len)
{
	for (size_t i = 0; i < ARRAY_SIZE(web_files_list); i++) {
		if (!web_head_is(path, web_files_list[i].path))
			continue;
		*ret_type = web_files_list[i].type;
		*ret_len = web_files_list[i].len;
		return (const char *)web_files_list[i].bytes;
	}
	return NULL;
}
