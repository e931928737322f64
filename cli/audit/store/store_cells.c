/* Sums by day, which `audit report` and `audit summary` add up: so an answer about a week does not
 * read every record of it. They are collected in memory while records are added. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cli/audit/store/store_impl.h"

#define CELLS     65536 /* a power of two */
#define CELLS_MAX (CELLS / 4 * 3)

static const char sql[] =
	"INSERT INTO sums VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) ON CONFLICT DO UPDATE SET "
	"times=times+excluded.times, up=up+excluded.up, down=down+excluded.down, "
	"first=min(first,excluded.first), last=max(last,excluded.last)";

int store_cells_write(struct store *store, struct err *why)
{
	sqlite3_stmt **statement = &store->statements[STORE_ADD_SUM];
	int r = *statement ? 0 : store_prepare(store, sql, statement, why);

	for (size_t i = 0; store->cells && i < CELLS && r == 0; i++) {
		struct store_cell *cell = &store->cells[i];
		const sqlite3_int64 sums[] = { cell->times, cell->up, cell->down, cell->first,
					       cell->last };

		if (cell->times == 0)
			continue;
		for (int n = 0; n < 5; n++) { /* the indexes are right */
			(void)sqlite3_bind_int64(*statement, n + 1, cell->key[n]);
			(void)sqlite3_bind_int64(*statement, n + 6, sums[n]);
		}
		int result = sqlite3_step(*statement);

		(void)sqlite3_reset(*statement); /* repeats the error of the step */
		if (result != SQLITE_DONE)
			r = store_fail(store, result, why);
	}
	store_cells_forget(store);
	return r;
}

void store_cells_forget(struct store *store)
{
	free(take(store->cells));
	store->cell_count = 0;
}

static struct store_cell *cell_at(struct store *store, const sqlite3_int64 key[5])
{
	uint64_t hash = 0;

	for (size_t i = 0; i < 5; i++)
		hash = hash_mix(hash, (uint64_t)key[i]);
	for (;; hash++) {
		struct store_cell *cell = &store->cells[hash & (CELLS - 1)];

		if (cell->times == 0) {
			memcpy(cell->key, key, sizeof(cell->key));
			store->cell_count++;
			return cell;
		}
		if (memcmp(cell->key, key, sizeof(cell->key)) == 0)
			return cell;
	}
}

int store_cells_add(struct store *store, const sqlite3_int64 keys[STORE_DIMENSIONS],
		    const sqlite3_int64 instead[STORE_DIMENSIONS], enum store_verdict verdict,
		    const struct store_cell *sums, struct err *why)
{
	int r = 0;

	if (store->cell_count + STORE_DIMENSIONS > CELLS_MAX)
		r = store_cells_write(store, why);
	if (!store->cells)
		store->cells = mem_new_array(CELLS, sizeof(*store->cells));
	for (int i = 0; i < STORE_DIMENSIONS && r == 0; i++) {
		struct store_cell *cell =
			cell_at(store, (sqlite3_int64[]){ i, keys[i], keys[i] ? 0 : instead[i],
							  (sqlite3_int64)verdict,
							  sums->first / STORE_DAY_US });

		if (cell->times == 0 || sums->first < cell->first)
			cell->first = sums->first;
		if (sums->last > cell->last)
			cell->last = sums->last;
		cell->times += sums->times;
		cell->up += sums->up;
		cell->down += sums->down;
	}
	return r;
}
