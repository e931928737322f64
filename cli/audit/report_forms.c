#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/report_forms.h"
#include "cli/audit/selection.h"

static void print_range(const struct report_sheet *sheet)
{
	const struct selection *selection = sheet->selection;
	char utc[2][SELECTION_TIME_MAX], local[2][SELECTION_TIME_MAX];

	if (selection->run[0]) {
		auto_free char *run = text_visible_dup(selection->run);

		(void)fprintf(sheet->out, "by %s, run %s", sheet->by, run);
	} else {
		(void)fprintf(sheet->out, "by %s", sheet->by);
	}
	if (selection->since_us > 0)
		(void)fprintf(sheet->out,
			      ", from %s to %s\n  (%s to %s in local time, which is used below)\n",
			      selection_utc(selection->since_us, utc[0]),
			      selection_utc(selection->now_us, utc[1]),
			      selection_local(selection->since_us, local[0]),
			      selection_local(selection->now_us, local[1]));
	else
		(void)fprintf(sheet->out, ", until %s\n  (%s in local time, which is used below)\n",
			      selection_utc(selection->now_us, utc[1]),
			      selection_local(selection->now_us, local[1]));
}

void report_forms_text(const struct report_sheet *sheet)
{
	print_range(sheet);
	(void)fprintf(sheet->out, "%9s %9s %10s %9s %11s %10s %10s  %-25s  %s\n", "allowed",
		      "denied", "unanswered", "failed", "connections", "up", "down", "last",
		      sheet->by);
	for (struct report_row *const *at = sheet->rows; *at; at++) {
		const struct report_row *row = *at;
		char up[32], down[32], last[SELECTION_TIME_MAX];

		text_bytes(up, sizeof(up), row->bytes_up);
		text_bytes(down, sizeof(down), row->bytes_down);
		(void)fprintf(sheet->out,
			      "%9" PRIu64 " %9" PRIu64 " %10" PRIu64 " %9" PRIu64 " %11" PRIu64
			      " %10s %10s  %-25s  %s\n",
			      row->allowed, row->denied, row->unanswered, row->failed,
			      row->connections, up, down, selection_local(row->last_us, last),
			      row->key);
	}
	if (!sheet->rows[0])
		(void)fprintf(sheet->out, "no decision was recorded\n");
}

/* RFC 4180. A cell beginning with = + - @, a tab or a carriage return is a formula in spreadsheet
 * programs. */
void report_forms_cell(FILE *out, const char *text)
{
	(void)fputs(strchr("=+-@\t\r", text[0]) && text[0] ? "\"'" : "\"", out);
	for (const char *c = text; *c; c++) {
		if (*c == '"')
			(void)fputc('"', out);
		(void)fputc(*c, out);
	}
	(void)fputc('"', out);
}

void report_forms_csv(const struct report_sheet *sheet)
{
	(void)fprintf(
		sheet->out,
		"%s,allowed,denied,unanswered,failed,connections,bytes_up,bytes_down,first_utc,"
		"last_utc,first_local,last_local\r\n",
		sheet->by);
	for (struct report_row *const *at = sheet->rows; *at; at++) {
		const struct report_row *row = *at;
		char time[SELECTION_TIME_MAX];

		report_forms_cell(sheet->out, row->key);
		(void)fprintf(sheet->out,
			      ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			      ",%" PRIu64 ",%" PRIu64,
			      row->allowed, row->denied, row->unanswered, row->failed,
			      row->connections, row->bytes_up, row->bytes_down);
		(void)fprintf(sheet->out, ",%s", selection_utc(row->first_us, time));
		(void)fprintf(sheet->out, ",%s", selection_utc(row->last_us, time));
		(void)fprintf(sheet->out, ",%s", selection_local(row->first_us, time));
		(void)fprintf(sheet->out, ",%s\r\n", selection_local(row->last_us, time));
	}
}

static json_t *row_json(const struct report_row *row)
{
	char utc[2][SELECTION_TIME_MAX], local[2][SELECTION_TIME_MAX];

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s}", "key",
			 row->key, "allowed", (json_int_t)row->allowed, "denied",
			 (json_int_t)row->denied, "unanswered", (json_int_t)row->unanswered,
			 "failed", (json_int_t)row->failed, "connections",
			 (json_int_t)row->connections, "bytes_up", (json_int_t)row->bytes_up,
			 "bytes_down", (json_int_t)row->bytes_down, "first_utc",
			 selection_utc(row->first_us, utc[0]), "last_utc",
			 selection_utc(row->last_us, utc[1]), "first_local",
			 selection_local(row->first_us, local[0]), "last_local",
			 selection_local(row->last_us, local[1]));
}

void report_forms_json(const struct report_sheet *sheet)
{
	const struct selection *selection = sheet->selection;
	char since[SELECTION_TIME_MAX] = "", until[SELECTION_TIME_MAX];
	auto_free char *run = text_visible_dup(selection->run);
	json_t *list = json_array();

	for (struct report_row *const *row = sheet->rows; *row; row++)
		(void)json_array_append_new(list, row_json(*row));
	if (selection->since_us > 0)
		(void)selection_utc(selection->since_us, since);
	json_t *object =
		json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "by", sheet->by, "run", run,
			  "since_utc", since, "until_utc", selection_utc(selection->now_us, until),
			  "records", (json_int_t)selection->records, "malformed",
			  (json_int_t)selection->skipped, "rows", list);

	(void)json_dumpf(object, sheet->out, JSON_INDENT(2)); /* @out is memory */
	(void)fputc('\n', sheet->out);
	json_decref(object);
}
