#include "gateway/approvers/screen/tty_page.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define PAGE_INDENT     12 /* columns before a field's text */
#define PAGE_ROWS_APART 2  /* the line of the answer, and the empty one before the page */

/* Takes @text. */
static void page_add(struct tty_page *page, enum tty_weight weight, char *text)
{
	page->column = 0;
	page->lines = mem_reserve(page->lines, &page->room, page->count + 1, sizeof(*page->lines));
	page->lines[page->count++] = (struct tty_page_line){ .text = text, .weight = weight };
}

/* The last column stays free, because a character there wraps on some terminals. */
static void page_cut(const struct tty_page *page, char *line)
{
	if (strlen(line) >= page->width)
		memcpy(line + page->width - 4, "...", 4);
}

void tty_page_field(struct tty_page *page, enum tty_weight weight, const char *label,
		    const char *text)
{
	auto_free char *shown = text_visible_once(text);
	char *line = mem_printf("  %-9s %s", label, shown);

	page_cut(page, line);
	page_add(page, weight, line);
}

/* How much of @at is in the next row: up to a space, which stays there, unless words are long. */
static size_t page_row(const char *at, size_t left, size_t room)
{
	size_t len = room;

	if (left <= room)
		return left;
	while (len > room / 2 && at[len - 1] != ' ')
		len--;
	return len > room / 2 ? len : room;
}

void tty_page_whole(struct tty_page *page, const char *label, const char *text)
{
	auto_free char *shown = text_visible_once(text);
	size_t left = strlen(shown);
	size_t room = page->width > PAGE_INDENT + 1 ? page->width - PAGE_INDENT - 1 : 1;
	const char *at = shown;

	do {
		size_t len = page_row(at, left, room);

		page_add(page, TTY_NEEDED,
			 mem_printf("  %-9s %.*s", at == shown ? label : "", (int)len, at));
		at += len;
		left -= len;
	} while (left > 0);
}

void tty_page_warn(struct tty_page *page, enum tty_style style, const char *label, const char *text)
{
	size_t from = page->count;

	tty_page_whole(page, label, text);
	for (size_t i = from; i < page->count; i++)
		page->lines[i].style = style;
}

void tty_page_text(struct tty_page *page, enum tty_weight weight, const char *text)
{
	char *line = text_visible_once(text);

	page_cut(page, line);
	page_add(page, weight, line);
}

/* Breaks at a space if there is one. */
void tty_page_wrap(struct tty_page *page, enum tty_weight weight, const char *text)
{
	auto_free char *shown = text_visible_once(text);
	size_t room = page->width > 8 ? page->width - 3 : 5;

	for (const char *at = shown; *at;) {
		size_t len = strlen(at);

		if (len > room) {
			for (len = room; len > 0 && at[len] != ' ';)
				len--;
			len = len > 0 ? len : room;
		}
		page_add(page, weight, mem_printf("  %.*s", (int)len, at));
		at += len;
		at += strspn(at, " ");
	}
}

void tty_page_note(struct tty_page *page, const char *note)
{
	tty_page_wrap(page, TTY_NOTE, note);
}

void tty_page_title(struct tty_page *page, const char *text)
{
	tty_page_text(page, TTY_NEEDED, text);
	page->lines[page->count - 1].style = TTY_TITLE;
}

void tty_page_choice(struct tty_page *page, enum tty_weight weight, const char *label,
		     const char *text)
{
	unsigned int len = (unsigned int)strlen(text) + 2;
	bool begins = label && !page->is_tight;

	if (!begins && page->column > 0 && page->column + len < page->width) {
		struct tty_page_line *line = &page->lines[page->count - 1];
		mem_append(&line->text, "  %s", text);
		page->column += len;
		return;
	}
	if (page->is_tight)
		page_add(page, weight, mem_printf("  %s", text));
	else
		page_add(page, weight, mem_printf("  %-9s %s", label ? label : "", text));
	page->column = (page->is_tight ? 0 : PAGE_INDENT - 2) + len;
}

