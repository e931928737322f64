/* terminal: the person's terminal: its modes, its size, and whose turn it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "base/keeper.h"

struct err;

/* { .fd = -1 } is none. */
struct terminal {
	int fd; /* owned, nonblocking, a description of its own: our parent's is left alone */
	struct termios saved;
	bool has_saved; /* false: it hung up, or never had modes */
	bool is_raw;
	struct keeper keeper; /* from terminal_keep() on */
};

/* Opens the one among 0–2 (@flags: enum wire_flag) once more. 0, or -errno with @why. */
int terminal_init(struct terminal *terminal, uint32_t flags, struct err *why);
/* Restores the modes if they are ours, and closes. */
void terminal_done(struct terminal *terminal);

/* Is our process group the one that may read and set it? */
bool terminal_is_ours(const struct terminal *terminal);
/* Raw, or as it was found. In the background: nothing, since somebody else has it now. */
void terminal_set_raw(struct terminal *terminal, bool is_raw);
/* From now on it is put back even when we die of a signal: attributes, and @text before them (a
 * sequence, at most KEEPER_TEXT_MAX; may be called again when it changes). */
void terminal_keep(struct terminal *terminal, const char *text);
/* What is there now is how it is to be left. */
void terminal_save(struct terminal *terminal);
/* Gives the pty @master its size, with @shrink rows less. */
void terminal_copy_size(const struct terminal *terminal, int master, int shrink);
/* Writes a few bytes of our own; waits a moment for room, no longer. */
void terminal_write(const struct terminal *terminal, const char *text, size_t len);
bool terminal_has_room(const struct terminal *terminal); /* waits as long */
