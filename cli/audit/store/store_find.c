/* Searches: each text of a filter is compared once with every different text of the log, and the
 * rows are then compared by number. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/audit/store/store_impl.h"
#include "gateway/gateway_audit.h"

#define TEXTS(where) "(SELECT id FROM texts WHERE " where ")"
/* ?N ends the text, after the character @mark. */
#define ENDS(text, n, mark)                                                                        \
	"(" text "=" n " OR substr(" text ",-length(" n ")-1)='" mark "'||" n ")"
#define WORD "substr(text,1,instr(text||' ',' ')-1)"

enum {
	FIND_TEXTS = 9,
	FIND_SINCE = 10,
	FIND_UNTIL,
	FIND_SEQ,
	FIND_AFTER,
	FIND_BEFORE,
	FIND_VERDICT,
	FIND_LIMIT
};

/* In the order of find_text(). */
static const char *const conditions[FIND_TEXTS] = {
	"host IN " TEXTS("text GLOB lower(?1)"),
	"host IN " TEXTS(ENDS("text", "lower(?2)", ".")),
	"rule IN " TEXTS("instr(text,?3)>0"),
	"by IN " TEXTS("instr(text,?4)>0"),
	"(program IN " TEXTS(ENDS("text", "?5", "/")) " OR command IN " TEXTS(
		ENDS(WORD, "?5", "/")) ")",
	"session=" TEXTS("text=?6"),
	"run=" TEXTS("text=?7"),
	"run IN (SELECT run FROM runs WHERE user=" TEXTS("text=?8") ")",
	"event=" TEXTS("text=?9"),
};

static const char *find_text(const struct store_filter *filter, size_t i)
{
	const char *const texts[FIND_TEXTS] = {
		filter->host,    filter->domain,
		filter->rule,    filter->person,
		filter->program, filter->session,
		filter->run,     filter->user[0] ? filter->user : NULL,
		filter->event,
	};

	return texts[i];
}

static char *find_where(const struct store_filter *filter)
{
	char *where = mem_strdup("1");

	for (size_t i = 0; i < FIND_TEXTS; i++) {
		if (find_text(filter, i))
			mem_append(&where, " AND %s", conditions[i]);
	}
	if (filter->verdict != STORE_NO_VERDICT)
		mem_append(&where, " AND verdict=?%d", FIND_VERDICT);
	if (filter->seq > 0)
		mem_append(&where, " AND seq=?%d", FIND_SEQ);
	if (filter->after > 0)
		mem_append(&where, " AND at>=?%d", FIND_AFTER);
	if (filter->before > 0)
		mem_append(&where, " AND at<?%d", FIND_BEFORE);
	if (filter->since_us > 0)
		mem_append(&where, " AND +time>=?%d AND at>=" STORE_FIRST_SINCE("?%d"), FIND_SINCE,
			   FIND_SINCE);
	if (filter->until_us > 0)
		mem_append(&where, " AND +time<?%d", FIND_UNTIL);
	return where;
}

#define TEXT_OF(column) "(SELECT text FROM texts WHERE id=" column ")"

static const char columns[] =
	"at,len,seq,time,verdict,times,up,down,port,exec," TEXT_OF("session") "," TEXT_OF("run") "," TEXT_OF("event") "," TEXT_OF("command") "," TEXT_OF("kind") "," TEXT_OF(
		"action") "," TEXT_OF("reason") "," TEXT_OF("by") "," TEXT_OF("way") "," TEXT_OF("h"
												 "o"
												 "s"
												 "t") "," TEXT_OF("protocol") "," TEXT_OF("rule") "," TEXT_OF("program");

/* Rows are read in the order of the file, from its end if there is a limit: that sorts nothing, and
 * ends when there are enough. */
static char *find_sql(const struct store_filter *filter)
{
	auto_free char *where = find_where(filter);

	if (filter->limit == 0)
		return mem_printf("SELECT %s FROM records WHERE %s ORDER BY at", columns, where);
	return mem_printf(
		"SELECT %s,count(*) OVER () FROM (SELECT * FROM records WHERE %s ORDER BY "
		"at DESC LIMIT ?%d+1) ORDER BY at",
		columns, where, FIND_LIMIT);
}

