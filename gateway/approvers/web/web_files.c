#include "base/mem.h"
#include "gateway/approvers/web/web.h"
#include "web_files_text.h"

const struct page_file *web_files(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(page_files);
	return page_files;
}
