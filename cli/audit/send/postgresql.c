/* psql sends each batch in one transaction. It is PostgreSQL's own client: it knows services, files
 * of passwords and certificates, and neither this program nor its package needs libpq, which Debian
 * has not for static programs. The records are its standard input and never a part of a statement.
 * A record's machine, log and number are its key, so a batch that is sent again adds nothing. */
#include "cli/audit/send/postgresql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/audit/send/event.h"
#include "cli/audit/send/spool.h"
#include "cli/audit/send/tool.h"

#define COLUMNS                                                                                    \
	"day, machine, log, seq, time, run, event, action, reason, protocol, host, port, record"
/* `json` and not `jsonb`: the line stays as it is, so that its hash can be checked. */
#define COLUMN_TYPES                                                                               \
	"day date NOT NULL, machine text NOT NULL, log text NOT NULL, seq bigint NOT NULL, "       \
	"time timestamptz NOT NULL, run text, event text NOT NULL, action text, "                  \
	"reason text, protocol text, host text, port integer, record json NOT NULL"
#define DAY_US INT64_C(86400000000)

static const char table[] = "CREATE TABLE IF NOT EXISTS sallyport_records (" COLUMN_TYPES
			    ", PRIMARY KEY (machine, log, seq, day)) PARTITION BY RANGE (day);";
/* A notice would hide the error after it. */
static const char quiet[] = "SET LOCAL client_min_messages = error";
static const char batch_table[] =
	"CREATE TEMPORARY TABLE sallyport_batch (" COLUMN_TYPES ") ON COMMIT DROP";
static const char copy[] = "COPY sallyport_batch (" COLUMNS ") FROM STDIN";
static const char insert[] = "INSERT INTO sallyport_records (" COLUMNS ") SELECT " COLUMNS
			     " FROM sallyport_batch ON CONFLICT DO NOTHING";

struct receiver {
	char *psql, *to;
};

/* "2026-01-31", or with @separator "20260131", of a day since 1970. */
static void postgresql_day(int64_t day, const char *separator, char out[32])
{
	time_t seconds = (time_t)(day * (DAY_US / 1000000));
	struct tm parts = { 0 };

	(void)gmtime_r(&seconds, &parts); /* it fails only for years that no record has */
	(void)snprintf(out, 32, "%04d%s%02d%s%02d", parts.tm_year + 1900, separator,
		       parts.tm_mon + 1, separator, parts.tm_mday);
}

static bool postgresql_is_first(const struct spool_batch *batch, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (batch->records[j].parsed.time_us / DAY_US ==
		    batch->records[i].parsed.time_us / DAY_US)
			return false;
	return true;
}

/* Makes what is missing of the table and its days, one process at a time; the lock's number is any
 * that others do not use. Where all is there, no right to make tables is needed. */
static char *postgresql_tables(const struct spool_batch *batch)
{
	char *text = mem_strdup("DO $$ BEGIN IF to_regclass('sallyport_records') IS NULL");
	auto_free char *days = mem_strdup("");

	for (size_t i = 0; i < batch->count; i++) {
		int64_t day = batch->records[i].parsed.time_us / DAY_US;
		char name[32], from[32], to[32];

		if (!postgresql_is_first(batch, i))
			continue;
		postgresql_day(day, "", name);
		postgresql_day(day, "-", from);
		postgresql_day(day + 1, "-", to);
		mem_append(&text, " OR to_regclass('sallyport_records_%s') IS NULL", name);
		mem_append(&days,
			   " CREATE TABLE IF NOT EXISTS sallyport_records_%s PARTITION OF "
			   "sallyport_records FOR VALUES FROM ('%s') TO ('%s');",
			   name, from, to);
	}
	mem_append(&text, " THEN PERFORM pg_advisory_xact_lock(7358621904158); %s%s END IF; END $$",
		   table, days);
	return text;
}

