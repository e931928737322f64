/* store: the database and what its parts share. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/crypto/digest.h"
#include "cli/audit/store/store.h"

#define STORE_TEXTS_CACHED 65536 /* a power of two */

/* A text whose number is known. */
struct store_text {
	char *text; /* owned; NULL: free */
	sqlite3_int64 id;
	int64_t first_us; /* of a host: its first decision that the database knows; 0: not known */
};

enum store_statement {
	STORE_FIND_TEXT,
	STORE_ADD_TEXT,
	STORE_ADD_RECORD,
	STORE_ADD_RUN,
	STORE_ADD_EXEC,
	STORE_GET_EXEC,
	STORE_ADD_HOST,
	STORE_ADD_BAD,
	STORE_ADD_SUM,
	STORE_STATEMENTS
};

/* Where the first record is whose time is @time or later. Records of several runs are not in the
 * order of their times, but nearly. */
#define STORE_FIRST_SINCE(time)                                                                    \
	"(SELECT min(at) FROM records INDEXED BY by_time WHERE time>=" time ")"

struct store {
	struct store_config config;
	char *log;
	char *dir, *path;   /* of the database; NULL: in memory */
	ino_t inode;        /* of its file */
	int fd;             /* the log */
	off_t end;          /* of what was read of it */
	bool is_unreadable; /* the log, and not the database, is in error */
	sqlite3 *db;
	sqlite3_stmt *statements[STORE_STATEMENTS];
	struct store_text *texts; /* STORE_TEXTS_CACHED, by hash */
	struct store_cell *cells; /* sums that are not written yet */
	size_t cell_count;
	/* The command of the exec of the last record. */
	sqlite3_int64 exec_run; /* the number of its run */
	uint64_t exec;
	sqlite3_int64 exec_command;
};

/* -errno for a result of SQLite, and its text: -EBADMSG for a damaged database. */
int store_fail(struct store *store, int result, struct err *why);
int store_exec(struct store *store, const char *sql, struct err *why);
/* Prepares @sql, and binds nothing. */
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *why);
static inline void store_finalize_local(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement); /* repeats the error of the last step */
}
#define auto_statement __attribute__((cleanup(store_finalize_local)))

/* The number of a text, which is added; 0 for "". */
int store_texts_id(struct store *store, const char *text, struct store_text **ret, struct err *why);
void store_texts_forget(struct store *store);

/* A row of the table of sums: its key, and what is summed. */
struct store_cell {
	sqlite3_int64 key[5]; /* dimension, key, instead, verdict, day */
	sqlite3_int64 times, up, down, first, last;
};
/* Adds @sums, of one record, to the sums of each of its keys; store_cells_write() writes them. */
#define STORE_DAY_US INT64_C(86400000000)
int store_cells_add(struct store *store, const sqlite3_int64 keys[STORE_DIMENSIONS],
		    const sqlite3_int64 instead[STORE_DIMENSIONS], enum store_verdict verdict,
		    const struct store_cell *sums, struct err *why);
int store_cells_write(struct store *store, struct err *why);
void store_cells_forget(struct store *store);

/* Where the log was read to. */
struct store_place {
	int64_t device, inode, at, line, last_at;
	char digest[DIGEST_TEXT_MAX]; /* of the last line */
};
int store_place_read(struct store *store, struct store_place *ret, struct err *why);
int store_place_write(struct store *store, const struct store_place *place, struct err *why);
/* Of what is between @from and @to of the log @fd. */
int store_place_digest(int fd, off_t from, off_t to, char ret[DIGEST_TEXT_MAX]);
/* Is it the same file, with the same line at its end? @info: of @fd. */
struct stat;
bool store_place_is_same(const struct store_place *place, int fd, const struct stat *info);
