/* tty_letters: the letters that answer, and the width of the answers. Private to tty*.c. */
#pragma once

#include <stdbool.h>

#include "gateway/approvers/tty/tty_draft.h"

struct approver;
struct err;
struct tty_row;

/* NULL: @letter is not an answer, or not possible here. */
const struct tty_answer *tty_letters_find(const struct approver *self, unsigned char letter);
/* Sets draft.covers to exactly what the letter (or, without one, an allow for the session) would
 * store. -errno with @why: the gateway refuses such an answer. */
int tty_letters_cover(struct approver *self, struct err *why);
/* Handles a key that widens or narrows the scope; false: it is none of these. */
bool tty_letters_scope(struct approver *self, unsigned char key);
/* The key that gives @answer, for a note: "Enter" after an allow's letter, or a denial's letter. */
#define TTY_LETTERS_KEY_MAX 8
void tty_letters_key(const struct tty_answer *answer, char out[TTY_LETTERS_KEY_MAX]);
/* A ticked row whose domain must be typed for the letter that was typed. NULL: none. */
const struct tty_row *tty_letters_unnamed(const struct approver *self);
/* Fills in the answer that @chosen would give with this draft. @ret borrows the draft's words. */
void tty_letters_fill(const struct approver *self, const struct tty_answer *chosen,
		      struct approver_answer *ret);
