/* Sums of many records. */
#include <string.h>

#include "base/mem.h"
#include "cli/audit/store/store_impl.h"

#define SUMS "sum(times),sum(up),sum(down)"
#define KEYS                                                                                       \
	"(SELECT text FROM texts WHERE id=key),(SELECT text FROM texts WHERE id=instead),verdict"

/* The columns of a record, in the order of enum store_dimension. */
static const struct {
	const char *key, *instead; /* @instead: without a key */
} columns[STORE_DIMENSIONS] = {
	[STORE_HOST] = { "host", "0" },
	[STORE_PERSON] = { "by", "iif(verdict<>0,reason,0)" },
	[STORE_RUN] = { "run", "0" },
	[STORE_PROGRAM] = { "program", "command" },
	/* The end of a connection has no reason, and is counted with what allowed it. */
	[STORE_RULE] = { "rule", "iif(verdict>1,reason,0)" },
};
_Static_assert(STORE_NO_VERDICT == 0 && STORE_ALLOW == 1, "the verdicts above");

/* What is summed by day; and of records, what is not a whole day or of one run. */
static const char sql_days[] = "SELECT " KEYS "," SUMS ",min(first),max(last) FROM sums WHERE "
			       "dimension=?1 AND day>=?2 GROUP BY key,instead,verdict";

/* The same by day: the sums of any other dimension have every record once. */
static const char sql_by_day[] = "SELECT date(day*86400,'unixepoch'),'',verdict," SUMS
				 ",min(first),max(last) FROM sums WHERE dimension=?1 AND day>=?2 "
				 "GROUP BY day,verdict";

static char *sql_records(const struct store_sums *what)
{
	const char *chosen = what->run ? "run=(SELECT id FROM texts WHERE text=?3) AND +time>=?1"
				       : "time>=?1 AND time<?2";

	if (what->dimension == STORE_DAY)
		return mem_printf("SELECT date(time/1000000,'unixepoch') AS key,'',verdict," SUMS
				  ",min(time),max(time) FROM records WHERE is_summed AND %s GROUP "
				  "BY key,verdict",
				  chosen);
	const char *key = columns[what->dimension].key;

	return mem_printf("SELECT " KEYS "," SUMS ",min(time),max(time) FROM (SELECT %s AS key,"
			  "iif(%s=0,%s,0) AS instead,verdict,times,up,down,time FROM records WHERE "
			  "is_summed AND %s) GROUP BY key,instead,verdict",
			  key, key, columns[what->dimension].instead, chosen);
}

static int sum_rows(struct store *store, sqlite3_stmt *rows, store_sum_fn each, void *arg,
		    struct err *why)
{
	int result;

	while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
		const unsigned char *key = sqlite3_column_text(rows, 0);
		const unsigned char *instead = sqlite3_column_text(rows, 1);
		const struct store_sum sum = {
			.key = key ? (const char *)key : "",
			.instead = instead ? (const char *)instead : "",
			.verdict = (enum store_verdict)sqlite3_column_int64(rows, 2),
			.times = (uint64_t)sqlite3_column_int64(rows, 3),
			.bytes_up = (uint64_t)sqlite3_column_int64(rows, 4),
			.bytes_down = (uint64_t)sqlite3_column_int64(rows, 5),
			.first_us = sqlite3_column_int64(rows, 6),
			.last_us = sqlite3_column_int64(rows, 7),
		};

		each(&sum, arg);
	}
	return result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

static int sum_days(struct store *store, const struct store_sums *what, int64_t day,
		    store_sum_fn each, void *arg, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	bool is_by_day = what->dimension == STORE_DAY;
	int r = store_prepare(store, is_by_day ? sql_by_day : sql_days, &statement, why);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, is_by_day ? STORE_RULE : what->dimension);
	(void)sqlite3_bind_int64(statement, 2, day);
	return sum_rows(store, statement, each, arg, why);
}

/* Records of a run, or those before @day. */
static int sum_records(struct store *store, const struct store_sums *what, int64_t day,
		       store_sum_fn each, void *arg, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	auto_free char *sql = sql_records(what);
	int r = store_prepare(store, sql, &statement, why);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, what->since_us);
	(void)sqlite3_bind_int64(statement, 2, day * STORE_DAY_US); /* with a run it has none */
	if (what->run)
		(void)sqlite3_bind_text(statement, 3, what->run, -1, SQLITE_STATIC);
	return sum_rows(store, statement, each, arg, why);
}

int store_sum(struct store *store, const struct store_sums *what, store_sum_fn each, void *arg,
	      struct err *why)
{
	int64_t day = (what->since_us + STORE_DAY_US - 1) / STORE_DAY_US; /* the first whole one */
	int r = 0;

	if (what->run || what->since_us % STORE_DAY_US != 0)
		r = sum_records(store, what, day, each, arg, why);
	return r < 0 || what->run ? r : sum_days(store, what, day, each, arg, why);
}

int store_sum_totals(struct store *store, int64_t since_us, struct store_totals *ret,
		     struct err *why)
{
	static const char sql[] = "SELECT iif(?1>0,(SELECT count(*) FROM records WHERE time>=?1),"
				  "(SELECT count(*) FROM records)),"
				  "(SELECT count(*) FROM runs WHERE time>=?1),"
				  "(SELECT count(*) FROM execs WHERE time>=?1),"
				  "(SELECT count(*) FROM hosts WHERE first>=?1)";
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, sql, &statement, why);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, since_us);
	int result = sqlite3_step(statement);

	if (result != SQLITE_ROW)
		return store_fail(store, result, why);
	ret->records = (uint64_t)sqlite3_column_int64(statement, 0);
	ret->runs = (uint64_t)sqlite3_column_int64(statement, 1);
	ret->execs = (uint64_t)sqlite3_column_int64(statement, 2);
	ret->new_hosts = (uint64_t)sqlite3_column_int64(statement, 3);
	return 0;
}

int store_sum_new_hosts(struct store *store, int64_t since_us, size_t limit,
			void (*each)(const char *host, void *arg), void *arg, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store,
			      "SELECT text FROM hosts JOIN texts ON id=host WHERE first>=?1 ORDER "
			      "BY first DESC LIMIT ?2",
			      &statement, why),
	    result;

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, since_us);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)limit);
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		const unsigned char *text = sqlite3_column_text(statement, 0);

		each(text ? (const char *)text : "", arg);
	}
	return result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}
