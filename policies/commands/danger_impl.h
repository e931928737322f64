/* danger: recognises commands that destroy, publish, or run a downloaded program. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

/* NULL, or why piece @index is dangerous (static). */
const char *danger_find(const struct command_pieces *pieces, size_t index);
