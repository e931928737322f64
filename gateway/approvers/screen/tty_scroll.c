#include "gateway/approvers/screen/tty_scroll.h"

#include <event2/buffer.h>

#include "base/mem.h"

#define SCROLL_ROWS_LEAST 2 /* a line of the body, and the one that says which it is */

/* Does the body, or do @wanted lines of it, fit above the foot and below the title? */
static bool scroll_fits(const struct tty_page *body, const struct tty_page *foot, size_t wanted,
			size_t rows)
{
	size_t least = body->count < wanted + 1 ? body->count : wanted + 1;

	return foot->count + 1 + least <= rows;
}

/* Would the body fit whole without the note? */
static bool scroll_is_pushed(const struct tty_page *body, const struct tty_page *foot, size_t rows)
{
	size_t notes = tty_page_count(foot, TTY_NOTE) - tty_page_count(foot, TTY_NEEDED);
	size_t all = body->count + 1 + foot->count;

	return all > rows && all - notes <= rows;
}

/* Makes the longest foot for which there is room; the body is not cut for a note if a shorter foot
 * helps. */
static bool scroll_choose(const struct tty_sheet *sheet, struct tty_page *foot, size_t rows,
			  bool may_push)
{
	const struct tty_page *body = &sheet->body;
	size_t wanted = tty_page_count(body, TTY_HELP);

	for (enum tty_foot form = TTY_FOOT_LONG; form <= TTY_FOOT_LEAST; form++) {
		tty_page_clear(foot);
		foot->is_tight = form != TTY_FOOT_LONG;
		sheet->foot(foot, form, sheet->arg);
		if (scroll_fits(body, foot, wanted, rows) &&
		    (may_push || !scroll_is_pushed(body, foot, rows)))
			return true;
		wanted = SCROLL_ROWS_LEAST - 1;
	}
	return false;
}

/* A note, which stands last, is cut if nothing else helps. */
static void scroll_foot(const struct tty_sheet *sheet, struct tty_page *foot, size_t rows)
{
	size_t all = sheet->body.count, least = all < SCROLL_ROWS_LEAST ? all : SCROLL_ROWS_LEAST;
	size_t needed;

	if (scroll_choose(sheet, foot, rows, false) || scroll_choose(sheet, foot, rows, true))
		return;
	needed = tty_page_count(foot, TTY_NEEDED);
	tty_page_cut_to(foot, 0, needed + 1 + least < rows ? rows - 1 - least : needed);
}

/* Cuts the body to the lines that fit into @room with one line, @more, that says which they are. */
static void scroll_cut(struct tty_page *body, struct tty_page *more, size_t room, size_t needed,
		       struct tty_scroll *scroll)
{
	size_t all = body->count, to;

	tty_page_order(body);
	if (scroll->from >= all)
		scroll->from = 0;
	tty_page_cut_to(body, scroll->from, room - 1);
	to = scroll->from + body->count;
	if (scroll->from <= scroll->seen && to > scroll->seen)
		scroll->seen = (unsigned int)to;
	scroll->next = to < all ? (unsigned int)to : 0;
	auto_free char *text =
		mem_printf("%u-%zu of %zu, Space: %s%s", scroll->from + 1, to, all,
			   scroll->next ? "next" : "first again",
			   scroll->seen < needed ? "; to allow it, look at all of them first" : "");

	tty_page_field(more, TTY_NEEDED, "lines", text);
}

unsigned int tty_scroll_write(struct tty_sheet *sheet, struct evbuffer *out,
			      const struct tty_look *look, struct tty_scroll *scroll,
			      bool *ret_is_whole)
{
	struct tty_page *body = &sheet->body, empty = { .width = look->width };
	struct tty_page title = empty, more = empty, foot = empty;
	size_t needed = tty_page_count(body, TTY_NEEDED), rows = tty_page_rows(look), room;
	unsigned int lines;

	scroll_foot(sheet, &foot, rows);
	*ret_is_whole = false;
	if (look->is_narrow || !scroll_fits(body, &foot, SCROLL_ROWS_LEAST - 1, rows)) {
		size_t least = body->count < SCROLL_ROWS_LEAST ? body->count : SCROLL_ROWS_LEAST;

		tty_page_clear(body);
		tty_page_small(body, look, (unsigned int)(foot.count + 1 + least),
			       sheet->small_how);
		tty_page_clear(&foot);
		return tty_page_write(body, out, look);
	}
	room = rows - foot.count - 1;
	tty_page_title(&title, sheet->title);
	if (body->count > room)
		scroll_cut(body, &more, room, needed, scroll);
	else
		*scroll = (struct tty_scroll){ .seen = (unsigned int)body->count };
	*ret_is_whole = scroll->seen >= needed;
	lines = tty_page_write(&title, out, look) + tty_page_write(body, out, look);
	lines += tty_page_write(&more, out, look);
	return lines + tty_page_write(&foot, out, look);
}
