/* terminal: the user's terminal: its modes, its size, and whether we are in its foreground. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "base/process/keeper.h"

struct err;

/* { .fd = -1 }: no terminal. */
struct terminal {
	int fd; /* owned, nonblocking; opened separately: our parent's flags stay unchanged */
	struct termios saved;
	bool has_saved; /* false: it hung up, or never had modes */
	bool is_raw;
	struct keeper keeper; /* used after terminal_keep() */
};

/* Opens the one among 0–2 (@flags: enum wire_flag) again. 0, or -errno with @why. */
int terminal_init(struct terminal *terminal, uint32_t flags, struct err *why);
/* Restores the modes if we have changed them and are in the foreground, and closes. */
void terminal_done(struct terminal *terminal);

/* Is our process group in the foreground, so that we may read and set it? */
bool terminal_is_ours(const struct terminal *terminal);
/* Sets raw mode, or the modes it had before. In the background it does nothing, because another
 * process uses the terminal. */
void terminal_set_raw(struct terminal *terminal, bool is_raw);
/* From now on the terminal is restored even if a signal kills us: its attributes, and before them
 * @text (a sequence, at most KEEPER_TEXT_MAX; call it again when it changes). */
void terminal_keep(struct terminal *terminal, const char *text);
/* The current modes become the ones to restore. */
void terminal_save(struct terminal *terminal);
/* Sets the size of the pty @master to the terminal's, minus @shrink rows. */
void terminal_copy_size(const struct terminal *terminal, int master, int shrink);
/* Writes a few bytes of our own; waits a short time for room. */
void terminal_write(const struct terminal *terminal, const char *text, size_t len);
bool terminal_has_room(const struct terminal *terminal); /* waits for the same time */
