/* tty_help: what the keys do, on a page of its own. Private to tty*.c. */
#pragma once

#include <stdbool.h>

struct approver;
struct evbuffer;
struct tty_draft;
struct tty_look;

/* What the keys do, as far as there is room. Returns the lines. */
unsigned int tty_help_write(struct evbuffer *out, const struct tty_look *look, bool is_list,
			    struct tty_draft *draft);
void tty_help_begin(struct approver *self);
/* Any key: what follows, or back. */
void tty_help_press(struct approver *self);
/* There is no such key, or not now. */
void tty_help_unknown(struct approver *self, unsigned char key);
