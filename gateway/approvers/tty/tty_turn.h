/* tty_turn: decides what is shown next. Private to tty*.c. */
#pragma once

struct approver;

/* Shows the gateway's open questions: the oldest first, or a list if there are many. */
void tty_turn_next(void *arg);
/* Draws again if the view is stale. */
void tty_turn_refresh(struct approver *self);
/* Writes @line, which remains, in place of the page, and ends the view. The next view, if any,
 * follows from the loop. */
void tty_turn_settle(struct approver *self, const char *line);
void tty_turn_wait(struct approver *self); /* shows nothing until the results came */
/* Shows question @id instead of the list, or the list (NULL), as a new view. */
void tty_turn_switch(struct approver *self, const char *id);
/* Shows @line now: alone, above the current page, or on it. */
void tty_turn_say(struct approver *self, const char *line);