void tty_page_clear(struct tty_page *page)
{
	for (size_t i = 0; i < page->count; i++)
		free(page->lines[i].text);
	free(page->lines);
	page->lines = NULL;
	page->room = 0;
	page->count = page->column = 0;
}

unsigned int tty_page_count(const struct tty_page *page, enum tty_weight least)
{
	unsigned int count = 0;

	for (size_t i = 0; i < page->count; i++)
		count += page->lines[i].weight >= least;
	return count;
}

unsigned int tty_page_rows(const struct tty_look *look)
{
	return look->rows > PAGE_ROWS_APART ? look->rows - PAGE_ROWS_APART : 1;
}

void tty_page_small(struct tty_page *page, const struct tty_look *look, unsigned int needed,
		    const char *how)
{
	auto_free char *lines = mem_printf("this window is too small to allow anything: %u lines "
					   "are needed, and it has %u",
					   needed + PAGE_ROWS_APART, look->rows);
	auto_free char *columns = mem_printf("this window is too small to allow anything: %d "
					     "columns are needed, and it has %u",
					     TTY_WIDTH_LEAST, look->width);

	tty_page_clear(page);
	tty_page_wrap(page, TTY_NEEDED, look->is_narrow ? columns : lines);
	tty_page_wrap(page, TTY_NEEDED, how);
}

static void page_remove(struct tty_page *page, size_t at)
{
	free(page->lines[at].text);
	page->count--;
	memmove(&page->lines[at], &page->lines[at + 1],
		(page->count - at) * sizeof(page->lines[0]));
}

void tty_page_order(struct tty_page *page)
{
	for (size_t i = 1; i < page->count; i++) {
		struct tty_page_line line = page->lines[i];
		size_t at = i;

		for (; at > 0 && page->lines[at - 1].weight < line.weight; at--)
			page->lines[at] = page->lines[at - 1];
		page->lines[at] = line;
	}
}

void tty_page_cut_to(struct tty_page *page, size_t from, size_t count)
{
	if (from > page->count)
		from = page->count;
	for (size_t i = 0; i < from; i++)
		free(page->lines[i].text);
	page->count -= from;
	if (from > 0)
		memmove(page->lines, page->lines + from, page->count * sizeof(page->lines[0]));
	while (page->count > count)
		page_remove(page, page->count - 1);
}

/* Drops the last line of the lowest weight; false: all lines are needed. */
static bool page_drop(struct tty_page *page)
{
	size_t lightest = page->count;

	for (size_t i = page->count; i-- > 0;) {
		if (lightest == page->count || page->lines[i].weight < page->lines[lightest].weight)
			lightest = i;
	}
	if (lightest == page->count || page->lines[lightest].weight == TTY_NEEDED)
		return false;
	page_remove(page, lightest);
	return true;
}

unsigned int tty_page_write(struct tty_page *page, struct evbuffer *out,
			    const struct tty_look *look)
{
	static const char *const colours[] = {
		[TTY_PLAIN] = "",
		[TTY_TITLE] = "\x1b[1m",
		[TTY_NEW] = "\x1b[1;33m",
		[TTY_WARNING] = "\x1b[1;31m",
	};
	const char *bold = look->has_escapes ? colours[TTY_TITLE] : "";
	unsigned int count;

	while (page->count > tty_page_rows(look) && page_drop(page))
		;
	count = (unsigned int)page->count;
	if (count > tty_page_rows(look)) /* of the text that says that it is too small */
		count = tty_page_rows(look);
	for (size_t i = 0; i < count; i++) {
		enum tty_style kind = page->lines[i].style;
		const char *style = kind == TTY_PLAIN || look->has_colour ? colours[kind] : bold;

		/* Fails only out of memory; then less is shown. */
		(void)evbuffer_add_printf(out, "%s%s%s\r\n", style, page->lines[i].text,
					  style[0] ? "\x1b[0m" : "");
	}
	tty_page_clear(page);
	return count;
}
