/* ansi_screen: takes a terminal away from the program that has set it up, and gives it back as it
 * was. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exec/ansi.h"

#define ANSI_TEXT_MAX 768

/* What takes the terminal out of all that was set, onto an empty screen if one is wanted, and back.
 * On its alternate screen the program has to draw again by itself; its main screen is kept by the
 * terminal. NUL-terminated, returns the length. */
size_t ansi_screen_leave(const struct ansi *ansi, char out[ANSI_TEXT_MAX]);
size_t ansi_screen_restore(const struct ansi *ansi, char out[ANSI_TEXT_MAX]);
/* What leaves the terminal usable for whoever comes next, when neither the program nor we live to
 * do so. @is_left: ansi_screen_leave() was written. */
size_t ansi_screen_abandon(const struct ansi *ansi, bool is_left, char out[ANSI_TEXT_MAX]);
