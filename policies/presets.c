#include "policies/presets_impl.h"

#include <string.h>

#include "base/mem.h"
#include "presets_text.h"

const char *presets_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(presets_list); i++) {
		if (strlen(presets_list[i].name) == len &&
		    memcmp(presets_list[i].name, name, len) == 0)
			return presets_list[i].text;
	}
	return NULL;
}

const char *presets_name(size_t index)
{
	return index < ARRAY_SIZE(presets_list) ? presets_list[index].name : NULL;
}
