/* tty_shown: what stands on the screen, taken down when it is drawn, with the answer that Enter
 * would give to exactly that. Enter gives it while all of it is still so, and nothing else ever.
 * Private to tty*.c. */
#pragma once

#include "gateway/approvers/tty_answer.h"

struct tty_row;

/* Zeroed is empty: nothing stands there, and nothing can be answered. */
struct tty_shown {
	char *asked;           /* what no key of ours changes; owned */
	char *given;           /* what keys changed; owned */
	int64_t moved_ms;      /* when @asked last changed under the eyes */
	bool is_whole;         /* every line that has to be seen is there */
	unsigned long drawing; /* counts them */
	char id[APPROVER_ID_MAX];
	struct approver_answer answer; /* @words and @covers are its text */
	char words[GATEWAY_WORDS_MAX], covers[APPROVER_KEY_MAX];
};

/* The page was drawn. */
void tty_shown_take(struct approver *self, bool is_whole);
void tty_shown_done(struct tty_shown *shown); /* nothing of it stands there any more */
/* May @chosen be given? What is on the screen, and has been for a moment, is what is so now. False:
 * whoever answers is told why, and looks again. A denial for once stores nothing, so that only the
 * letter has to stand there. */
bool tty_shown_may_answer(struct approver *self, const struct tty_answer *chosen);

/* @row stands on the screen as it is now. */
void tty_shown_take_row(struct approver *self, struct tty_row *row);
/* As the row is now, it stands on the screen. */
bool tty_shown_has_row(const struct approver *self, const struct tty_row *row);
/* As the row is now, tick and all, it has been on the screen, in a window of this size. */
bool tty_shown_had_row(const struct approver *self, const struct tty_row *row);
