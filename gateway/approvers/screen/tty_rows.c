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

const struct tty_row *tty_rows_unnamed(const struct tty_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct tty_row *row = &list->rows[i];

		if (row->is_ticked && row->risk != 0 && !row->is_named)
			return row;
	}
	return NULL;
}
