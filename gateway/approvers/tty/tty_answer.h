/* tty_answer: gives the answers. Private to tty*.c and far.c. */
#pragma once

#include <stdbool.h>

struct approver;
struct err;
struct tty_answer;

/* The result of the answer to @id: 0, or -errno with @why. An unknown @id is fine. */
void tty_answer_came(struct approver *self, const char *id, int r, const struct err *why);
/* There is no result yet: says so, and lets the next question be shown. When tty_answer_came() has
 * the result, it is shown then. */
void tty_answer_overdue(struct approver *self, const char *id);
/* Was @id answered here, without a result yet? */
bool tty_answer_is_given(const struct approver *self, const char *id);
void tty_answer_forget_given(struct approver *self);

/* Gives exactly the answer that is shown, if tty_shown_may_answer() agrees. The view ends. */
void tty_answer_give(struct approver *self, const struct tty_answer *chosen);
/* Gives a denial for once, whatever is shown. */
void tty_answer_deny(struct approver *self, const struct tty_answer *chosen);
/* Gives the same answer to each ticked question. */
void tty_answer_give_ticked(struct approver *self, const struct tty_answer *chosen);
