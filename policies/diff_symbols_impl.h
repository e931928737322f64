/* diff_symbols: the steps in which diff_globs.c reads a text. Bytes that no glob names are alike,
 * but for those the grammar looks at: one stands for them. An escape is one step: three bytes as
 * sent, one as read. */
#pragma once

#include "policies/diff_globs_impl.h"

struct diff_symbol {
	uint8_t sent[3];
	uint8_t len;
	uint8_t read;
	bool is_bad; /* an escape that servers read in several ways */
};

struct diff_symbols {
	enum diff_grammar grammar;
	bool is_named[256];       /* some glob has this byte, in either case: told before */
	struct diff_symbol *list; /* owned; of paths the first is the slash */
	size_t count, room;
};

void diff_symbols_fill(struct diff_symbols *symbols, enum diff_grammar grammar);
