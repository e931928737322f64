#include "gateway/approvers/screen/tty_rows.h"

#include <stdlib.h>
#include <string.h>

void tty_rows_remove(struct tty_list *list, size_t at)
{
	list->count--;
	memmove(&list->rows[at], &list->rows[at + 1], (list->count - at) * sizeof(*list->rows));
	if (list->at > at || (list->at == list->count && list->at > 0))
		list->at--;
}

void tty_rows_forget(struct tty_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->rows[i].id, id) == 0)
			return tty_rows_remove(list, i);
	}
}

void tty_rows_done(struct tty_list *list)
{
	free(list->rows);
	*list = (struct tty_list){ 0 };
}

struct tty_row *tty_rows_find(struct tty_list *list, unsigned int number)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->rows[i].number == number)
			return &list->rows[i];
	}
	return NULL;
}

size_t tty_rows_ticked(const struct tty_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->rows[i].is_ticked;
	return count;
}

bool tty_rows_is_typed(const struct tty_row *row, const struct approver_answer *answer)
{
	const struct approver_question question = {
		.dst = row->dst,
		.risk = row->risk,
		.is_private = row->is_private,
	};

	return gateway_typed_because(&question, answer) != NULL;
}

const struct tty_row *tty_rows_unnamed(const struct tty_list *list,
				       const struct approver_answer *answer)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct tty_row *row = &list->rows[i];

		if (row->is_ticked && !row->is_named && tty_rows_is_typed(row, answer))
			return row;
	}
	return NULL;
}

static bool rows_are_one(const struct tty_list *list, size_t a, size_t b)
{
	const struct tty_row *one = &list->rows[a], *other = &list->rows[b];

	return !list->is_single && one->is_ticked == other->is_ticked &&
	       strcmp(one->domain, other->domain) == 0;
}

void tty_rows_group(const struct tty_list *list, size_t at, size_t *ret_from, size_t *ret_to)
{
	*ret_from = at;
	*ret_to = at + 1;
	while (*ret_from > 0 && rows_are_one(list, *ret_from - 1, at))
		(*ret_from)--;
	while (*ret_to < list->count && rows_are_one(list, *ret_to, at))
		(*ret_to)++;
}