/* A value of COPY's text format; "": NULL. Records are printable ASCII. */
static void postgresql_put(FILE *out, const char *text)
{
	if (text[0] == '\0')
		(void)fputs("\\N", out);
	for (const char *c = text; *c; c++) {
		if (*c == '\\')
			(void)fputc('\\', out);
		(void)fputc(*c, out);
	}
}

static void postgresql_row(FILE *out, const struct spool_record *record, const char *machine,
			   const char *log)
{
	const struct gateway_logged *parsed = &record->parsed;
	const char *const texts[] = { parsed->run,    parsed->event,    parsed->action,
				      parsed->reason, parsed->protocol, parsed->host };
	char day[32];

	postgresql_day(parsed->time_us / DAY_US, "-", day);
	(void)fprintf(out, "%s\t", day);
	postgresql_put(out, machine);
	int64_t second = parsed->time_us % DAY_US / 1000000;

	(void)fprintf(out, "\t%s\t%" PRIu64 "\t%s %02d:%02d:%02d.%06d+00", log, parsed->seq, day,
		      (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60),
		      (int)(parsed->time_us % 1000000));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		(void)fputc('\t', out);
		postgresql_put(out, texts[i]);
	}
	if (parsed->port > 0)
		(void)fprintf(out, "\t%" PRIu64 "\t", parsed->port);
	else
		(void)fputs("\t\\N\t", out);
	postgresql_put(out, record->line);
	(void)fputc('\n', out);
}

/* Returned owned; NULL: it does not fit in memory. */
static char *postgresql_rows(const struct spool_batch *batch, size_t *ret_len)
{
	char machine[EVENT_MACHINE_MAX], *rows = NULL;
	FILE *out = open_memstream(&rows, ret_len);

	if (!out)
		return NULL;
	(void)event_machine(machine);
	for (size_t i = 0; i < batch->count; i++)
		postgresql_row(out, &batch->records[i], machine, batch->end.log);
	if (fclose(out) == 0)
		return rows;
	free(rows);
	return NULL;
}

static int postgresql_send(struct receiver *self, const struct spool_batch *batch,
			   uint64_t *ret_refused, struct err *why)
{
	size_t len = 0;
	auto_free char *tables = postgresql_tables(batch);
	auto_free char *rows = postgresql_rows(batch, &len), *said = NULL;
	const char *const argv[] = { "psql",
				     "--no-psqlrc",
				     "--no-password",
				     "--quiet",
				     "--single-transaction",
				     "--set=ON_ERROR_STOP=1",
				     "--dbname",
				     self->to,
				     "--command",
				     quiet,
				     "--command",
				     tables,
				     "--command",
				     batch_table,
				     "--command",
				     copy,
				     "--command",
				     insert,
				     NULL };

	*ret_refused = 0;
	if (!rows)
		return err_set(why, -ENOMEM, "the records do not fit in memory");
	return tool_run(self->psql, argv, rows, len, RECEIVER_MS, &said, why);
}

static void postgresql_close(struct receiver *self)
{
	if (!self)
		return;
	free(self->psql);
	free(self->to);
	free(self);
}

/* The words of a process are seen by every user of the machine. */
static bool postgresql_has_password(const char *to)
{
	const char *authority = strstr(to, "://") + 3;
	const char *at = memchr(authority, '@', strcspn(authority, "/?"));

	return (at && memchr(authority, ':', (size_t)(at - authority))) || strstr(to, "password=");
}

static int postgresql_open(const struct receiver_config *config, struct receiver **ret,
			   struct err *why)
{
	if (config->headers)
		return err_set(why, -EINVAL, "--headers is for otlp+http and otlp+https");
	if (postgresql_has_password(config->to))
		return err_set(why, -EINVAL,
			       "a password in an address is seen by every user of this machine; "
			       "put it into ~/.pgpass or PGPASSWORD");
	char *psql = tool_find("psql", why);

	if (!psql)
		return -ENOENT;
	*ret = mem_new(sizeof(**ret));
	**ret = (struct receiver){ psql, mem_strdup(config->to) };
	return 0;
}

const struct receiver_ops postgresql_ops = { "postgresql", postgresql_open, postgresql_send,
					     postgresql_close };
