/* Keys come from a log, and with that from commands: a balanced tree has no bad case. */
#include "cli/tally.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void tally_init(struct tally *tally, size_t row_bytes, size_t max)
{
	*tally = (struct tally){ .row_bytes = row_bytes, .max = max };
}

static int compare(const void *left, const void *right)
{
	return strcmp(((const struct tally_row *)left)->key,
		      ((const struct tally_row *)right)->key);
}

void *tally_find(struct tally *tally, const char *key)
{
	const struct tally_row wanted = { .key = (char *)(uintptr_t)key };

	if (tally->last && strcmp(tally->last->key, key) == 0)
		return tally->last->data;
	struct tally_row **found = tfind(&wanted, &tally->tree, compare);

	if (!found)
		return NULL;
	tally->last = *found;
	return tally->last->data;
}

void *tally_at(struct tally *tally, const char *key)
{
	void *found = tally_find(tally, key);

	if (found)
		return found;
	if (tally->count == tally->max) {
		tally->is_full = true;
		return NULL;
	}
	struct tally_row *row = mem_new(sizeof(*row) + tally->row_bytes);

	row->key = mem_strdup(key);
	if (!tsearch(row, &tally->tree, compare))
		abort(); /* as base/mem does when memory runs out */
	tally->count++;
	tally->last = row;
	return row->data;
}

const char *tally_key(const void *row)
{
	return container_of(row, const struct tally_row, data)->key;
}

struct tally_list {
	void **rows;
	size_t count;
};

static void on_node(const void *node, VISIT visit, void *arg)
{
	struct tally_list *list = arg;

	if (visit == postorder || visit == leaf)
		list->rows[list->count++] = (*(struct tally_row *const *)node)->data;
}

void **tally_rows(const struct tally *tally)
{
	struct tally_list list = { mem_new_array(tally->count + 1, sizeof(void *)), 0 };

	if (tally->tree)
		twalk_r(tally->tree, on_node, &list);
	return list.rows;
}

void tally_done(struct tally *tally, void (*forget)(void *row))
{
	while (tally->tree) {
		struct tally_row *row = *(struct tally_row **)tally->tree;

		(void)tdelete(row, &tally->tree, compare);
		if (forget)
			forget(row->data);
		free(row->key);
		free(row);
	}
	*tally = (struct tally){ 0 };
}
