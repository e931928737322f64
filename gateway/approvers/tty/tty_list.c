#include "gateway/approvers/tty/tty_list.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/tty/tty_list_lines.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_words.h"

struct list_sync {
	struct tty_list *list;
	struct tty_look *look;
	size_t total, old_count;
};

static void list_append(struct list_sync *sync, const struct approver_question *question)
{
	struct tty_list *list = sync->list;
	struct tty_row *row;

	if (list->count == TTY_LIST_MAX)
		return;
	list->rows = mem_grow(list->rows, list->count + 1, sizeof(*list->rows));
	row = &list->rows[list->count++];
	*row = (struct tty_row){
		.dst = question->dst,
		.waiting = question->waiting,
		.risk = question->risk,
		.is_private = question->is_private,
		.is_open = true,
	};
	memcpy(row->id, question->id, sizeof(row->id));
	memcpy(row->domain, question->typed, sizeof(row->domain));
}

static bool list_is_same(const struct policy_destination *a, const struct policy_destination *b)
{
	return a->protocol == b->protocol && a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void list_see(const struct approver_question *question, void *arg)
{
	struct list_sync *sync = arg;

	if (question->agent) /* shown by itself */
		return;
	if (sync->total++ == 0 || question->left_ms < sync->list->left_ms)
		sync->list->left_ms = question->left_ms;
	sync->look->is_shared |= question->is_shared;
	for (size_t i = 0; i < sync->old_count; i++) {
		struct tty_row *row = &sync->list->rows[i];

		/* The text of a row never changes, because a tick would then be about something
		 * else. */
		if (row->is_open || strcmp(row->id, question->id) != 0 ||
		    strcmp(row->domain, question->typed) != 0 ||
		    !list_is_same(&row->dst, &question->dst))
			continue;
		row->is_open = true;
		row->waiting = question->waiting;
		row->risk = question->risk;
		row->is_private = question->is_private;
		return;
	}
	list_append(sync, question);
}

/* No row is selected, and the cursor has not moved: nobody has begun to answer. */
static bool list_is_untouched(const struct tty_list *list)
{
	return list->at == 0 && list->digits[0] == '\0' && tty_rows_ticked(list) == 0;
}

/* Sorts the rows behind @from by domain, in the order in which the domains were first asked for.
 * The rows before keep their place. */
static void list_group(struct tty_list *list, size_t from)
{
	for (size_t i = from; i < list->count; i++) {
		size_t to = i + 1;

		for (size_t j = i + 1; j < list->count; j++) {
			struct tty_row row = list->rows[j];

			if (strcmp(row.domain, list->rows[i].domain) != 0)
				continue;
			memmove(&list->rows[to + 1], &list->rows[to], (j - to) * sizeof(row));
			list->rows[to++] = row;
		}
		i = to - 1;
	}
	for (size_t i = from; i < list->count; i++)
		list->rows[i].number = ++list->last_number;
}

void tty_list_sync(struct approver *self)
{
	struct tty_list *list = &self->list;
	struct list_sync sync = {
		.list = list,
		.look = &self->look,
		.old_count = list->count,
	};
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		list->rows[i].is_open = false;
	tty_self_each(self, list_see, &sync);
	for (size_t i = 0; i < list->count;) {
		bool is_old = i < sync.old_count;

		if (!list->rows[i].is_open) {
			tty_rows_remove(list, i);
			sync.old_count--;
			continue;
		}
		kept += is_old;
		i++;
	}
	if (kept < list->count && list_is_untouched(list))
		kept = list->last_number = 0; /* new rows join their domain */
	list_group(list, kept);
	list->beyond = (unsigned int)(sync.total - list->count);
	self->is_stale = self->is_stale || self->look.has_escapes;
}

/* The first line on the screen: as much as possible of what the cursor is on is there. */
static size_t list_first(const struct approver *self, const struct tty_list_lines *lines,
			 size_t most)
{
	size_t head = 0, last = 0;

	for (size_t i = 0; i < lines->count; i++) {
		if (lines->list[lines->list[i].head].text[0] != '>')
			continue;
		head = lines->list[i].head;
		last = i;
	}
	if (last < most)
		return 0;
	return last - most + 1 < head ? last - most + 1 : head;
}

/* Adds as many lines as fit, with the cursor's. A row is on the screen with its tick, or not at
 * all. */
static void list_rows(struct tty_page *page, struct approver *self,
		      const struct tty_list_lines *lines, size_t most)
{
	size_t first = list_first(self, lines, most), shown = 0, above = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const struct tty_list_line *line = &lines->list[i];
		bool is_there = i >= first && i < first + most;

		if (is_there) {
			tty_page_text(page, TTY_NEEDED, line->text);
			page->lines[page->count - 1].style = line->style;
		}
		for (size_t row = line->from; is_there && line->head >= first && row < line->to;
		     row++) {
			tty_shown_take_row(self, &self->list.rows[row]);
			shown++;
		}
		if (i < first || (is_there && line->head < first))
			above += line->to - line->from;
	}
	if (shown < self->list.count) {
		auto_free char *text = mem_printf("        %zu above, %zu below", above,
						  self->list.count - shown - above);

		tty_page_text(page, TTY_NEEDED, text);
	}
}

