#include "gateway/approvers/tty/tty_list_lines.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/tty/tty_self.h"

#define LIST_MARK_WIDTH  15       /* "> 123 [x] NEW " before a row, and the free last column */
#define LIST_INDENT      "      " /* before the hosts of a group */
#define LIST_INDENT_REST 8        /* before the rest of a long line */

static const struct {
	enum approver_risk risk;
	const char *words;
} list_risks[] = {
	{ APPROVER_LOOKALIKE, "looks like another" },
	{ APPROVER_LISTED, "listed" },
	{ APPROVER_LITERAL, "address" },
	{ APPROVER_RAW_TCP, "raw bytes" },
	{ APPROVER_PAINTED, "output in a pipe" },
};

static const struct approver_answer list_once = { .action = POLICY_ALLOW };

static unsigned int list_room(const struct tty_look *look)
{
	return look->width > LIST_MARK_WIDTH ? look->width - LIST_MARK_WIDTH : 0;
}

/* Of a line that goes on with the one before it. */
static size_t list_rest_room(const struct tty_look *look)
{
	return look->width > LIST_INDENT_REST + 1 ? look->width - LIST_INDENT_REST - 1 : 1;
}

bool tty_list_lines_is_long(const struct tty_row *row, const struct tty_look *look)
{
	char whole[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX];

	tty_prompt_destination(whole, sizeof(whole), &row->dst, row->domain, sizeof(whole));
	return strlen(whole) > list_room(look) + (TTY_LIST_LINES_LEAST - 1) * list_rest_room(look);
}

/* Whole, in as many lines as it takes; cut if it is too long for the list. */
static void list_destination(const struct tty_row *row, const struct tty_look *look,
			     char out[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX])
{
	const size_t size = POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX;

	tty_prompt_destination(out, size, &row->dst, row->domain,
			       tty_list_lines_is_long(row, look) ? list_room(look)
								 : (unsigned int)size);
}

static const char *list_risk(const struct tty_row *row, const struct tty_look *look)
{
	for (size_t i = 0; i < ARRAY_SIZE(list_risks); i++) {
		if (row->risk & list_risks[i].risk)
			return list_risks[i].words;
	}
	return row->is_private                     ? "private"
	       : tty_list_lines_is_long(row, look) ? "too long for here"
						   : "";
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
		if (!tty_rows_is_typed(row, &list_once) &&
		    !tty_list_lines_is_long(row, &self->look))
			continue;
		*ret_words = list_risk(row, &self->look);
		*ret_style = TTY_WARNING;
		return "(!)";
	}
	*ret_style = is_new ? TTY_NEW : TTY_PLAIN;
	return is_new ? "NEW" : "   ";
}

/* Takes @text. The line is about no row yet. */
static struct tty_list_line *list_add(struct tty_list_lines *lines, char *text)
{
	lines->list = mem_grow(lines->list, lines->count + 1, sizeof(*lines->list));
	lines->list[lines->count] = (struct tty_list_line){ .text = text, .head = lines->count };
	return &lines->list[lines->count++];
}

/* Adds "@before@what  @after" in as many lines as it takes. */
static void list_add_wrapped(struct tty_list_lines *lines, const struct tty_look *look,
			     const char *before, const char *what, const char *after,
			     enum tty_style style)
{
	size_t from = lines->count, used = strlen(before);
	size_t room = look->width > used + 1 ? look->width - used - 1 : 1;
	size_t left = strlen(what), len = left < room ? left : room;
	char *text = mem_printf("%s%.*s", before, (int)len, what);

	for (what += len, left -= len; left > 0; what += len, left -= len) {
		list_add(lines, text);
		len = left < list_rest_room(look) ? left : list_rest_room(look);
		text = mem_printf("%*s%.*s", LIST_INDENT_REST, "", (int)len, what);
	}
	if (after[0] != '\0' && strlen(text) + 2 + strlen(after) < look->width) {
		mem_append(&text, "  %s", after);
	} else if (after[0] != '\0') {
		list_add(lines, text);
		text = mem_printf("%*s%s", LIST_INDENT_REST, "", after);
	}
	list_add(lines, text);
	for (size_t i = from; i < lines->count; i++) {
		lines->list[i].head = from;
		lines->list[i].style = style;
	}
}

/* A row, or the heading of several. */
static void list_add_head(struct tty_list_lines *lines, const struct approver *self, size_t from,
			  size_t to)
{
	const struct tty_list *list = &self->list;
	const struct tty_row *row = &list->rows[from];
	bool is_one = to == from + 1, is_at = list->at >= from && list->at < to;
	char what[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX];
	enum tty_style style;
	const char *words, *mark = list_mark(self, from, to, &style, &words);

	list_destination(row, &self->look, what);
	if (!is_one)
		(void)snprintf(what, sizeof(what), "%s, %zu hosts", row->domain, to - from);
	auto_free char *before = mem_printf("%c%4u [%c] %s ", is_at ? '>' : ' ', row->number,
					    row->is_ticked ? 'x' : ' ', mark);
	auto_free char *after = mem_strdup(words);

	if (is_one && row->waiting > 1)
		mem_append(&after, "%s%u connections", words[0] ? "  " : "", row->waiting);
	list_add_wrapped(lines, &self->look, before, what, after, style);
	if (!is_one)
		return;
	lines->list[lines->count - 1].from = from;
	lines->list[lines->count - 1].to = to;
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
static size_t list_add_hosts(struct tty_list_lines *lines, const struct approver *self, size_t from,
			     size_t to, size_t head)
{
	const struct tty_row *first = &self->list.rows[from];
	char destination[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX], label[POLICY_HOST_MAX];
	auto_free char *labels = NULL;
	char *text = NULL;
	size_t at = from, begin = lines->count;

	list_destination(first, &self->look, destination);
	for (; at < to; at++) {
		const struct tty_row *row = &self->list.rows[at];

		if (row->dst.protocol != first->dst.protocol || row->dst.port != first->dst.port ||
		    !list_label(row, label))
			break;
		char *longer = mem_printf("%s%s%s", labels ? labels : "", labels ? "," : "", label);
		char *next = mem_printf("%s%s://{%s}.%s:%u", LIST_INDENT,
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
		list_add_wrapped(lines, &self->look, LIST_INDENT, destination, "", TTY_PLAIN);
		at = from + 1;
	} else {
		list_add(lines, text);
	}
	for (size_t i = begin; i < lines->count; i++)
		lines->list[i].head = head;
	lines->list[lines->count - 1].from = from;
	lines->list[lines->count - 1].to = at;
	return at;
}

struct tty_list_lines tty_list_lines(const struct approver *self)
{
	struct tty_list_lines lines = { 0 };

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
