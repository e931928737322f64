/* variable: NAME=VALUE words, and which of them cannot change what runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Does the text (as written, with quotes) assign a variable? */
bool variable_is_assignment(const char *text, size_t len);
bool variable_is_harmless(const char *assignment);
