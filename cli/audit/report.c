#include "cli/audit/report_forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/history.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway_audit.h"

#define SINCE_DEFAULT_MS (7 * 24 * 3600 * INT64_C(1000)) /* 7d */
#define ROWS_MAX         65536
#define KEY_MAX          512
#define REST             "(others, not counted one by one)"

/* In the order of the words of --by in options.def. */
enum by { BY_HOST, BY_PERSON, BY_RUN, BY_PROGRAM, BY_RULE };

/* A connection's reason says how it ended, and not what allowed it. */
static void key_of_none(enum by by, const struct gateway_logged *record, char *out)
{
	const char *what = by == BY_PERSON    ? "no person"
			   : by == BY_RULE    ? "no rule"
			   : by == BY_PROGRAM ? "unknown"
					      : "none";
	bool has_reason =
		(by == BY_PERSON || by == BY_RULE) && strcmp(record->event, "closed") != 0;

	(void)snprintf(out, KEY_MAX, "(%s%s%s)", what, has_reason ? ": " : "",
		       has_reason ? record->reason : "");
}

static void key_of(enum by by, struct tally *execs, const struct gateway_logged *record, char *out)
{
	const char *key = by == BY_HOST     ? record->host
			  : by == BY_PERSON ? record->by
			  : by == BY_RUN    ? record->run
			  : by == BY_RULE   ? record->rule
					    : "";

	if (by == BY_PROGRAM) {
		const char *command = history_command(execs, record);
		size_t len = strcspn(command, " ");

		(void)snprintf(out, KEY_MAX, "%.*s", (int)len, command);
	} else {
		(void)text_visible(out, KEY_MAX, key, strlen(key));
	}
	if (out[0] == '\0')
		key_of_none(by, record, out);
}

struct report {
	struct selection selection;
	enum by by;
	struct tally rows, execs;
	struct report_row rest;
	bool has_rest;
};

static struct report_row *row_of(struct report *report, const struct gateway_logged *record)
{
	char key[KEY_MAX];

	key_of(report->by, &report->execs, record, key);
	struct report_row *row = tally_at(&report->rows, key);

	report->has_rest |= !row;
	return row ? row : &report->rest;
}

/* A person or rule has no connection of its own where the record of the end does not name it. */
static void on_record(const struct gateway_logged *record, bool is_selected, void *arg)
{
	struct report *report = arg;
	bool is_closed = strcmp(record->event, "closed") == 0;

	history_command_note(&report->execs, record);
	if (!is_selected || record->kind[0] || history_is_inward(record) ||
	    (!is_closed && strcmp(record->event, "decision") != 0) ||
	    (record->host[0] == '\0' && report->by == BY_HOST))
		return;
	struct report_row *row = row_of(report, record);
	bool is_allowed = strcmp(record->action, "allow") == 0;

	if (row->first_us == 0 || record->time_us < row->first_us)
		row->first_us = record->time_us;
	if (record->time_us > row->last_us)
		row->last_us = record->time_us;
	if (is_closed) {
		row->connections += record->times;
		row->bytes_up += record->bytes_up;
		row->bytes_down += record->bytes_down;
	} else if (is_allowed) {
		row->allowed += record->times;
	} else if (history_is_unanswered(history_reason(record->reason))) {
		row->unanswered += record->times;
	} else {
		row->denied += record->times;
	}
}

/* Busiest first; rows of equal weight stay in the order of their keys. */
static int compare(const void *left, const void *right)
{
	const struct report_row *a = *(const struct report_row *const *)left;
	const struct report_row *b = *(const struct report_row *const *)right;
	uint64_t of_a = a->allowed + a->denied + a->unanswered;
	uint64_t of_b = b->allowed + b->denied + b->unanswered;

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->key, b->key);
}

static int report_print(struct report *report, const struct options *options)
{
	auto_free struct report_row **rows = (struct report_row **)tally_rows(&report->rows);
	size_t count = mem_count_list(rows);

	for (size_t i = 0; i < count; i++)
		rows[i]->key = tally_key(rows[i]);
	qsort(rows, count, sizeof(void *), compare);
	if (report->has_rest) {
		report->rest.key = REST;
		rows = mem_grow(rows, count + 2, sizeof(void *));
		rows[count] = &report->rest;
		rows[count + 1] = NULL;
	}
	const struct report_sheet sheet = {
		.selection = &report->selection,
		.by = options_get(options, OPT_REPORT_BY) ? options_get(options, OPT_REPORT_BY)
							  : "host",
		.rows = rows,
	};
	bool is_written = options_has(options, OPT_JSON)  ? report_forms_json(&sheet)
			  : options_has(options, OPT_CSV) ? report_forms_csv(&sheet)
							  : report_forms_text(&sheet);

	if (!is_written || fflush(stdout) != 0)
		return cli_fail(CLI_ERROR, "cannot write the report");
	return report->selection.skipped > 0 ? CLI_DENIED : CLI_OK;
}

int cli_audit_report(const struct options *options)
{
	struct report report = { .by = (enum by)options_choice(options, OPT_REPORT_BY, BY_HOST) };
	int status;

	if (options_has(options, OPT_JSON) && options_has(options, OPT_CSV))
		return options_wrong(options->command, "give --csv or --json, not both");
	tally_init(&report.rows, sizeof(struct report_row), ROWS_MAX);
	tally_init(&report.execs, HISTORY_COMMAND_MAX, HISTORY_EXECS_MAX);
	status = selection_take(&report.selection, options, SINCE_DEFAULT_MS);
	if (status == CLI_OK)
		status = selection_read(&report.selection, on_record, &report);
	if (status == CLI_OK)
		status = report_print(&report, options);
	tally_done(&report.rows, NULL);
	tally_done(&report.execs, NULL);
	selection_done(&report.selection);
	return status;
}
