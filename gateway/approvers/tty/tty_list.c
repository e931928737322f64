#include "gateway/approvers/tty/tty_list.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_words.h"

#define LIST_MARK_WIDTH 15 /* "> 123 [x] NEW " before a row, and the free last column */
#define LIST_ROWS_LEAST 3
#define LIST_INDENT     6 /* before the hosts of a group */

static const struct {
	enum approver_risk risk;
	const char *words;
} list_risks[] = {
	{ APPROVER_LOOKALIKE, "looks like another" },
	{ APPROVER_LISTED, "listed" },
	{ APPROVER_LITERAL, "address" },
	{ APPROVER_RAW_TCP, "raw tcp" },
};

static const struct approver_answer list_once = { .action = POLICY_ALLOW };

/* A line of the list: a row, the heading of a group, or hosts of a group. */
struct list_line {
	char *text;      /* owned */
	size_t from, to; /* the rows that are on the screen with it */
	size_t head;     /* the line of the group's heading, which has their tick */
	enum tty_style style;
};
struct list_lines {
	struct list_line *list;
	size_t count;
};

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
	if (kept < list->count && list_is_untouched(list))
		kept = list->last_number = 0; /* new rows join their domain */
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

static const char *list_risk(const struct tty_row *row, const struct tty_look *look)
{
	for (size_t i = 0; i < ARRAY_SIZE(list_risks); i++) {
		if (row->risk & list_risks[i].risk)
			return list_risks[i].words;
	}
	return row->is_private ? "private" : tty_list_is_long(row, look) ? "too long for here" : "";
}

/* The mark before the rows from @from to @to: (!) for what cannot be allowed with one key. */
static const char *list_mark(const struct approver *self, size_t from, size_t to,
			     enum tty_style *ret_style, const char **ret_words)
{
	bool is_new = false;

	*ret_words = "";
	for (size_t i = from; i < to; i++) {
		const struct tty_row *row = &self->list.rows[i];

		if ((*ret_words)[0] == '\0')
			*ret_words = list_risk(row, &self->look);
		is_new |= row->risk & APPROVER_FIRST_SEEN;
		if (!tty_rows_is_typed(row, &list_once) && !tty_list_is_long(row, &self->look))
			continue;
		*ret_words = list_risk(row, &self->look);
		*ret_style = TTY_WARNING;
		return "(!)";
	}
	*ret_style = is_new ? TTY_NEW : TTY_PLAIN;
	return is_new ? "NEW" : "   ";
}

/* Takes @text. */
static struct list_line *list_add(struct list_lines *lines, char *text, size_t from, size_t to)
{
	lines->list = mem_grow(lines->list, lines->count + 1, sizeof(*lines->list));
	lines->list[lines->count] =
		(struct list_line){ .text = text, .from = from, .to = to, .head = lines->count };
	return &lines->list[lines->count++];
}

/* A row, or the heading of several. */
static void list_add_head(struct list_lines *lines, const struct approver *self, size_t from,
			  size_t to)
{
	const struct tty_list *list = &self->list;
	const struct tty_row *row = &list->rows[from];
	bool is_one = to == from + 1, is_at = list->at >= from && list->at < to;
	char what[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX], more[32] = "";
	enum tty_style style;
	const char *words, *mark = list_mark(self, from, to, &style, &words);

	list_destination(row, &self->look, what);
	if (!is_one)
		(void)snprintf(what, sizeof(what), "%s, %zu hosts", row->domain, to - from);
	else if (row->waiting > 1)
		(void)snprintf(more, sizeof(more), "  %u connections", row->waiting);
	/* They never take the room of the destination. */
	if (strlen(what) + strlen(words) + strlen(more) + 2 > list_room(&self->look)) {
		words = "";
		more[0] = '\0';
	}
	char *text = mem_printf("%c%4u [%c] %s %s%s%s%s", is_at ? '>' : ' ', row->number,
				row->is_ticked ? 'x' : ' ', mark, what, words[0] ? "  " : "", words,
				more);

	list_add(lines, text, is_one ? from : 0, is_one ? to : 0)->style = style;
}

/* The part of the row's host before its domain; NULL: it is not written together with others. */
static const char *list_label(const struct tty_row *row, char out[POLICY_HOST_MAX])
{
	size_t len = strlen(row->dst.host), tail = strlen(row->domain);

	if (row->dst.addr.family != 0 || len < tail + 2 || row->dst.host[len - tail - 1] != '.' ||
	    strcmp(row->dst.host + len - tail, row->domain) != 0)
		return NULL;
	memcpy(out, row->dst.host, len - tail - 1);
	out[len - tail - 1] = '\0';
	return out;
}

/* "https://{a,b}.look.test:443" of the rows from @from on that fit into one line; returns the row
 * after them. Host names are visible text. */
