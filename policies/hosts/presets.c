#include "policies/hosts/presets_impl.h"

#include "policies/policies_load.h"

#include <string.h>

#include "base/mem.h"
#include "policies/policies_tools.h"
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

const char *policy_preset_name(size_t index)
{
	return index < ARRAY_SIZE(presets_list) ? presets_list[index].name : NULL;
}

const char *policy_preset_text(const char *name)
{
	return presets_find(name, strlen(name));
}
