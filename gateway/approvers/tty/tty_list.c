#include "gateway/approvers/tty/tty_list.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_words.h"

#define LIST_MARK_WIDTH 14 /* "> 123 [x] " before a row, and " (!)" after it */
#define LIST_ROWS_LEAST 3

static const struct {
	enum approver_risk risk;
	const char *words;
} list_risks[] = {
	{ APPROVER_LOOKALIKE, "looks like another" },
	{ APPROVER_LISTED, "listed" },
	{ APPROVER_LITERAL, "address" },
	{ APPROVER_RAW_TCP, "raw tcp" },
	{ APPROVER_FIRST_SEEN, "first seen" },
};

struct list_sync {
	struct tty_list *list;
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

	sync->total++;
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
		row->risk |= question->risk;
		return;
	}
	list_append(sync, question);
}

/* Sorts the new rows by domain, in the order in which the domains were first asked for. Existing
 * rows keep their place. */
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
	struct list_sync sync = { .list = list, .old_count = list->count };
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		list->rows[i].is_open = false;
	self->source->each(self->of, list_see, &sync);
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
	list_group(list, kept);
	list->beyond = (unsigned int)(sync.total - list->count);
	self->is_stale = self->is_stale || self->look.has_escapes;
}

static unsigned int list_room(const struct tty_look *look)
{
	return look->width > LIST_MARK_WIDTH ? look->width - LIST_MARK_WIDTH : 0;
}

static void list_destination(const struct tty_row *row, const struct tty_look *look,
			     char out[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX])
{
	tty_prompt_destination(out, POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX, &row->dst,
			       row->domain, list_room(look));
}

bool tty_list_is_long(const struct tty_row *row, const struct tty_look *look)
{
	char destination[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX];

	list_destination(row, look, destination);
	return strstr(destination, "...") != NULL;
}

static const char *list_risk(const struct tty_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(list_risks); i++) {
		if (row->risk & list_risks[i].risk)
			return list_risks[i].words;
	}
	return "too long for here";
}

static void list_row(struct tty_page *page, struct approver *self, size_t i)
{
	const struct tty_look *look = &self->look;
	const struct tty_list *list = &self->list;
	struct tty_row *row = &self->list.rows[i];
	char destination[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX], more[64] = "";

	list_destination(row, look, destination);
	if (row->risk != 0 || tty_list_is_long(row, look))
		(void)snprintf(more, sizeof(more), " (!)  %s", list_risk(row));
	else if (row->waiting > 1)
		(void)snprintf(more, sizeof(more), "  %u connections", row->waiting);
	auto_free char *text = mem_printf("%c%4u [%c] %s%s", i == list->at ? '>' : ' ', row->number,
					  row->is_ticked ? 'x' : ' ', destination, more);

	tty_page_text(page, TTY_NEEDED, text);
	tty_shown_take_row(self, row);
}

/* Adds as many rows as fit, with the cursor's row; a domain with several rows gets a heading. */
static void list_rows(struct tty_page *page, struct approver *self, size_t most)
{
	const struct tty_list *list = &self->list;
	size_t from = list->at >= most ? list->at - most + 1 : 0;
	size_t to = from + most < list->count ? from + most : list->count;

	for (size_t i = from; i < to; i++)
		list_row(page, self, i);
	if (to < list->count || from > 0) {
		auto_free char *text =
			mem_printf("        %zu above, %zu below", from, list->count - to);

		tty_page_text(page, TTY_NEEDED, text);
	}
}

/* Explains the keys, or only lists them if there is no room. */
static void list_keys(struct tty_page *page, const struct tty_look *look, bool is_short)
{
	static const char *const keys[] = { "[space] tick",   "[number, space] tick that",
					    "[g] its domain", "[*] all without (!)",
					    "[v] view it",    "[r] reason",
					    "[?] keys" };
	static const char *const few[] = { "[space*g] tick", "[v] view", "[r] reason", "[?] keys" };

	for (size_t i = 0; !is_short && i < ARRAY_SIZE(keys); i++)
		tty_page_choice(page, TTY_NEEDED, keys[i], i == 0);
	for (size_t i = 0; is_short && i < ARRAY_SIZE(few); i++)
		tty_page_choice(page, TTY_NEEDED, few[i], i == 0);
	if (is_short)
		tty_prompt_letters(page, look);
	else
		tty_prompt_choices(page, look);
}

/* Adds everything below the rows. */
static void list_below(struct tty_page *page, const struct approver *self, bool is_short)
{
	const struct tty_list *list = &self->list;
	const struct tty_row *unnamed = tty_rows_unnamed(list);
	auto_free char *beyond = mem_printf("        and %u more, after these", list->beyond);
	auto_free char *ticked =
		mem_printf("%zu of %zu%s", tty_rows_ticked(list), list->count,
			   is_short ? "" : "; (!) is allowed by typing its domain");

	if (list->beyond > 0)
		tty_page_text(page, TTY_HELP, beyond);
	list_keys(page, &self->look, is_short);
	tty_page_field(page, TTY_NEEDED, "ticked", ticked);
	if (self->draft.is_typing && unnamed)
		tty_page_whole(page, "type", unnamed->domain);
	tty_words_show(page, &self->draft);
	tty_page_note(page, self->draft.note);
}

unsigned int tty_list_write(struct approver *self, bool *ret_is_whole)
{
	const struct tty_look *look = &self->look;
	struct tty_page page = { .width = look->width }, below = { .width = look->width };
	auto_free char *title = mem_printf("sallyport   %zu questions wait", self->list.count);
	size_t rows = tty_page_rows(look), least = LIST_ROWS_LEAST;
	unsigned int lines;

	if (self->list.count < least)
		least = self->list.count;
	list_below(&below, self, false);
	/* One line for the title, and one for the numbers of hidden rows. */
	if (below.count + least + 2 > rows) {
		tty_page_clear(&below);
		list_below(&below, self, true);
	}
	tty_page_title(&page, title);
	*ret_is_whole = !look->is_narrow && below.count + 3 <= rows;
	if (*ret_is_whole) {
		list_rows(&page, self, rows - below.count - 2);
	} else {
		tty_page_small(&page, look, (unsigned int)below.count + 3,
			       look->may_leave ? "[v] views one; x leaves"
					       : "[v] views one; Ctrl-C ends the commands");
		tty_page_clear(&below);
	}
	lines = tty_page_write(&page, self->out, look);
	return lines + tty_page_write(&below, self->out, look);
}
