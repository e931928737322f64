/* The database is one file for each log, in the folder of the segments, which no command sees. It
 * is in WAL mode, so a question that is asked while another one adds records waits for neither. */
#include "cli/audit/store/store_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "cli/cli.h"
#include "gateway/gateway_audit.h"

#define VERSION     3
#define VERSION_SQL "3"
#define BUSY_MS     60000 /* another process adds records; a million take a few seconds */

static const char setup[] = "PRAGMA journal_mode=WAL;"
			    "PRAGMA synchronous=NORMAL;"
			    "PRAGMA trusted_schema=OFF;"
			    "PRAGMA temp_store=MEMORY;"
			    "PRAGMA cache_size=-65536;"
			    "PRAGMA mmap_size=1073741824;";

/* Texts are stored once, so a row is small, and a search compares each text once and then numbers.
 * Rows of records have the place of their lines; the rest of a record is read from the log. */
static const char schema[] =
	"CREATE TABLE log(device INTEGER, inode INTEGER, at INTEGER, line INTEGER,"
	" last_at INTEGER, digest TEXT);"
	"CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE records(at INTEGER PRIMARY KEY, len INTEGER, seq INTEGER, time INTEGER,"
	" event INTEGER, verdict INTEGER, host INTEGER, by INTEGER, times INTEGER, up INTEGER,"
	" down INTEGER, run INTEGER, rule INTEGER, program INTEGER, command INTEGER,"
	" session INTEGER, reason INTEGER, action INTEGER, kind INTEGER, way INTEGER,"
	" protocol INTEGER, port INTEGER, exec INTEGER, is_summed INTEGER);"
	"CREATE TABLE sums(dimension INTEGER, key INTEGER, instead INTEGER, verdict INTEGER,"
	" day INTEGER, times INTEGER, up INTEGER, down INTEGER, first INTEGER, last INTEGER,"
	" PRIMARY KEY(dimension, key, instead, verdict, day)) WITHOUT ROWID;"
	"CREATE INDEX by_time ON records(time);"
	"CREATE TABLE runs(run INTEGER PRIMARY KEY, user INTEGER, time INTEGER);"
	"CREATE TABLE execs(run INTEGER, exec INTEGER, command INTEGER, time INTEGER,"
	" PRIMARY KEY(run, exec))"
	" WITHOUT ROWID;"
	"CREATE TABLE hosts(host INTEGER PRIMARY KEY, first INTEGER);"
	"CREATE TABLE bad(line INTEGER PRIMARY KEY, words TEXT);"
	"PRAGMA user_version=" VERSION_SQL ";";

int store_fail(struct store *store, int result, struct err *why)
{
	int code = result & 0xff; /* without the extended part */
	const char *text = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(result);
	int r = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA ||
				code == SQLITE_ERROR || code == SQLITE_CONSTRAINT ||
				code == SQLITE_MISMATCH
			? -EBADMSG
		: code == SQLITE_BUSY || code == SQLITE_LOCKED ? -EBUSY
		: code == SQLITE_FULL                          ? -ENOSPC
		: code == SQLITE_NOMEM                         ? -ENOMEM
							       : -EIO;

	return err_set(why, r, "the index of the audit log: %s", text);
}

int store_exec(struct store *store, const char *sql, struct err *why)
{
	int result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? 0 : store_fail(store, result, why);
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *why)
{
	int result = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);

	return result == SQLITE_OK ? 0 : store_fail(store, result, why);
}

static void store_close(struct store *store)
{
	for (size_t i = 0; i < STORE_STATEMENTS; i++) {
		(void)sqlite3_finalize(store->statements[i]); /* repeats an earlier error */
		store->statements[i] = NULL;
	}
	store_texts_forget(store);
	store_cells_forget(store);
	(void)sqlite3_close(store->db); /* every statement is finalized */
	store->db = NULL;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	store_close(store);
	fd_close(store->fd);
	free(store->texts);
	free(store->path);
	free(store->dir);
	free(store->log);
	free(store);
}

/* A value of one row and column. */
static int store_number(struct store *store, const char *sql, int64_t *ret, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, sql, &statement, why);

	if (r < 0)
		return r;
	int result = sqlite3_step(statement);

	if (result != SQLITE_ROW)
		return store_fail(store, result, why);
	*ret = sqlite3_column_int64(statement, 0);
	return 0;
}

/* -EBADMSG: of another version. */
static int store_check(struct store *store, struct err *why)
{
	int64_t version = 0, tables = 0;
	int r = store_number(store, "PRAGMA user_version", &version, why);

	if (r == 0)
		r = store_number(store, "SELECT count(*) FROM sqlite_master", &tables, why);
	if (r < 0 || version == VERSION)
		return r;
	if (tables > 0)
		return err_set(why, -EBADMSG, "it is of another version");
	r = store_exec(store, "BEGIN IMMEDIATE", why);
	if (r == 0)
		r = store_number(store, "SELECT count(*) FROM sqlite_master", &tables, why);
	if (r == 0 && tables == 0) /* no other process was faster */
		r = store_exec(store, schema, why);
	return r == 0 ? store_exec(store, "COMMIT", why) : r;
}

