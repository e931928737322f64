/* tty_page: lines for a terminal, which never wrap; a low window gets fewer. Private to tty*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct evbuffer;

/* bytes of a long host that are always shown: its end tells the owner */
#define TTY_HOST_TAIL 48

#define TTY_WIDTH_LEAST 40 /* columns that a question needs */

#define TTY_LABEL        "  answer, then Enter: "
#define TTY_WAIT_LABEL   "  wait a moment: " /* keys have no effect yet */
#define TTY_STATUS_LABEL "  x leaves, ? lists the keys: "
#define TTY_TYPE_LABEL   "  to allow it, then Enter: "

/* What the terminal can show. */
struct tty_look {
	unsigned int width, rows;
	bool has_escapes; /* TERM is not dumb */
	bool has_colour;
	bool may_always; /* there is a file to write it to */
	bool is_shared;  /* several commands may share the session: one of them is a scope */
	bool may_leave;  /* the terminal is not a command's: x leaves, and so does Ctrl-C */
	bool is_narrow;  /* no question fits: @width is less than TTY_WIDTH_LEAST */
};

/* Lines with the lowest weight are dropped first if there is no room: details, then help, then the
 * note; never what is granted. */
enum tty_weight { TTY_DETAIL, TTY_HELP, TTY_NOTE, TTY_NEEDED };

enum tty_style { TTY_PLAIN, TTY_TITLE, TTY_NEW, TTY_WARNING };

/* Zeroed except for @width: empty. Writing it frees its contents. */
struct tty_page {
	unsigned int width;
	size_t count, room;
	unsigned int column; /* of the choices in the last line; 0: it has none */
	bool is_tight;       /* choices have no label, and little indentation */
	struct tty_page_line {
		char *text; /* owned */
		enum tty_weight weight;
		enum tty_style style;
	} * lines; /* owned */
};

/* "  LABEL     TEXT"; cut so that it cannot wrap. Makes the text visible. */
void tty_page_field(struct tty_page *page, enum tty_weight weight, const char *label,
		    const char *text);
/* The same in as many lines as needed; nothing is cut. */
void tty_page_whole(struct tty_page *page, const char *label, const char *text);
/* The same with a colour. */
void tty_page_warn(struct tty_page *page, enum tty_style style, const char *label,
		   const char *text);
/* The same, without a label. */
void tty_page_wrap(struct tty_page *page, enum tty_weight weight, const char *text);
/* A line without a label; the title is bold. Cut. */
void tty_page_title(struct tty_page *page, const char *text);
void tty_page_text(struct tty_page *page, enum tty_weight weight, const char *text);
void tty_page_note(struct tty_page *page, const char *note); /* indented; "": none */
/* Adds "  TEXT" after the last choice if there is room; with @label it begins a line, as a field.
 */
void tty_page_choice(struct tty_page *page, enum tty_weight weight, const char *label,
		     const char *text);
void tty_page_clear(struct tty_page *page); /* empties it */
/* Moves lines of a lower weight behind those of a higher one. */
void tty_page_order(struct tty_page *page);
/* Keeps @count lines, beginning with line @from. */
void tty_page_cut_to(struct tty_page *page, size_t from, size_t count);
/* The number of its lines of weight @least or higher. */
unsigned int tty_page_count(const struct tty_page *page, enum tty_weight least);
/* The number of lines that fit before some are dropped. */
unsigned int tty_page_rows(const struct tty_look *look);
/* Replaces the page by a text that says that the window is too small for @needed lines, and what
 * the person can still do: @how. */
void tty_page_small(struct tty_page *page, const struct tty_look *look, unsigned int needed,
		    const char *how);
/* Empties @page. Returns the number of lines written. */
unsigned int tty_page_write(struct tty_page *page, struct evbuffer *out,
			    const struct tty_look *look);
