/* tty_rows: the rows of a list of questions. Private to tty*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/approvers/approver_impl.h"

#define TTY_LIST_MAX 128 /* rows of one list; further questions follow when these are answered */

/* A row as it was last drawn; zeroed: never drawn. */
struct tty_row_shown {
	unsigned long drawing; /* number of the last drawing that had it */
	unsigned int width, rows, risk;
	bool is_ticked;
};

struct tty_row {
	char id[APPROVER_ID_MAX];
	struct policy_destination dst;
	char domain[POLICY_HOST_MAX]; /* the question's @typed */
	unsigned int number;          /* not used again once the list is touched */
	unsigned int waiting, risk;
	bool is_private, is_ticked, is_open;
	bool is_named;              /* its domain was typed, for the current answer */
	struct tty_row_shown shown; /* private to tty_shown.c */
};
/* Zeroed is empty. */
struct tty_list {
	struct tty_row
		*rows; /* rows of one domain stand together, except later ones of a touched list */
	size_t count, at; /* the row that the cursor is on */
	unsigned int last_number;
	unsigned int beyond; /* open questions that are not in the list */
	char digits[4];      /* of a number being typed; "": none */
	int64_t left_ms;     /* until the first of them is denied */
	bool is_single;      /* every row has its line; else those of one domain share one */
};

/* @id was settled: removes its row. */
void tty_rows_forget(struct tty_list *list, const char *id);
void tty_rows_remove(struct tty_list *list, size_t at);
void tty_rows_done(struct tty_list *list); /* empties it */
struct tty_row *tty_rows_find(struct tty_list *list, unsigned int number);
size_t tty_rows_ticked(const struct tty_list *list);
/* Does the row's domain have to be typed to give @answer? */
bool tty_rows_is_typed(const struct tty_row *row, const struct approver_answer *answer);
/* A ticked row whose domain must be typed to give @answer, and was not. NULL: none. */
const struct tty_row *tty_rows_unnamed(const struct tty_list *list,
				       const struct approver_answer *answer);
/* The rows that stand on the list as one with row @at: from *@ret_from to before *@ret_to. All or
 * none of them are ticked. */
void tty_rows_group(const struct tty_list *list, size_t at, size_t *ret_from, size_t *ret_to);
