/* tty_list: many questions on one screen, to be ticked and answered together. Each is answered as
 * itself: what stands in its line is what is granted. Private to tty*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/approvers/approver_impl.h"

#define TTY_LIST_LEAST 4   /* questions at once that make a list */
#define TTY_LIST_MAX   128 /* lines of one; the questions beyond come when these are answered */

/* A row as it was drawn; zeroed: never. */
struct tty_row_shown {
	unsigned long drawing; /* the last one that had it */
	unsigned int width, rows, risk;
	bool is_ticked;
};

struct tty_row {
	char id[APPROVER_ID_MAX];
	struct policy_destination dst;
	char domain[POLICY_HOST_MAX]; /* the question's @typed */
	unsigned int number;          /* never another's while the list lasts */
	unsigned int waiting, risk;
	bool is_ticked, is_open;
	bool is_named;              /* its domain was typed, for the answer that is being given */
	struct tty_row_shown shown; /* only tty_shown.c looks into it */
};
/* Zeroed is empty. */
struct tty_list {
	struct tty_row *rows; /* of one domain together, as long as none came later */
	size_t count, at;     /* the row that the cursor is on */
	unsigned int last_number;
	unsigned int beyond; /* open, and not in the list */
	char digits[4];      /* of a number being typed, "" none */
};

struct approver;
struct tty_look;

/* What is open now: the rest leaves, and what is new comes to the end, unticked. */
void tty_list_sync(struct approver *self);
/* @id was settled. */
void tty_list_forget(struct tty_list *list, const char *id);
void tty_list_done(struct tty_list *list); /* empties it */
struct tty_row *tty_list_row(struct tty_list *list, unsigned int number);
size_t tty_list_ticked(const struct tty_list *list);
/* A ticked one whose domain has to be typed before an allow, and was not. NULL: none. */
const struct tty_row *tty_list_unnamed(const struct tty_list *list);
/* Its destination is too long to be shown whole, so it is not allowed from here. */
bool tty_list_is_long(const struct tty_row *row, const struct tty_look *look);
/* As lines, those above the answer's label. Returns how many, and whether all that has to be seen
 * is among them. */
unsigned int tty_list_write(struct approver *self, bool *ret_is_whole);
