#include "cli/view/trusted.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/view/reach.h"

bool trusted_is_within(const char *path, const char *folder)
{
	auto_free char *real = realpath(path, NULL), *top = folder ? realpath(folder, NULL) : NULL;

	if (!folder)
		return false;
	if (!real || !top)
		return true;
	size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);

	return strncmp(real, top, len) == 0 && (real[len] == '/' || real[len] == '\0');
}

char *trusted_path(const char *path, const char *cwd, const struct reach *reach)
{
	auto_free char *list = mem_strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	auto_free char *out = mem_strdup("");
	char *rest = list;

	for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
		if (folder[0] != '/' || trusted_is_within(folder, cwd) || reach_has(reach, folder))
			continue;
		mem_append(&out, "%s%s", out[0] ? ":" : "", folder);
	}
	return take(out);
}

char *trusted_find(const char *path, const char *name, const char *cwd, const struct reach *reach)
{
	auto_free char *list = mem_strdup(path);
	char *rest = list;

	for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
		auto_free char *program = mem_printf("%s/%s", folder, name);
		struct stat status;

		if (folder[0] && stat(program, &status) == 0 && S_ISREG(status.st_mode) &&
		    access(program, X_OK) == 0 && !trusted_is_within(program, cwd) &&
		    !reach_has(reach, program))
			return take(program);
	}
	return NULL;
}
