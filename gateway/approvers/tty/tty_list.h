/* tty_list: many questions on one screen, which can be ticked and answered together. Each is
 * answered separately: its line says what is granted. Private to tty*.c. */
#pragma once

#include <stdbool.h>

#define TTY_LIST_LEAST 4 /* open questions from which on a list is shown */
struct approver;

/* Updates the list: removes rows of settled questions, and adds new ones at the end, unticked. */
void tty_list_sync(struct approver *self);
/* Writes the lines above the answer's label. Returns their number, and whether every line that must
 * be seen is among them. */
unsigned int tty_list_write(struct approver *self, bool *ret_is_whole);
