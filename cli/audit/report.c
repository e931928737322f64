#include "cli/audit/report_forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/ask.h"
#include "cli/audit/selection.h"
#include "cli/audit/store/store.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/tally.h"

#define SINCE_DEFAULT_MS (7 * 24 * 3600 * INT64_C(1000)) /* 7d */
#define ROWS_MAX         65536
#define KEY_MAX          512
#define REST             "(others, not counted one by one)"

/* In the order of the words of --by in options.def. */
enum by { BY_HOST, BY_PERSON, BY_RUN, BY_PROGRAM, BY_RULE, BY_DAY };

static const enum store_dimension dimensions[] = { STORE_HOST,    STORE_PERSON, STORE_RUN,
						   STORE_PROGRAM, STORE_RULE,   STORE_DAY };

static void key_of_none(enum by by, const char *reason, char *out)
{
	const char *what = by == BY_PERSON    ? "no person"
			   : by == BY_RULE    ? "no rule"
			   : by == BY_PROGRAM ? "unknown"
					      : "none";
	auto_free char *shown = text_visible_dup(reason);

	(void)snprintf(out, KEY_MAX, "(%s%s%s)", what, shown[0] ? ": " : "", shown);
}

/* The program that asked, or else the command's: the name of its file, as a decision that did not
 * wait for the search of the program, and the end of its connection, are about one program. */
static void key_of_program(const struct store_sum *sum, char *out)
{
	const char *text = sum->key[0] ? sum->key : sum->instead;
	size_t end = sum->key[0] ? strlen(text) : strcspn(text, " "), from = end;

	while (from > 0 && text[from - 1] != '/')
		from--;
	(void)text_visible(out, KEY_MAX, text + from, end - from);
	if (out[0] == '\0')
		key_of_none(BY_PROGRAM, "", out);
}

static void key_of(enum by by, const struct store_sum *sum, char *out)
{
	if (by == BY_PROGRAM) {
		key_of_program(sum, out);
		return;
	}
	(void)text_visible(out, KEY_MAX, sum->key, strlen(sum->key));
	if (out[0] == '\0')
		key_of_none(by, sum->instead, out);
}

struct report {
	struct selection selection;
	const struct options *options;
	enum by by;
	struct tally rows;
	struct report_row rest;
	bool has_rest;
};

static struct report_row *row_of(struct report *report, const struct store_sum *sum)
{
	char key[KEY_MAX];

	key_of(report->by, sum, key);
	struct report_row *row = tally_at(&report->rows, key);

	report->has_rest |= !row;
	return row ? row : &report->rest;
}

/* A person or rule has no connection of its own where the record of the end does not name it. */
static void on_sum(const struct store_sum *sum, void *arg)
{
	struct report *report = arg;

	if (sum->key[0] == '\0' && report->by == BY_HOST)
		return;
	struct report_row *row = row_of(report, sum);

	if (row->first_us == 0 || sum->first_us < row->first_us)
		row->first_us = sum->first_us;
	if (sum->last_us > row->last_us)
		row->last_us = sum->last_us;
	switch (sum->verdict) {
	case STORE_NO_VERDICT:
		row->connections += sum->times;
		row->bytes_up += sum->bytes_up;
		row->bytes_down += sum->bytes_down;
		break;
	case STORE_ALLOW:
		row->allowed += sum->times;
		break;
	case STORE_DENY:
		row->denied += sum->times;
		break;
	case STORE_UNANSWERED:
		row->unanswered += sum->times;
		break;
	case STORE_FAILED:
		row->failed += sum->times;
		break;
	case STORE_VERDICTS:
		break;
	}
}

static int compare_days(const void *left, const void *right)
{
	return strcmp((*(const struct report_row *const *)left)->key,
		      (*(const struct report_row *const *)right)->key);
}

/* Busiest first; rows of equal weight stay in the order of their keys. */
static int compare(const void *left, const void *right)
{
	const struct report_row *a = *(const struct report_row *const *)left;
	const struct report_row *b = *(const struct report_row *const *)right;
	uint64_t of_a = a->allowed + a->denied + a->unanswered + a->failed;
	uint64_t of_b = b->allowed + b->denied + b->unanswered + b->failed;

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->key, b->key);
}

static int report_print(struct report *report, FILE *out)
{
	const struct options *options = report->options;
	auto_free struct report_row **rows = (struct report_row **)tally_rows(&report->rows);
	size_t count = mem_count_list(rows);

	for (size_t i = 0; i < count; i++)
		rows[i]->key = tally_key(rows[i]);
	qsort(rows, count, sizeof(void *), report->by == BY_DAY ? compare_days : compare);
	if (report->has_rest) {
		report->rest.key = REST;
		rows = mem_grow(rows, count + 2, sizeof(void *));
		rows[count] = &report->rest;
		rows[count + 1] = NULL;
	}
	const struct report_sheet sheet = {
		.out = out,
		.selection = &report->selection,
		.by = options_get(options, OPT_REPORT_BY) ? options_get(options, OPT_REPORT_BY)
							  : "host",
		.rows = rows,
	};

	if (options_has(options, OPT_JSON))
		report_forms_json(&sheet);
	else if (options_has(options, OPT_CSV))
		report_forms_csv(&sheet);
	else
		report_forms_text(&sheet);
	return CLI_OK;
}

static int report_ask(struct store *store, FILE *out, void *arg, struct err *why)
{
	struct report *report = arg;
	struct selection *selection = &report->selection;
	const struct store_sums sums = {
		.dimension = dimensions[report->by],
		.since_us = selection->since_us,
		.run = selection->run[0] ? selection->run : NULL,
	};
	struct store_totals totals;

	tally_done(&report->rows, NULL);
	tally_init(&report->rows, sizeof(struct report_row), ROWS_MAX);
	report->rest = (struct report_row){ 0 };
	report->has_rest = false;
	int r = store_sum_totals(store, 0, &totals, why);

	if (r == 0)
		r = store_sum(store, &sums, on_sum, report, why);
	selection->records = r == 0 ? totals.records : 0;
	return r == 0 ? report_print(report, out) : r;
}

int cli_audit_report(const struct options *options)
{
	struct report report = { .options = options,
				 .by = (enum by)options_choice(options, OPT_REPORT_BY, BY_HOST) };
	int status;

	if (options_has(options, OPT_JSON) && options_has(options, OPT_CSV))
		return options_wrong(options->command, "give --csv or --json, not both");
	tally_init(&report.rows, sizeof(struct report_row), ROWS_MAX);
	status = selection_take(&report.selection, options, SINCE_DEFAULT_MS);
	if (status == CLI_OK)
		status = ask(&report.selection, report_ask, &report, true);
	tally_done(&report.rows, NULL);
	selection_done(&report.selection);
	return status;
}
