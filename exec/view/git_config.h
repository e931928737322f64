/* git_config: finds the line of a repository's configuration that makes git run something. */
#pragma once

#include <stddef.h>

/* The first line of @text, which is @len bytes in the format of git-config(1), that is not known to
 * be harmless (it runs nothing and leads nowhere): returned owned, without surrounding space,
 * truncated at 80 bytes and at a NUL. NULL: there is none. */
char *git_config_runs(const char *text, size_t len);
