/* `audit tail`: the newest records, and with -f those that follow. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/watch.h"
#include "cli/audit/ask.h"
#include "cli/audit/filter.h"
#include "cli/audit/rows.h"
#include "cli/audit/selection.h"
#include "cli/cli.h"
#include "cli/options.h"

#define LIMIT_DEFAULT 20

struct tail {
	struct selection selection;
	struct store_filter filter;
	enum rows_form form;
	bool is_following;
	/* While it follows. */
	struct rows rows;
	struct loop *loop;
	int r;
};

/* Prints what was written after the end that was printed last. */
static void tail_changed(void *arg)
{
	struct tail *tail = arg;
	struct store *store = tail->rows.store;
	bool is_new = false;

	tail->filter.after = store_end(store);
	tail->r = store_fill(store, &is_new, tail->rows.why);
	if (is_new)
		tail->filter.after = 0;
	if (tail->r == 0)
		tail->r = store_find(store, &tail->filter, rows_put, &tail->rows, NULL,
				     tail->rows.why);
	if (fflush(tail->rows.out) != 0)
		tail->r = err_errno(tail->rows.why, errno, "cannot write the answer");
	if (tail->r < 0)
		loop_stop(tail->loop);
}

/* Until a signal ends this process. */
static int tail_follow(struct tail *tail, struct err *why)
{
	auto_free char *path = realpath(tail->selection.path, NULL);
	char *const paths[] = { path, NULL };
	int r = 0;

	if (!path)
		return err_errno(why, errno, "cannot open %s", tail->selection.path);
	tail->loop = loop_new();
	struct watch *watch = watch_new(tail->loop, true, tail_changed, tail);

	tail->filter.limit = 0;
	watch_set(watch, paths, tail->selection.now_us);
	if (loop_run(tail->loop) < 0)
		r = err_set(why, -EIO, "cannot wait for new records");
	watch_free(watch);
	loop_free(tail->loop);
	return tail->r < 0 ? tail->r : r;
}

static int tail_ask(struct store *store, FILE *out, void *arg, struct err *why)
{
	struct tail *tail = arg;

	tail->rows = (struct rows){ store, tail->is_following ? stdout : out, tail->form,
				    rows_width(), why };
	int r = store_find(store, &tail->filter, rows_put, &tail->rows, NULL, why);

	if (r == 0 && fflush(tail->rows.out) != 0)
		r = err_errno(why, errno, "cannot write the answer");
	return r == 0 && tail->is_following ? tail_follow(tail, why) : r;
}

int cli_audit_tail(const struct options *options)
{
	struct tail tail = {
		.filter.limit = LIMIT_DEFAULT,
		.form = options_has(options, OPT_OCSF)   ? ROWS_OCSF
			: options_has(options, OPT_JSON) ? ROWS_JSON
							 : ROWS_TABLE,
		.is_following = options_has(options, OPT_FOLLOW),
	};
	if (options_has(options, OPT_OCSF) && options_has(options, OPT_JSON))
		return options_wrong(options->command, "give --json or --ocsf, not both");
	int status = selection_take(&tail.selection, options, SELECTION_ALL);

	if (status == CLI_OK)
		status = filter_take(&tail.filter, options, &tail.selection);
	if (status == CLI_OK)
		status = ask(&tail.selection, tail_ask, &tail, !tail.is_following);
	selection_done(&tail.selection);
	return status;
}
