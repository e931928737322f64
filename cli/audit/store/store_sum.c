/* Sums by host. SQLite would sort all rows to group them; hosts have small numbers, so they are
 * summed in an array. */
#include <string.h>

#include "base/mem.h"
#include "cli/audit/store/store_impl.h"

struct sums {
	struct store_total *totals; /* by the number of the host's text */
	size_t count;
};

static int sum_count(struct store *store, struct sums *ret, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, "SELECT max(host) FROM hosts", &statement, why);

	if (r < 0)
		return r;
	int result = sqlite3_step(statement);

	if (result != SQLITE_ROW)
		return store_fail(store, result, why);
	ret->count = (size_t)sqlite3_column_int64(statement, 0) + 1;
	ret->totals = mem_new_array(ret->count, sizeof(*ret->totals));
	return 0;
}

/* Hosts of a port that the run publishes are left out: the command did not reach them. */
static const char rows[] =
	"SELECT verdict, host, by<>0, times, up, down FROM records WHERE "
	"at>=" STORE_FIRST_SINCE(
		"?1") " AND +time>=?1 AND host<>0 AND way IS NOT (SELECT id FROM texts WHERE "
		      "text='published') AND event IN (SELECT id FROM texts WHERE text IN "
		      "('decision','closed')) AND kind=0";

static int sum_rows(struct store *store, int64_t since_us, struct sums *sums, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, rows, &statement, why), result;

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, since_us);
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		sqlite3_int64 verdict = sqlite3_column_int64(statement, 0);
		size_t host = (size_t)sqlite3_column_int64(statement, 1);
		uint64_t times = (uint64_t)sqlite3_column_int64(statement, 3);

		if (host >= sums->count || verdict < 0 || verdict > STORE_UNANSWERED)
			continue; /* a connection whose decision is missing */
		struct store_total *total = &sums->totals[host];

		if (verdict == STORE_NO_VERDICT)
			total->connections += times;
		else
			total->counts[verdict] += times;
		total->answered += sqlite3_column_int64(statement, 2) && verdict ? times : 0;
		total->bytes_up += (uint64_t)sqlite3_column_int64(statement, 4);
		total->bytes_down += (uint64_t)sqlite3_column_int64(statement, 5);
	}
	return result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

static int sum_tell(struct store *store, const struct sums *sums,
		    void (*each)(const struct store_total *total, void *arg), void *arg,
		    struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, "SELECT host, first, text FROM hosts JOIN texts ON id = host",
			      &statement, why),
	    result;

	if (r < 0)
		return r;
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		size_t host = (size_t)sqlite3_column_int64(statement, 0);
		struct store_total total =
			host < sums->count ? sums->totals[host] : (struct store_total){ 0 };
		const unsigned char *text = sqlite3_column_text(statement, 2);

		total.first_us = sqlite3_column_int64(statement, 1);
		total.host = text ? (const char *)text : "";
		each(&total, arg);
	}
	return result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

static int sum_log(struct store *store, int64_t since_us, struct store_totals *ret, struct err *why)
{
	static const char sql[] = "SELECT (SELECT count(*) FROM records WHERE time>=?1),"
				  "(SELECT count(*) FROM runs WHERE time>=?1),"
				  "(SELECT count(*) FROM execs WHERE time>=?1),"
				  "(SELECT min(time) FROM records)";
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
	ret->oldest_us = sqlite3_column_int64(statement, 3);
	return 0;
}

int store_sum(struct store *store, int64_t since_us, struct store_totals *ret,
	      void (*each)(const struct store_total *total, void *arg), void *arg, struct err *why)
{
	struct sums sums = { 0 };
	int r = sum_log(store, since_us, ret, why);

	if (r == 0)
		r = sum_count(store, &sums, why);
	if (r == 0)
		r = sum_rows(store, since_us, &sums, why);
	if (r == 0)
		r = sum_tell(store, &sums, each, arg, why);
	free(sums.totals);
	return r;
}
