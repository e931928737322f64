/* Adds the records of a log to its database, from where it was read last. A log that has shrunk,
 * was replaced, or does not have the same line there any more, is read again from its beginning. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/audit/store/store_impl.h"
#include "gateway/gateway_audit.h"

#define NUMBER_MAX (UINT64_C(1) << 40)

/* The columns of the table of records. */
enum column {
	COLUMN_AT,
	COLUMN_LEN,
	COLUMN_SEQ,
	COLUMN_TIME,
	COLUMN_EVENT,
	COLUMN_VERDICT,
	COLUMN_HOST,
	COLUMN_BY,
	COLUMN_TIMES,
	COLUMN_UP,
	COLUMN_DOWN,
	COLUMN_RUN,
	COLUMN_RULE,
	COLUMN_PROGRAM,
	COLUMN_COMMAND,
	COLUMN_SESSION,
	COLUMN_REASON,
	COLUMN_ACTION,
	COLUMN_KIND,
	COLUMN_WAY,
	COLUMN_PROTOCOL,
	COLUMN_PORT,
	COLUMN_EXEC,
	COLUMN_IS_SUMMED,
	COLUMNS,
	COLUMN_USER = COLUMNS, /* it is in the table of runs */
};

static const char *const sql[] = {
	[STORE_ADD_RECORD] = "INSERT INTO records VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,"
			     "?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24)",
	[STORE_ADD_RUN] = "INSERT OR IGNORE INTO runs VALUES(?1,?2,?3)",
	[STORE_ADD_EXEC] = "INSERT OR REPLACE INTO execs VALUES(?1,?2,?3,?4)",
	[STORE_GET_EXEC] = "SELECT command FROM execs WHERE run = ?1 AND exec = ?2",
	[STORE_ADD_HOST] =
		"INSERT INTO hosts VALUES(?1,?2) ON CONFLICT(host) DO UPDATE SET first = "
		"min(first, excluded.first)",
	[STORE_ADD_BAD] = "INSERT OR REPLACE INTO bad VALUES(?1,?2)",
};

struct fill {
	struct store *store;
	struct err *why;
	int r; /* of the first error */
};

