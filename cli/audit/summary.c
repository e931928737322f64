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
#include "cli/tally.h"

#define SINCE_DEFAULT_MS (7 * 24 * 3600 * INT64_C(1000)) /* 7d */
#define TOP              3
#define NEW_SHOWN        5
#define HOSTS_MAX        65536

struct summary {
	struct selection selection;
	bool is_json;
	/* While it is answered. */
	struct store_totals totals;
	struct tally hosts; /* of uint64_t: bytes */
	uint64_t counts[STORE_VERDICTS], answered, bytes_up, bytes_down;
	struct summary_top {
		const char *host; /* borrowed from @hosts */
		uint64_t bytes;
	} top[TOP];
	char *new_names; /* owned; NULL: none */
};

static void summary_forget(struct summary *summary)
{
	tally_done(&summary->hosts, NULL);
	free(summary->new_names);
	*summary = (struct summary){ .selection = summary->selection, .is_json = summary->is_json };
	tally_init(&summary->hosts, sizeof(uint64_t), HOSTS_MAX);
}

static void summary_host(const struct store_sum *sum, void *arg)
{
	struct summary *summary = arg;
	auto_free char *host = text_visible_dup(sum->key);

	summary->counts[sum->verdict] += sum->times;
	summary->bytes_up += sum->bytes_up;
	summary->bytes_down += sum->bytes_down;
	if (!host[0])
		return; /* denials that were counted together */
	uint64_t *bytes = tally_at(&summary->hosts, host);

	if (bytes)
		*bytes += sum->bytes_up + sum->bytes_down;
}

static void summary_person(const struct store_sum *sum, void *arg)
{
	struct summary *summary = arg;

	if (sum->key[0] && sum->verdict != STORE_NO_VERDICT)
		summary->answered += sum->times;
}

static void summary_new(const char *host, void *arg)
{
	struct summary *summary = arg;
	auto_free char *shown = text_visible_dup(host);

	if (summary->new_names)
		mem_append(&summary->new_names, ", %s", shown);
	else
		summary->new_names = take(shown);
}

/* The most bytes first. */
static void summary_find_top(struct summary *summary)
{
	auto_free uint64_t **rows = (uint64_t **)tally_rows(&summary->hosts);

	for (uint64_t **row = rows; *row; row++) {
		size_t at = TOP;

		while (at > 0 && summary->top[at - 1].bytes < **row)
			at--;
		if (at == TOP)
			continue;
		memmove(&summary->top[at + 1], &summary->top[at],
			(TOP - 1 - at) * sizeof(summary->top[0]));
		summary->top[at] = (struct summary_top){ tally_key(*row), **row };
	}
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
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
		"since_utc", selection_utc(summary->selection.since_us, since), "until_utc",
		selection_utc(summary->selection.now_us, until), "records",
		(json_int_t)summary->totals.records, "runs", (json_int_t)summary->totals.runs,
		"commands", (json_int_t)summary->totals.execs, "allowed",
		(json_int_t)summary->counts[STORE_ALLOW], "denied",
		(json_int_t)summary->counts[STORE_DENY], "unanswered",
		(json_int_t)summary->counts[STORE_UNANSWERED], "failed",
		(json_int_t)summary->counts[STORE_FAILED], "answered",
		(json_int_t)summary->answered, "hosts", (json_int_t)summary->hosts.count,
		"new_hosts", (json_int_t)summary->totals.new_hosts, "connections",
		(json_int_t)summary->counts[STORE_NO_VERDICT], "bytes_up",
		(json_int_t)summary->bytes_up, "bytes_down", (json_int_t)summary->bytes_down, "top",
		top);

	(void)json_dumpf(object, out, JSON_INDENT(2)); /* @out is memory, and is checked */
	(void)fputc('\n', out);
	json_decref(object);
}

static void summary_text(const struct summary *summary, FILE *out)
{
	char since[SELECTION_TIME_MAX], until[SELECTION_TIME_MAX], up[32], down[32];

	text_bytes(up, sizeof(up), summary->bytes_up);
	text_bytes(down, sizeof(down), summary->bytes_down);
	(void)fprintf(out, "from          %s to %s\n",
		      selection_local(summary->selection.since_us, since),
		      selection_local(summary->selection.now_us, until));
	(void)fprintf(out, "runs          %" PRIu64 ", with %" PRIu64 " commands\n",
		      summary->totals.runs, summary->totals.execs);
	(void)fprintf(out, "allowed       %" PRIu64 "\n", summary->counts[STORE_ALLOW]);
	(void)fprintf(out, "denied        %" PRIu64 "\n", summary->counts[STORE_DENY]);
	(void)fprintf(out, "unanswered    %" PRIu64 "\n", summary->counts[STORE_UNANSWERED]);
	(void)fprintf(out, "failed        %" PRIu64 "\n", summary->counts[STORE_FAILED]);
	(void)fprintf(out, "by answers    %" PRIu64 " of these, by a person or a reviewer\n",
		      summary->answered);
	(void)fprintf(out, "hosts         %zu%s; in the log %" PRIu64 " are new%s%s%s\n",
		      summary->hosts.count, summary->hosts.is_full ? " or more" : "",
		      summary->totals.new_hosts, summary->new_names ? ": " : "",
		      summary->new_names ? summary->new_names : "",
		      summary->totals.new_hosts > NEW_SHOWN ? ", ..." : "");
	(void)fprintf(out, "connections   %" PRIu64 ", %s up, %s down\n",
		      summary->counts[STORE_NO_VERDICT], up, down);
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

	int64_t since_us = summary->selection.since_us;
	struct store_sums sums = { .dimension = STORE_HOST, .since_us = since_us };

	summary_forget(summary);
	int r = store_sum_totals(store, since_us, &summary->totals, why);

	if (r == 0)
		r = store_sum(store, &sums, summary_host, summary, why);
	sums.dimension = STORE_PERSON;
	if (r == 0)
		r = store_sum(store, &sums, summary_person, summary, why);
	if (r == 0)
		r = store_sum_new_hosts(store, since_us, NEW_SHOWN, summary_new, summary, why);
	if (r < 0)
		return r;
	summary_find_top(summary);
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

	tally_init(&summary.hosts, sizeof(uint64_t), HOSTS_MAX);
	if (status == CLI_OK)
		status = ask(&summary.selection, summary_ask, &summary, true);
	tally_done(&summary.hosts, NULL);
	free(summary.new_names);
	selection_done(&summary.selection);
	return status;
}
