/* ansi_screen: takes a terminal from the program that has set it up, and gives it back in the same
 * state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exec/terminal/ansi.h"

#define ANSI_TEXT_MAX 768

/* The text that resets the terminal, and switches to an empty screen if one is needed; and the text
 * that restores it. On its alternate screen the program has to redraw itself; the terminal keeps
 * the main screen. NUL-terminated, returns the length. */
size_t ansi_screen_leave(const struct ansi *ansi, char out[ANSI_TEXT_MAX]);
size_t ansi_screen_restore(const struct ansi *ansi, char out[ANSI_TEXT_MAX]);
/* The text that makes the terminal usable for the next program, if both the command and we have
 * ended. @is_left: the text of ansi_screen_leave() was written. */
size_t ansi_screen_abandon(const struct ansi *ansi, bool is_left, char out[ANSI_TEXT_MAX]);