static int fill_step(struct store *store, enum store_statement which, const sqlite3_int64 *values,
		     int count, sqlite3_int64 *ret_value, struct err *why)
{
	sqlite3_stmt **statement = &store->statements[which];
	int r = *statement ? 0 : store_prepare(store, sql[which], statement, why);

	if (r < 0)
		return r;
	for (int i = 0; i < count; i++)
		(void)sqlite3_bind_int64(*statement, i + 1, values[i]); /* the index is right */
	int result = sqlite3_step(*statement);

	if (ret_value)
		*ret_value = result == SQLITE_ROW ? sqlite3_column_int64(*statement, 0) : 0;
	(void)sqlite3_reset(*statement); /* repeats the error of the step */
	return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

/* The command that a record is about, or that of its exec. */
static int fill_command(struct store *store, const struct gateway_logged *record, sqlite3_int64 run,
			sqlite3_int64 *ret, struct err *why)
{
	const sqlite3_int64 exec = (sqlite3_int64)record->exec;
	bool is_start = strcmp(record->event, "exec_start") == 0;
	struct store_text *text;
	int r = record->command[0] ? store_texts_id(store, record->command, &text, why) : 0;

	*ret = record->command[0] && r == 0 ? text->id : 0;
	if (r < 0 || exec == 0 || (*ret && !is_start))
		return r;
	if (is_start) {
		store->exec_command = *ret;
		r = fill_step(store, STORE_ADD_EXEC,
			      (sqlite3_int64[]){ run, exec, *ret, record->time_us }, 4, NULL, why);
	} else if (store->exec != record->exec || store->exec_run != run) {
		r = fill_step(store, STORE_GET_EXEC, (sqlite3_int64[]){ run, exec }, 2,
			      &store->exec_command, why);
	}
	store->exec = record->exec;
	store->exec_run = run;
	*ret = store->exec_command;
	return r;
}

/* The time of the first decision about a host. */
static int fill_host(struct store *store, const struct gateway_logged *record,
		     struct store_text *host, struct err *why)
{
	if (host->first_us != 0 && host->first_us <= record->time_us)
		return 0;
	host->first_us = record->time_us;
	return fill_step(store, STORE_ADD_HOST, (sqlite3_int64[]){ host->id, record->time_us }, 2,
			 NULL, why);
}

/* The log may have been edited: no sum of such numbers overflows. */
static sqlite3_int64 fill_number(uint64_t value)
{
	return value > NUMBER_MAX ? (sqlite3_int64)NUMBER_MAX : (sqlite3_int64)value;
}

static bool fill_is_summed(const struct gateway_logged *record, enum store_verdict verdict)
{
	return record->kind[0] == '\0' && strcmp(record->way, "published") != 0 &&
	       (verdict != STORE_NO_VERDICT || strcmp(record->event, "closed") == 0);
}

/* The numbers of the record's texts. */
static int fill_texts(struct store *store, const struct gateway_logged *record,
		      sqlite3_int64 row[COLUMNS + 1], struct err *why)
{
	bool is_start = strcmp(record->event, "start") == 0; /* its host is the machine */
	const struct {
		const char *text;
		enum column column;
	} texts[] = {
		{ record->event, COLUMN_EVENT },     { is_start ? "" : record->host, COLUMN_HOST },
		{ record->by, COLUMN_BY },           { record->run, COLUMN_RUN },
		{ record->rule, COLUMN_RULE },       { record->program, COLUMN_PROGRAM },
		{ record->session, COLUMN_SESSION }, { record->reason, COLUMN_REASON },
		{ record->action, COLUMN_ACTION },   { record->kind, COLUMN_KIND },
		{ record->way, COLUMN_WAY },         { record->protocol, COLUMN_PROTOCOL },
		{ record->user, COLUMN_USER },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && r == 0; i++) {
		struct store_text *text;

		if (texts[i].text[0] == '\0')
			continue;
		r = store_texts_id(store, texts[i].text, &text, why);
		row[texts[i].column] = r == 0 ? text->id : 0;
		if (r == 0 && texts[i].column == COLUMN_HOST && row[COLUMN_VERDICT])
			r = fill_host(store, record, text, why);
	}
	if (r == 0)
		r = fill_command(store, record, row[COLUMN_RUN], &row[COLUMN_COMMAND], why);
	if (r == 0 && is_start)
		r = fill_step(
			store, STORE_ADD_RUN,
			(sqlite3_int64[]){ row[COLUMN_RUN], row[COLUMN_USER], record->time_us }, 3,
			NULL, why);
	return r;
}

static int fill_sums(struct store *store, const sqlite3_int64 row[COLUMNS], struct err *why)
{
	const sqlite3_int64 keys[STORE_DIMENSIONS] = {
		[STORE_HOST] = row[COLUMN_HOST], [STORE_PERSON] = row[COLUMN_BY],
		[STORE_RUN] = row[COLUMN_RUN],   [STORE_PROGRAM] = row[COLUMN_PROGRAM],
		[STORE_RULE] = row[COLUMN_RULE],
	};
	const enum store_verdict verdict = (enum store_verdict)row[COLUMN_VERDICT];
	const sqlite3_int64 reason = row[COLUMN_REASON];
	/* As in store_sum.c. */
	const sqlite3_int64 instead[STORE_DIMENSIONS] = {
		[STORE_PERSON] = verdict != STORE_NO_VERDICT ? reason : 0,
		[STORE_PROGRAM] = row[COLUMN_COMMAND],
		[STORE_RULE] = verdict != STORE_NO_VERDICT && verdict != STORE_ALLOW ? reason : 0,
	};
	const struct store_cell cell = {
		.times = row[COLUMN_TIMES],
		.up = row[COLUMN_UP],
		.down = row[COLUMN_DOWN],
		.first = row[COLUMN_TIME],
		.last = row[COLUMN_TIME],
	};

	return store_cells_add(store, keys, instead, verdict, &cell, why);
}

static int fill_record(struct store *store, const struct gateway_logged *record, struct err *why)
{
	enum store_verdict verdict = store->config.verdict(record);
	sqlite3_int64 row[COLUMNS + 1] = {
		[COLUMN_AT] = record->at,
		[COLUMN_LEN] = (sqlite3_int64)record->len,
		[COLUMN_SEQ] = (sqlite3_int64)record->seq,
		[COLUMN_TIME] = record->time_us,
		[COLUMN_VERDICT] = (sqlite3_int64)verdict,
		[COLUMN_TIMES] = fill_number(record->times),
		[COLUMN_UP] = fill_number(record->bytes_up),
		[COLUMN_DOWN] = fill_number(record->bytes_down),
		[COLUMN_PORT] = (sqlite3_int64)record->port,
		[COLUMN_EXEC] = (sqlite3_int64)record->exec,
		[COLUMN_IS_SUMMED] = fill_is_summed(record, verdict),
	};
	int r = fill_texts(store, record, row, why);

	if (r == 0 && row[COLUMN_IS_SUMMED] && row[COLUMN_TIMES] > 0)
		r = fill_sums(store, row, why);
	return r == 0 ? fill_step(store, STORE_ADD_RECORD, row, COLUMNS, NULL, why) : r;
}

static int fill_on_record(const struct gateway_logged *record, void *arg)
{
	struct fill *fill = arg;

	fill->r = fill_record(fill->store, record, fill->why);
	return fill->r;
}

static void fill_on_malformed(const char *path, uint64_t line, const char *words, void *arg)
{
	struct fill *fill = arg;
	struct store *store = fill->store;
	sqlite3_stmt **statement = &store->statements[STORE_ADD_BAD];

	(void)path; /* it is the log */
	if (fill->r == 0 && !*statement)
		fill->r = store_prepare(store, sql[STORE_ADD_BAD], statement, fill->why);
	if (fill->r < 0)
		return;
	(void)sqlite3_bind_int64(*statement, 1, (sqlite3_int64)line);
	(void)sqlite3_bind_text(*statement, 2, words, -1, SQLITE_STATIC);
	int result = sqlite3_step(*statement);

	(void)sqlite3_reset(*statement); /* repeats the error of the step */
	if (result != SQLITE_DONE)
		fill->r = store_fail(store, result, fill->why);
}

static const char forget[] =
	"DELETE FROM records; DELETE FROM texts; DELETE FROM runs;"
	"DELETE FROM execs; DELETE FROM hosts; DELETE FROM bad; DELETE FROM sums;";

/* Reads from @place on, and moves it. */
static int fill_from(struct store *store, struct store_place *place, struct err *why)
{
	struct fill fill = { .store = store, .why = why };
	const struct gateway_audit_calls calls = { fill_on_record, fill_on_malformed, &fill };
	struct gateway_audit_reading reading = {
		.path = store->log,
		.at = place->at,
		.line = (uint64_t)place->line,
		.is_growing = true,
	};
	int r = gateway_audit_read(&reading, &calls, why);

	store->is_unreadable = r < 0 && fill.r == 0;
	if (r == 0)
		r = fill.r;
	if (r == 0)
		r = store_cells_write(store, why);
	if (r < 0 || reading.at == place->at)
		return r;
	place->last_at = place->at;
	place->at = reading.at;
	place->line = (int64_t)reading.line;
	r = store_place_digest(store->fd, place->last_at, place->at, place->digest);
	if (r < 0)
		return err_errno(why, -r, "cannot read %s", store->log);
	return store_place_write(store, place, why);
}

static int fill_locked(struct store *store, const struct stat *info, bool *ret_is_new,
		       struct err *why)
{
	struct store_place place;
	int r = store_place_read(store, &place, why);

	if (r < 0)
		return r;
	*ret_is_new = !store_place_is_same(&place, store->fd, info);
	if (*ret_is_new) {
		place = (struct store_place){ .device = (int64_t)info->st_dev,
					      .inode = (int64_t)info->st_ino };
		store_texts_forget(store);
		r = store_exec(store, forget, why);
	}
	if (r == 0)
		r = fill_from(store, &place, why);
	store->end = place.at;
	return r;
}

static int fill_open(struct store *store, struct stat *ret, struct err *why)
{
	fd_close(store->fd);
	store->fd = open(store->log, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	store->is_unreadable = true;
	if (store->fd < 0)
		return err_errno(why, errno, "cannot open %s", store->log);
	if (fstat(store->fd, ret) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", store->log);
	if (!S_ISREG(ret->st_mode))
		return err_set(why, -EINVAL, "%s is not a regular file", store->log);
	store->is_unreadable = false;
	return 0;
}

int store_fill(struct store *store, bool *ret_is_new, struct err *why)
{
	struct stat info;
	int r = fill_open(store, &info, why);

	if (r == 0)
		r = store_exec(store, "BEGIN IMMEDIATE", why);
	if (r < 0)
		return r;
	r = fill_locked(store, &info, ret_is_new, why);
	store->exec = 0;
	if (r == 0)
		r = store_exec(store, "COMMIT", why);
	if (r < 0) {
		store_texts_forget(store);
		store_cells_forget(store);
		(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL); /* r is the error */
	}
	return r;
}
