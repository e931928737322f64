/* `audit summary`: ten lines about a time. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/ask.h"
#include "cli/audit/selection.h"
#include "cli/audit/store/store.h"
#include "cli/cli.h"
#include "cli/options.h"

#define SINCE_DEFAULT_MS (7 * 24 * 3600 * INT64_C(1000)) /* 7d */
#define TOP              3
#define NEW_SHOWN        5

struct summary {
	struct selection selection;
	bool is_json;
	/* While it is answered. */
	struct store_totals totals;
	struct store_total all;
	struct summary_top {
		char *host; /* owned */
		uint64_t bytes;
	} top[TOP];
	uint64_t hosts, new_hosts;
	char *new_names[NEW_SHOWN]; /* owned */
};

static void summary_forget(struct summary *summary)
{
	for (size_t i = 0; i < TOP; i++)
		free(summary->top[i].host);
	for (size_t i = 0; i < NEW_SHOWN; i++)
		free(summary->new_names[i]);
	*summary = (struct summary){ .selection = summary->selection, .is_json = summary->is_json };
}

/* The most bytes first. */
static void summary_top(struct summary *summary, const struct store_total *total)
{
	uint64_t bytes = total->bytes_up + total->bytes_down;
	size_t at = TOP;

	while (at > 0 && summary->top[at - 1].bytes < bytes)
		at--;
	if (at == TOP)
		return;
	free(summary->top[TOP - 1].host);
	memmove(&summary->top[at + 1], &summary->top[at], (TOP - 1 - at) * sizeof(summary->top[0]));
	summary->top[at] = (struct summary_top){ text_visible_dup(total->host), bytes };
}

static void summary_each(const struct store_total *total, void *arg)
{
	struct summary *summary = arg;
	uint64_t decisions = 0;

	for (size_t i = 0; i < ARRAY_SIZE(total->counts); i++) {
		summary->all.counts[i] += total->counts[i];
		decisions += total->counts[i];
	}
	summary->all.answered += total->answered;
	summary->all.connections += total->connections;
	summary->all.bytes_up += total->bytes_up;
	summary->all.bytes_down += total->bytes_down;
	summary->hosts += decisions + total->connections > 0;
	if (decisions > 0 && total->first_us >= summary->selection.since_us) {
		if (summary->new_hosts < NEW_SHOWN)
			summary->new_names[summary->new_hosts] = text_visible_dup(total->host);
		summary->new_hosts++;
	}
	summary_top(summary, total);
}

static void summary_json(const struct summary *summary, FILE *out)
{
	char since[SELECTION_TIME_MAX], until[SELECTION_TIME_MAX];
	json_t *top = json_array();

	for (size_t i = 0; i < TOP && summary->top[i].host; i++)
		(void)json_array_append_new(top,
					    json_pack("{s:s, s:I}", "host", summary->top[i].host,
						      "bytes", (json_int_t)summary->top[i].bytes));
	json_t *object = json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
		"since_utc", selection_utc(summary->selection.since_us, since), "until_utc",
		selection_utc(summary->selection.now_us, until), "records",
		(json_int_t)summary->totals.records, "runs", (json_int_t)summary->totals.runs,
		"commands", (json_int_t)summary->totals.execs, "allowed",
		(json_int_t)summary->all.counts[STORE_ALLOW], "denied",
		(json_int_t)summary->all.counts[STORE_DENY], "unanswered",
		(json_int_t)summary->all.counts[STORE_UNANSWERED], "answered",
		(json_int_t)summary->all.answered, "hosts", (json_int_t)summary->hosts, "new_hosts",
		(json_int_t)summary->new_hosts, "connections", (json_int_t)summary->all.connections,
		"bytes_up", (json_int_t)summary->all.bytes_up, "bytes_down",
		(json_int_t)summary->all.bytes_down, "top", top);

	(void)json_dumpf(object, out, JSON_INDENT(2)); /* @out is memory, and is checked */
	(void)fputc('\n', out);
	json_decref(object);
}

static void summary_text(const struct summary *summary, FILE *out)
{
	const struct store_total *all = &summary->all;
	char since[SELECTION_TIME_MAX], until[SELECTION_TIME_MAX], up[32], down[32];

	text_bytes(up, sizeof(up), all->bytes_up);
	text_bytes(down, sizeof(down), all->bytes_down);
	(void)fprintf(out, "from          %s to %s\n",
		      selection_local(summary->selection.since_us, since),
		      selection_local(summary->selection.now_us, until));
	(void)fprintf(out, "runs          %" PRIu64 ", with %" PRIu64 " commands\n",
		      summary->totals.runs, summary->totals.execs);
	(void)fprintf(out, "allowed       %" PRIu64 "\n", all->counts[STORE_ALLOW]);
	(void)fprintf(out, "denied        %" PRIu64 "\n", all->counts[STORE_DENY]);
	(void)fprintf(out, "unanswered    %" PRIu64 "\n", all->counts[STORE_UNANSWERED]);
	(void)fprintf(out, "by answers    %" PRIu64 " of these, by a person or a reviewer\n",
		      all->answered);
	(void)fprintf(out, "hosts         %" PRIu64 ", of which %" PRIu64 " are new in the log",
		      summary->hosts, summary->new_hosts);
	for (size_t i = 0; i < NEW_SHOWN && summary->new_names[i]; i++)
		(void)fprintf(out, "%s%s", i == 0 ? ": " : ", ", summary->new_names[i]);
	(void)fprintf(out, "%s\n", summary->new_hosts > NEW_SHOWN ? ", ..." : "");
	(void)fprintf(out, "connections   %" PRIu64 ", %s up, %s down\n", all->connections, up,
		      down);
	(void)fputs("most bytes    ", out);
	for (size_t i = 0; i < TOP && summary->top[i].host; i++) {
		text_bytes(up, sizeof(up), summary->top[i].bytes);
		(void)fprintf(out, "%s%s (%s)", i == 0 ? "" : ", ", summary->top[i].host, up);
	}
	(void)fprintf(out, "%s\n", summary->top[0].host ? "" : "nothing was sent");
}

static int summary_ask(struct store *store, FILE *out, void *arg, struct err *why)
{
	struct summary *summary = arg;

	summary_forget(summary);
	int r = store_sum(store, summary->selection.since_us, &summary->totals, summary_each,
			  summary, why);

	if (r < 0)
		return r;
	if (summary->is_json)
		summary_json(summary, out);
	else
		summary_text(summary, out);
	return CLI_OK;
}

int cli_audit_summary(const struct options *options)
{
	struct summary summary = { .is_json = options_has(options, OPT_JSON) };
	int status = selection_take(&summary.selection, options, SINCE_DEFAULT_MS);

	if (status == CLI_OK)
		status = ask(&summary.selection, summary_ask, &summary, true);
	summary_forget(&summary);
	selection_done(&summary.selection);
	return status;
}
