/* presets: the policy files in the program, for `include preset NAME`. To add one:
 * policies/presets/. */
#pragma once

#include <stddef.h>

/* The text of preset @name, to be read as a file named "preset NAME"; static. NULL: there is no
 * such preset. */
const char *presets_find(const char *name, size_t len);
