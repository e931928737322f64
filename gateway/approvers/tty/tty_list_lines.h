/* tty_list_lines: a list of questions as lines of text. Private to tty_list*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/approvers/screen/tty_page.h"

#define TTY_LIST_LINES_LEAST 3 /* lines that a row may take, and that a window needs for them */

struct approver;
struct tty_look;
struct tty_row;

/* A line of the list: of a row, of the heading of a group, or of hosts of a group. */
struct tty_list_line {
	char *text;      /* owned */
	size_t from, to; /* rows that are whole on the screen with this line and all since @head */
	size_t head;     /* the line that has their tick */
	enum tty_style style;
};
struct tty_list_lines {
	struct tty_list_line *list; /* owned */
	size_t count;
};

/* Is its destination too long to be shown whole? Then it cannot be allowed in the list. */
bool tty_list_lines_is_long(const struct tty_row *row, const struct tty_look *look);
/* The whole list, of which a window shows a part. The caller owns the lines and their texts. */
struct tty_list_lines tty_list_lines(const struct approver *self);
