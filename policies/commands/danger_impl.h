/* danger: commands that destroy, publish, or run what was just downloaded. */
#pragma once

#include "policies/commands/command_pieces_impl.h"

/* NULL, or why piece @index is dangerous (static). */
const char *danger_find(const struct command_pieces *pieces, size_t index);
