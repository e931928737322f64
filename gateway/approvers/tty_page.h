/* tty_page: lines for a terminal, none of which can wrap, fewer where it is low. Private to tty*.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct evbuffer;

#define TTY_PAGE_LINES_MAX 80
/* bytes of a long host that are always shown: the end says whose it is */
#define TTY_HOST_TAIL 48

#define TTY_WIDTH_LEAST 40 /* columns that a question takes */

#define TTY_LABEL      "  answer, then Enter: "
#define TTY_TYPE_LABEL "  to allow it, then Enter: "

/* How the terminal may be written to. */
struct tty_look {
	unsigned int width, rows;
	bool has_escapes; /* TERM is not dumb */
	bool has_colour;
	bool may_always; /* there is a file to write it to */
	bool is_narrow;  /* no question fits: @width is less than it takes */
};

/* What goes first where there is no room: what says more, then what helps; never what is granted.
 */
enum tty_weight { TTY_DETAIL, TTY_HELP, TTY_NEEDED };

/* Zeroed but for @width is empty. Written once, which frees what it holds. */
struct tty_page {
	unsigned int width;
	size_t count;
	unsigned int column; /* of the choices in the last line; 0: none stand there */
	struct tty_page_line {
		char *text; /* owned */
		enum tty_weight weight;
		bool is_bold;
	} lines[TTY_PAGE_LINES_MAX];
};

/* "  LABEL     TEXT"; cut so that it cannot wrap. Text that is not visible is made so. */
void tty_page_field(struct tty_page *page, enum tty_weight weight, const char *label,
		    const char *text);
/* The same over as many lines as it takes, and nothing of it is left out. */
void tty_page_whole(struct tty_page *page, const char *label, const char *text);
/* The same without a label. */
void tty_page_wrap(struct tty_page *page, enum tty_weight weight, const char *text);
/* A line without a label; the title is bold. Cut. */
void tty_page_title(struct tty_page *page, const char *text);
void tty_page_text(struct tty_page *page, enum tty_weight weight, const char *text);
void tty_page_note(struct tty_page *page, const char *note); /* indented; "": none */
/* "  TEXT" beside the last choice if there is room, and unless it begins a line. */
void tty_page_choice(struct tty_page *page, enum tty_weight weight, const char *text,
		     bool is_first);
void tty_page_clear(struct tty_page *page); /* empties it */
/* Keeps @count lines, from line @from on. */
void tty_page_cut_to(struct tty_page *page, size_t from, size_t count);
/* How many of its lines are of @least or more. */
unsigned int tty_page_count(const struct tty_page *page, enum tty_weight least);
/* How many lines there may be before some are left out. */
unsigned int tty_page_rows(const struct tty_look *look);
/* Puts in its place that the window is too small for @needed lines, and what can be done all the
 * same: @how. */
void tty_page_small(struct tty_page *page, const struct tty_look *look, unsigned int needed,
		    const char *how);
/* Empties @page. Returns how many lines were written. */
unsigned int tty_page_write(struct tty_page *page, struct evbuffer *out,
			    const struct tty_look *look);
