/* tty_scroll: a page whose middle part scrolls if the window is low: the title and the foot are
 * always on the screen. Private to tty*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/approvers/screen/tty_page.h"

/* The body's first line on the screen, that of the next part (0: this is the last), and how many
 * lines have been on it from the first one on. Zeroed: from the start. */
struct tty_scroll {
	unsigned int from, next, seen;
};

/* The less room there is, the shorter is the foot: TTY_FOOT_SHORT only names the keys,
 * TTY_FOOT_LEAST names the one that explains them. */
enum tty_foot { TTY_FOOT_LONG, TTY_FOOT_SHORT, TTY_FOOT_LEAST };

/* Zeroed except for what is set here. */
struct tty_sheet {
	const char *title, *small_how; /* @small_how: what is possible if there is no room at all */
	struct tty_page body;          /* lines that must be seen before an allow are TTY_NEEDED */
	void (*foot)(struct tty_page *page, enum tty_foot form, const void *arg);
	const void *arg;
};

/* Writes the sheet, and empties its body. Returns the number of lines, and whether every line that
 * must be seen is on the screen, or has been there since @scroll was zeroed. */
unsigned int tty_scroll_write(struct tty_sheet *sheet, struct evbuffer *out,
			      const struct tty_look *look, struct tty_scroll *scroll,
			      bool *ret_is_whole);
