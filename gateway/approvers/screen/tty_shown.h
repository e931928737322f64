/* tty_shown: records what is on the screen at each drawing, together with the answer that Enter
 * would give. Enter gives that answer only while all of it is unchanged, and never another one.
 * Private to tty*.c. */
#pragma once

#include <stdbool.h>

struct approver;
struct tty_answer;
struct tty_row;
struct tty_shown;

/* Call it before the page is drawn: lines of a question that has changed were not seen yet. */
void tty_shown_begin(struct approver *self);
/* Call it after the page was drawn. */
void tty_shown_take(struct approver *self, bool is_whole);
void tty_shown_done(struct tty_shown *shown); /* forgets it: it is no longer on the screen */
void tty_shown_hide(struct approver *self);   /* nothing is shown any more */
/* May @chosen be given? The screen must show the current state, and must have done so for a moment.
 * False: the person was told why, and has to look again. A denial for once stores nothing, so only
 * its letter has to be on the screen. */
bool tty_shown_may_answer(struct approver *self, const struct tty_answer *chosen);

/* Would @chosen store the text that is on the screen, whatever letter stands there? If not, what is
 * drawn next has to be looked at for a moment. */
bool tty_shown_covers(struct approver *self, const struct tty_answer *chosen);

/* @row is on the screen in its current state. */
void tty_shown_take_row(struct approver *self, struct tty_row *row);
/* Is the row on the screen in its current state? */
bool tty_shown_has_row(const struct approver *self, const struct tty_row *row);
/* Has the row been on the screen in its current state, tick included, in a window of this size? */
bool tty_shown_had_row(const struct approver *self, const struct tty_row *row);
