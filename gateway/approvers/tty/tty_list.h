/* tty_list: many questions on one screen, which can be ticked and answered together. Each is
 * answered separately: its line says what is granted. Private to tty*.c. */
#pragma once

#include <stdbool.h>

#define TTY_LIST_LEAST 4 /* open questions from which on a list is shown */
struct approver;
struct tty_look;
struct tty_row;

/* Updates the list: removes rows of settled questions, and adds new ones at the end, unticked. */
void tty_list_sync(struct approver *self);
/* Is its destination too long to be shown whole? Then it cannot be allowed in the list. */
bool tty_list_is_long(const struct tty_row *row, const struct tty_look *look);
/* Writes the lines above the answer's label. Returns their number, and whether every line that must
 * be seen is among them. */
unsigned int tty_list_write(struct approver *self, bool *ret_is_whole);
