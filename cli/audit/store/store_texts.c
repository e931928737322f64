/* Numbers of texts. A part of them is kept in memory, because most records repeat the texts of
 * those before. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cli/audit/store/store_impl.h"

static const char *const sql[] = {
	[STORE_FIND_TEXT] = "SELECT id FROM texts WHERE text = ?1",
	[STORE_ADD_TEXT] = "INSERT INTO texts(text) VALUES(?1)",
};

static struct store_text *texts_slot(struct store *store, const char *text, size_t len)
{
	uint64_t hash = len, word = 0;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, text, len);
	hash = hash_mix(hash, word);
	return &store->texts[hash & (STORE_TEXTS_CACHED - 1)];
}

/* Executes a statement with the one text; *@ret_row: it gave a row. */
static int texts_step(struct store *store, enum store_statement which, const char *text,
		      bool *ret_row, struct err *why)
{
	sqlite3_stmt **statement = &store->statements[which];
	int r = *statement ? 0 : store_prepare(store, sql[which], statement, why);

	if (r < 0)
		return r;
	(void)sqlite3_reset(*statement); /* repeats an earlier error */
	int result = sqlite3_bind_text(*statement, 1, text, -1, SQLITE_STATIC);

	if (result == SQLITE_OK)
		result = sqlite3_step(*statement);
	*ret_row = result == SQLITE_ROW;
	return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

int store_texts_id(struct store *store, const char *text, struct store_text **ret, struct err *why)
{
	struct store_text *slot = texts_slot(store, text, strlen(text));
	bool is_known;

	*ret = slot;
	if (slot->text && strcmp(slot->text, text) == 0)
		return 0;
	int r = texts_step(store, STORE_FIND_TEXT, text, &is_known, why);

	if (r == 0 && !is_known)
		r = texts_step(store, STORE_ADD_TEXT, text, &(bool){ false }, why);
	if (r < 0)
		return r;
	sqlite3_int64 id = is_known ? sqlite3_column_int64(store->statements[STORE_FIND_TEXT], 0)
				    : sqlite3_last_insert_rowid(store->db);

	(void)sqlite3_reset(store->statements[STORE_FIND_TEXT]); /* it may hold a lock */
	free(slot->text);
	*slot = (struct store_text){ .text = mem_strdup(text), .id = id };
	return 0;
}

void store_texts_forget(struct store *store)
{
	for (size_t i = 0; i < STORE_TEXTS_CACHED; i++) {
		free(store->texts[i].text);
		store->texts[i] = (struct store_text){ 0 };
	}
}
