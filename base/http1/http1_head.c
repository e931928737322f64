#include "base/http1/http1_head.h"

#include "base/text.h"

const struct http1_field *http1_head_find(const struct http1_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++) {
		if (text_equal_nocase(head->fields[i].name.at, head->fields[i].name.len, name))
			return &head->fields[i];
	}
	return NULL;
}
