#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/policies_tools.h"
#include "policies/engine/policy_impl.h"

#define FOLDER_SUFFIX ".policy"

static int folder_is_policy(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(FOLDER_SUFFIX);

	return entry->d_name[0] != '.' && len > suffix &&
	       strcmp(entry->d_name + len - suffix, FOLDER_SUFFIX) == 0;
}

static int folder_by_name(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

int policy_load_folder(struct policy *policy, const char *path, enum policy_layer layer)
{
	struct dirent **entries;
	int count = scandir(path, &entries, folder_is_policy, folder_by_name), worst = 0;

	if (count < 0 && errno == ENOENT)
		return 0;
	if (count < 0) {
		auto_free char *shown = text_visible_dup(path);
		struct spot spot = { .file = shown };
		int code = -errno;

		problems_add(&policy->problems, &spot, NULL, "cannot read the folder: %s",
			     strerror(-code));
		return code;
	}
	for (int i = 0; i < count; i++) {
		auto_free char *file = mem_printf("%s/%s", path, entries[i]->d_name);
		int r = policy_load_layer(policy, file, layer);

		worst = r < 0 ? r : worst;
		free(entries[i]);
	}
	free(entries);
	return worst;
}