static void find_bind(sqlite3_stmt *statement, const struct store_filter *filter)
{
	const struct {
		int index;
		sqlite3_int64 value;
	} numbers[] = {
		{ FIND_SINCE, filter->since_us },
		{ FIND_UNTIL, filter->until_us },
		{ FIND_SEQ, (sqlite3_int64)filter->seq },
		{ FIND_AFTER, filter->after },
		{ FIND_BEFORE, filter->before },
		{ FIND_VERDICT, (sqlite3_int64)filter->verdict },
		{ FIND_LIMIT, (sqlite3_int64)filter->limit },
	};

	/* An index that the statement does not have is refused, and needs no value. */
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		(void)sqlite3_bind_int64(statement, numbers[i].index, numbers[i].value);
	for (size_t i = 0; i < FIND_TEXTS; i++) {
		const char *text = find_text(filter, i);

		if (text)
			(void)sqlite3_bind_text(statement, (int)i + 1, text, -1, SQLITE_STATIC);
	}
}

static void find_row(sqlite3_stmt *row, struct gateway_logged *ret)
{
	const char **const texts[] = {
		&ret->session,  &ret->run,    &ret->event,   &ret->command, &ret->kind,
		&ret->action,   &ret->reason, &ret->by,      &ret->way,     &ret->host,
		&ret->protocol, &ret->rule,   &ret->program,
	};

	*ret = (struct gateway_logged){
		.at = sqlite3_column_int64(row, 0),
		.len = (size_t)sqlite3_column_int64(row, 1),
		.seq = (uint64_t)sqlite3_column_int64(row, 2),
		.time_us = sqlite3_column_int64(row, 3),
		.times = (uint64_t)sqlite3_column_int64(row, 5),
		.bytes_up = (uint64_t)sqlite3_column_int64(row, 6),
		.bytes_down = (uint64_t)sqlite3_column_int64(row, 7),
		.port = (uint64_t)sqlite3_column_int64(row, 8),
		.exec = (uint64_t)sqlite3_column_int64(row, 9),
		.cwd = "",
		.resolved = "",
		.user = "",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const unsigned char *text = sqlite3_column_text(row, 10 + (int)i);

		*texts[i] = text ? (const char *)text : "";
	}
}

int store_find(struct store *store, const struct store_filter *filter, store_each_fn each,
	       void *arg, bool *ret_has_more, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	auto_free char *sql = find_sql(filter);
	int r = store_prepare(store, sql, &statement, why), result = SQLITE_DONE;
	bool is_first = true;

	if (r < 0)
		return r;
	find_bind(statement, filter);
	while (r == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
		struct gateway_logged record;
		bool has_more = filter->limit > 0 &&
				(uint64_t)sqlite3_column_int64(statement, 23) > filter->limit;

		if (ret_has_more)
			*ret_has_more = has_more;
		if (!has_more || !is_first) {
			find_row(statement, &record);
			r = each(&record, (enum store_verdict)sqlite3_column_int64(statement, 4),
				 arg);
		}
		is_first = false;
	}
	return r != 0 || result == SQLITE_DONE ? r : store_fail(store, result, why);
}

int store_find_line(struct store *store, const struct gateway_logged *record, char **ret_line,
		    struct err *why)
{
	auto_free char *line = mem_new(record->len + 1), *parsed = NULL;
	struct gateway_logged there;
	size_t held = 0;

	while (held < record->len) {
		ssize_t n =
			pread(store->fd, line + held, record->len - held, record->at + (off_t)held);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(why, errno, "cannot read %s", store->log);
		if (n == 0)
			break;
		held += (size_t)n;
	}
	parsed = mem_strndup(line, record->len);
	if (gateway_audit_parse(parsed, strlen(parsed), &there) < 0 || there.seq != record->seq ||
	    there.time_us != record->time_us || strcmp(there.run, record->run) != 0 ||
	    strcmp(there.action, record->action) != 0 || strcmp(there.rule, record->rule) != 0)
		return err_set(why, -ESTALE,
			       "record %llu of %s was changed after it was first read; check the "
			       "log with `sallyport audit verify`",
			       (unsigned long long)record->seq, store->log);
	/* Records are ASCII. What was edited in could control a terminal. */
	for (const char *c = line; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
			return err_set(why, -ESTALE,
				       "record %llu of %s has bytes that are not ASCII, so it was "
				       "edited; check the log with `sallyport audit verify`",
				       (unsigned long long)record->seq, store->log);
	*ret_line = take(line);
	return 0;
}
