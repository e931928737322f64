/* `audit query`, `audit export`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/ask.h"
#include "cli/audit/filter.h"
#include "cli/audit/rows.h"
#include "cli/audit/selection.h"
#include "cli/cli.h"
#include "cli/options.h"

#define LIMIT_DEFAULT 100

struct query {
	struct selection selection;
	struct store_filter filter;
	enum rows_form form;
	bool is_export; /* it may be large, so it is not kept in memory */
};

static int query_ask(struct store *store, FILE *out, void *arg, struct err *why)
{
	const struct query *query = arg;
	struct rows rows = {
		.store = store,
		.out = query->is_export ? stdout : out,
		.form = query->form,
		.width = rows_width(),
		.why = why,
	};
	bool has_more = false;
	long before = ftell(rows.out);

	rows_head(&rows);
	int r = store_find(store, &query->filter, rows_put, &rows, &has_more, why);

	if (r < 0)
		return r;
	if (has_more && query->form == ROWS_TABLE)
		(void)fprintf(out,
			      "only the newest %" PRIu64 " are shown; see --limit and "
			      "`sallyport audit export`\n",
			      query->filter.limit);
	if (query->form == ROWS_TABLE && ftell(rows.out) == before)
		(void)fputs("no record matches\n", out);
	return CLI_OK;
}

static int query_run(const struct options *options, struct query *query)
{
	int status = selection_take(&query->selection, options, SELECTION_ALL);

	if (status == CLI_OK)
		status = filter_take(&query->filter, options, &query->selection);
	if (status == CLI_OK)
		status = ask(&query->selection, query_ask, query, !query->is_export);
	selection_done(&query->selection);
	return status;
}

int cli_audit_query(const struct options *options)
{
	struct query query = { .filter.limit = LIMIT_DEFAULT };

	if (options_has(options, OPT_JSON) && options_has(options, OPT_CSV))
		return options_wrong(options->command, "give --csv or --json, not both");
	query.form = options_has(options, OPT_JSON)  ? ROWS_JSON
		     : options_has(options, OPT_CSV) ? ROWS_CSV
						     : ROWS_TABLE;
	return query_run(options, &query);
}

int cli_audit_export(const struct options *options)
{
	struct query query = { .is_export = true };

	if (options_has(options, OPT_OCSF) && options_has(options, OPT_CSV))
		return options_wrong(options->command, "give --csv or --ocsf, not both");
	query.form = options_has(options, OPT_OCSF)  ? ROWS_OCSF
		     : options_has(options, OPT_CSV) ? ROWS_CSV
						     : ROWS_JSON;
	return query_run(options, &query);
}
