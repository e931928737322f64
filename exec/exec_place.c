#include "exec/exec_place.h"

#include <stdlib.h>

#include "base/mem.h"
#include "exec/sandbox/paths.h"

int exec_place_look(const char *path, bool follows, struct stat *ret)
{
	return paths_look(path, follows, ret);
}

char *exec_place_real(const char *path)
{
	auto_free char *real = NULL;

	return paths_resolve(path, NULL, &real, NULL) == 0 ? take(real) : NULL;
}