/* Explains the keys, or only lists them if there is no room. */
static void list_keys(struct tty_page *page, const struct tty_look *look, enum tty_foot form)
{
	static const char *const keys[] = {
		"space select",
		"1 2 3, space select that",
		"A all",
		"* all without (!)",
		"g group or single",
		"v view it",
		"r reason",
		"? help",
	};
	static const char *const few[] = { "? help", "space A * select", "g group", "v view",
					   "r reason" };

	if (form == TTY_FOOT_LEAST)
		return tty_page_choice(page, TTY_NEEDED, NULL, "? lists the keys");
	if (form == TTY_FOOT_SHORT)
		tty_prompt_letters(page, look);
	for (size_t i = 0; form == TTY_FOOT_SHORT && i < ARRAY_SIZE(few); i++)
		tty_page_choice(page, TTY_NEEDED, NULL, few[i]);
	for (size_t i = 0; form == TTY_FOOT_LONG && i < ARRAY_SIZE(keys); i++)
		tty_page_choice(page, TTY_NEEDED, i == 0 ? "list" : NULL, keys[i]);
	if (form == TTY_FOOT_LONG)
		tty_prompt_choices(page, look);
}

/* Adds everything below the rows. */
static void list_below(struct tty_page *page, const struct approver *self, enum tty_foot form)
{
	const struct tty_list *list = &self->list;
	const struct tty_row *unnamed = tty_letters_unnamed(self);
	bool is_long = form == TTY_FOOT_LONG;
	auto_free char *beyond = mem_printf("        and %u more, after these", list->beyond);
	auto_free char *ticked = mem_printf("%zu of %zu%s", tty_rows_ticked(list), list->count,
					    is_long ? "; to allow (!), its domain is typed" : "");

	page->is_tight = !is_long;
	if (list->beyond > 0 && is_long)
		tty_page_text(page, TTY_HELP, beyond);
	if (is_long || !self->draft.is_typing) /* else letters are not keys */
		list_keys(page, &self->look, form);
	tty_page_field(page, TTY_NEEDED, "selected", ticked);
	if (self->draft.is_typing && unnamed)
		tty_page_whole(page, "type", unnamed->domain);
	tty_words_show(page, &self->draft);
	tty_page_note(page, self->draft.note);
}

/* Returned owned. */
static char *list_title(const struct approver *self)
{
	const struct tty_list *list = &self->list;
	size_t domains = 0;
	char left[32];

	for (size_t i = 0; i < list->count; i++) {
		size_t before = 0;

		while (before < i && strcmp(list->rows[before].domain, list->rows[i].domain) != 0)
			before++;
		domains += before == i;
	}
	tty_prompt_left(left, sizeof(left), list->left_ms);
	char *title = mem_printf("sallyport   %zu questions wait, %zu domain%s; denied from %s on",
				 list->count, domains, domains == 1 ? "" : "s", left);

	if (strlen(title) < self->look.width)
		return title;
	free(title);
	return mem_printf("sallyport   %zu wait; denied in %s", list->count, left);
}

/* The text below the rows, in the longest form that leaves room for @least lines of the list, the
 * title, and the numbers of hidden rows. A note, which stands last, is cut only if even that does
 * not help. */
static struct tty_page list_foot(const struct approver *self, size_t least)
{
	struct tty_page below = { .width = self->look.width };
	size_t rows = tty_page_rows(&self->look), needed;

	for (enum tty_foot form = TTY_FOOT_LONG; form <= TTY_FOOT_LEAST; form++) {
		tty_page_clear(&below);
		list_below(&below, self, form);
		if (below.count + least + 2 <= rows)
			return below;
	}
	needed = tty_page_count(&below, TTY_NEEDED);
	tty_page_cut_to(&below, 0, rows > needed + 3 ? rows - 3 : needed);
	return below;
}

unsigned int tty_list_write(struct approver *self, bool *ret_is_whole)
{
	const struct tty_look *look = &self->look;
	struct tty_list_lines list = tty_list_lines(self);
	struct tty_page page = { .width = look->width };
	struct tty_page below = list_foot(
		self, list.count < TTY_LIST_LINES_LEAST ? list.count : TTY_LIST_LINES_LEAST);
	auto_free char *title = list_title(self);
	size_t rows = tty_page_rows(look);
	unsigned int lines;

	tty_page_title(&page, title);
	*ret_is_whole = !look->is_narrow && below.count + 3 <= rows;
	if (*ret_is_whole) {
		list_rows(&page, self, &list, rows - below.count - 2);
	} else {
		tty_page_small(&page, look, (unsigned int)below.count + 3,
			       look->may_leave ? "v views one; x leaves"
					       : "v views one; Ctrl-C stops the commands");
		tty_page_clear(&below);
	}
	for (size_t i = 0; i < list.count; i++)
		free(list.list[i].text);
	free(list.list);
	lines = tty_page_write(&page, self->out, look);
	return lines + tty_page_write(&below, self->out, look);
}
