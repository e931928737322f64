/* tty_help: a page that explains the keys. Private to tty*.c. */
#pragma once

#include <stdbool.h>

struct approver;
struct evbuffer;
struct tty_draft;
struct tty_look;

/* Writes as many lines of the list of keys as fit. Returns the number of lines. */
unsigned int tty_help_write(struct evbuffer *out, const struct tty_look *look, bool is_list,
			    bool is_agent, struct tty_draft *draft);
void tty_help_begin(struct approver *self);
/* On any key: shows the next lines, or goes back. */
void tty_help_press(struct approver *self);
/* Says that there is no such key, or not now. */
void tty_help_unknown(struct approver *self, unsigned char key);
