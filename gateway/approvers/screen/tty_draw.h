/* tty_draw: draws the page on the screen. Private to tty*.c. */
#pragma once

struct approver;

/* Draws the current view: for the first time, or over the last drawing. */
void tty_draw(struct approver *self);
/* Writes @line, which remains, in place of the page. */
void tty_draw_line(struct approver *self, const char *line);
void tty_draw_end(struct approver *self); /* resets the terminal modes that the draft needed */