static size_t list_add_hosts(struct list_lines *lines, const struct approver *self, size_t from,
			     size_t to, size_t head)
{
	const struct tty_row *first = &self->list.rows[from];
	char destination[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX], label[POLICY_HOST_MAX];
	auto_free char *labels = NULL;
	char *text = NULL;
	size_t at = from;

	list_destination(first, &self->look, destination);
	for (; at < to; at++) {
		const struct tty_row *row = &self->list.rows[at];

		if (row->dst.protocol != first->dst.protocol || row->dst.port != first->dst.port ||
		    !list_label(row, label))
			break;
		char *longer = mem_printf("%s%s%s", labels ? labels : "", labels ? "," : "", label);
		char *next = mem_printf("%*s%s://{%s}.%s:%u", LIST_INDENT, "",
					policy_protocol_name(row->dst.protocol), longer,
					row->domain, (unsigned int)row->dst.port);
		bool fits = strlen(next) < self->look.width;

		free(fits ? labels : longer);
		free(fits ? text : next);
		if (!fits)
			break;
		labels = longer;
		text = next;
	}
	if (at < from + 2) {
		free(text);
		text = mem_printf("%*s%s", LIST_INDENT, "", destination);
		at = from + 1;
	}
	list_add(lines, text, from, at)->head = head;
	return at;
}

static struct list_lines list_lines(const struct approver *self)
{
	struct list_lines lines = { 0 };

	for (size_t from, to = 0; to < self->list.count;) {
		size_t head = lines.count;

		tty_rows_group(&self->list, to, &from, &to);
		list_add_head(&lines, self, from, to);
		if (to == from + 1)
			continue;
		while (from < to)
			from = list_add_hosts(&lines, self, from, to, head);
	}
	return lines;
}

/* The first line on the screen: as much as possible of what the cursor is on is there. */
static size_t list_first(const struct approver *self, const struct list_lines *lines, size_t most)
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
static void list_rows(struct tty_page *page, struct approver *self, size_t most)
{
	struct list_lines lines = list_lines(self);
	size_t first = list_first(self, &lines, most), shown = 0, above = 0;

	for (size_t i = 0; i < lines.count; i++) {
		const struct list_line *line = &lines.list[i];
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
		free(line->text);
	}
	free(lines.list);
	if (shown < self->list.count) {
		auto_free char *text = mem_printf("        %zu above, %zu below", above,
						  self->list.count - shown - above);

		tty_page_text(page, TTY_NEEDED, text);
	}
}

/* Explains the keys, or only lists them if there is no room. */
static void list_keys(struct tty_page *page, const struct tty_look *look, bool is_short)
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
	static const char *const few[] = { "space A * select", "g group", "v view", "r reason",
					   "? help" };

	for (size_t i = 0; !is_short && i < ARRAY_SIZE(keys); i++)
		tty_page_choice(page, TTY_NEEDED, i == 0 ? "list" : NULL, keys[i]);
	for (size_t i = 0; is_short && i < ARRAY_SIZE(few); i++)
		tty_page_choice(page, TTY_NEEDED, i == 0 ? "list" : NULL, few[i]);
	if (is_short)
		tty_prompt_letters(page, look);
	else
		tty_prompt_choices(page, look);
}

/* Adds everything below the rows. */
static void list_below(struct tty_page *page, const struct approver *self, bool is_short)
{
	const struct tty_list *list = &self->list;
	const struct tty_row *unnamed = tty_letters_unnamed(self);
	auto_free char *beyond = mem_printf("        and %u more, after these", list->beyond);
	auto_free char *ticked = mem_printf("%zu of %zu%s", tty_rows_ticked(list), list->count,
					    is_short ? "" : "; to allow (!), its domain is typed");

	if (list->beyond > 0 && !is_short)
		tty_page_text(page, TTY_HELP, beyond);
	list_keys(page, &self->look, is_short);
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
	return mem_printf("sallyport   %zu questions wait, %zu domain%s; denied from %s on",
			  list->count, domains, domains == 1 ? "" : "s", left);
}

unsigned int tty_list_write(struct approver *self, bool *ret_is_whole)
{
	const struct tty_look *look = &self->look;
	struct tty_page page = { .width = look->width }, below = { .width = look->width };
	auto_free char *title = list_title(self);
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
	/* A note, which stands last, gives way. */
	if (below.count + least + 2 > rows) {
		size_t needed = tty_page_count(&below, TTY_NEEDED);

		tty_page_cut_to(&below, 0, rows > needed + least + 2 ? rows - least - 2 : needed);
	}
	tty_page_title(&page, title);
	*ret_is_whole = !look->is_narrow && below.count + 3 <= rows;
	if (*ret_is_whole) {
		list_rows(&page, self, rows - below.count - 2);
	} else {
		tty_page_small(&page, look, (unsigned int)below.count + 3,
			       look->may_leave ? "v views one; x leaves"
					       : "v views one; Ctrl-C stops the commands");
		tty_page_clear(&below);
	}
	lines = tty_page_write(&page, self->out, look);
	return lines + tty_page_write(&below, self->out, look);
}