/* SQLite makes the other two files with the mode of the first, and reads those that it finds. */
static int store_make_file(struct store *store, struct err *why)
{
	const char *path = store->path;
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	struct stat info;

	if (fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
	    (info.st_mode & 077) != 0)
		return err_set(why, -EPERM, "%s is not a file of your own with mode 0600", path);
	store->inode = info.st_ino;
	return 0;
}

static int store_check_dir(const char *dir, struct err *why)
{
	struct stat info;
	int r = cli_make_dirs(dir);

	if (r < 0)
		return err_errno(why, -r, "cannot make %s", dir);
	if (lstat(dir, &info) < 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
	    (info.st_mode & 022) != 0)
		return err_set(why, -EPERM, "%s must be a folder that only you can write", dir);
	return 0;
}

static int store_connect(struct store *store, struct err *why)
{
	int r = store->path ? store_check_dir(store->dir, why) : 0;

	if (r == 0 && store->path)
		r = store_make_file(store, why);
	if (r < 0)
		return r;
	int result = sqlite3_open_v2(store->path ? store->path : ":memory:", &store->db,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					     SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
				     NULL);

	if (result != SQLITE_OK)
		return store_fail(store, result, why);
	(void)sqlite3_busy_timeout(store->db, BUSY_MS); /* cannot fail on an open database */
	r = store_exec(store, setup, why);
	return r == 0 ? store_check(store, why) : r;
}

/* One process at a time makes and removes databases of the folder: SQLite does not wait for another
 * one that changes the mode of a new database. Where it cannot be locked, it is tried without. */
static int store_lock(const struct store *store)
{
	int fd = store->dir ? open(store->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		(void)replace_lock(fd, LOCK_EX, BUSY_MS);
	return fd;
}

/* Another process may have made it again already. */
static void store_remove(const struct store *store)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	struct stat info;

	if (lstat(store->path, &info) < 0 || info.st_ino != store->inode)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		auto_free char *name = mem_printf("%s%s", store->path, ends[i]);

		(void)unlink(name); /* what cannot be removed cannot be opened either */
	}
}

static int store_make(struct store *store, bool is_damaged, struct err *why)
{
	bool is_new;
	int lock = store_lock(store);

	if (is_damaged)
		store_remove(store);
	int r = store_connect(store, why);

	fd_close(lock);
	return r == 0 ? store_fill(store, &is_new, why) : r;
}

static void store_note(struct store *store, const struct err *why, const char *what)
{
	auto_free char *text = mem_printf("%s; %s", why->text, what);

	store->config.note(text);
}

/* A damaged database is made again; without one, everything is read into memory. */
static int store_begin(struct store *store, bool is_damaged, struct err *why)
{
	int r = store->path ? store_make(store, is_damaged, why) : -ENOENT;

	if (r == -EBADMSG) {
		store_note(store, why, "it is made again from the log");
		store_close(store);
		r = store_make(store, true, why);
	}
	if (r == 0 || store->is_unreadable)
		return r;
	if (store->path)
		store_note(store, why, "the log is read into memory instead, which takes longer");
	store_close(store);
	free(take(store->path));
	free(take(store->dir));
	return store_make(store, false, why);
}

int store_renew(struct store *store, struct err *why)
{
	store_close(store);
	return store_begin(store, true, why);
}

int store_open(struct store **ret, const struct store_config *config, struct err *why)
{
	if (access(config->log, R_OK) < 0) /* before a folder is made */
		return err_errno(why, errno, "cannot open %s", config->log);

	struct store *store = mem_new(sizeof(*store));

	/* Refused once SQLite is in use, and of no importance then: they save a few locks. */
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	store->config = *config;
	store->log = mem_strdup(config->log);
	store->fd = -1;
	store->texts = mem_new_array(STORE_TEXTS_CACHED, sizeof(*store->texts));
	if (config->dir) {
		char key[GATEWAY_AUDIT_KEY_MAX];

		gateway_audit_key(config->log, key);
		store->dir = mem_strdup(config->dir);
		store->path = mem_printf("%s/index.%s", config->dir, key);
	}
	int r = store_begin(store, false, why);

	if (r < 0) {
		store_free(store);
		return r;
	}
	*ret = store;
	return 0;
}

off_t store_end(const struct store *store)
{
	return store->end;
}

int store_bad(struct store *store, store_bad_fn each, void *arg, uint64_t *ret_count,
	      struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, "SELECT line, words FROM bad ORDER BY line", &statement, why);
	int result;

	*ret_count = 0;
	if (r < 0)
		return r;
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		const unsigned char *words = sqlite3_column_text(statement, 1);

		if (++*ret_count <= STORE_BAD_MAX)
			each((uint64_t)sqlite3_column_int64(statement, 0),
			     words ? (const char *)words : "", arg);
	}
	return result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

int store_last_run(struct store *store, char **ret_run, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(
		store, "SELECT text FROM runs JOIN texts ON id=run ORDER BY time DESC LIMIT 1",
		&statement, why);

	*ret_run = NULL;
	if (r < 0)
		return r;
	int result = sqlite3_step(statement);
	const unsigned char *text = result == SQLITE_ROW ? sqlite3_column_text(statement, 0) : NULL;

	if (text)
		*ret_run = mem_strdup((const char *)text);
	return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}
