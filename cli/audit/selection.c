#include "cli/audit/selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway_audit.h"

#define SHOWN_MAX 20 /* lines about malformed lines */

struct selection_pass {
	struct selection *selection;
	selection_fn record;
	void *arg;
	bool is_quiet;
	int64_t last_us; /* of the run that began last */
};

static int on_record(const struct gateway_logged *record, void *arg)
{
	struct selection_pass *pass = arg;
	struct selection *selection = pass->selection;

	selection->records++;
	pass->record(
		record,
		record->time_us >= selection->since_us &&
			(selection->run[0] == '\0' || strcmp(record->run, selection->run) == 0),
		pass->arg);
	return 0;
}

static void on_malformed(const char *path, uint64_t line, const char *words, void *arg)
{
	struct selection_pass *pass = arg;
	auto_free char *shown = text_visible_dup(path), *why = text_visible_dup(words);

	if (pass->is_quiet)
		return;
	if (++pass->selection->skipped > SHOWN_MAX)
		return;
	if (line > 0)
		(void)cli_fail(0, "%s:%" PRIu64 ": %s; it is left out", shown, line, why);
	else
		(void)cli_fail(0, "%s: %s; it is left out", shown, why);
}

static int selection_pass(struct selection_pass *pass)
{
	auto_free char *dir = cli_audit_dir();
	const struct gateway_audit_calls calls = { on_record, on_malformed, pass };
	struct gateway_audit_reading reading = { .path = pass->selection->path, .dir = dir };
	struct err why = { 0 };

	pass->selection->records = pass->selection->skipped = 0;
	if (gateway_audit_read(&reading, &calls, &why) < 0) {
		auto_free char *shown = text_visible_dup(why.text);

		return cli_fail(CLI_ERROR, "%s", shown);
	}
	if (pass->is_quiet)
		return CLI_OK;
	if (pass->selection->skipped > SHOWN_MAX)
		(void)cli_fail(0, "%" PRIu64 " more lines are not audit records",
			       pass->selection->skipped - SHOWN_MAX);
	if (reading.live > 0)
		(void)cli_fail(0,
			       "%u run%s still active; the newest records of active runs may be "
			       "missing here",
			       reading.live, reading.live == 1 ? " is" : "s are");
	return CLI_OK;
}

static void on_start(const struct gateway_logged *record, bool is_selected, void *arg)
{
	struct selection_pass *pass = arg;

	if (strcmp(record->event, "start") != 0 || record->time_us < pass->last_us)
		return;
	pass->last_us = record->time_us;
	(void)snprintf(pass->selection->run, sizeof(pass->selection->run), "%s", record->run);
}

/* Records of several runs are in blocks, so the run that began last is not the one at the end. */
static int find_last(struct selection *selection)
{
	struct selection_pass pass = { .selection = selection, .record = on_start };

	pass.arg = &pass;
	pass.is_quiet = true;
	int status = selection_pass(&pass);

	if (status == CLI_OK && selection->run[0] == '\0')
		return cli_fail(CLI_ERROR, "%s contains no run", selection->path);
	return status;
}

int selection_read(struct selection *selection, selection_fn record, void *arg)
{
	struct selection_pass pass = { .selection = selection, .record = record, .arg = arg };
	int status = selection->is_last ? find_last(selection) : CLI_OK;

	return status == CLI_OK ? selection_pass(&pass) : status;
}

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

char *selection_path(const struct options *options)
{
	auto_free char *state = cli_state_dir();
	const char *given = options_get(options, OPT_LOG);

	if (given || state)
		return given ? mem_strdup(given) : mem_printf("%s/audit.jsonl", state);
	(void)cli_fail(0, "there is no folder with an audit log; set HOME, or give --audit FILE");
	return NULL;
}

/* "2026-11-25", or with " 20:13" or " 20:13:05", in local time. */
static bool read_date(const char *text, int64_t *ret_us)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S" };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm parts = { .tm_isdst = -1 };
		const char *end = strptime(text, forms[i], &parts);

		if (!end || *end)
			continue;
		*ret_us = (int64_t)mktime(&parts) * 1000000;
		return *ret_us > 0;
	}
	return false;
}

/* A time before now, such as 7d, or a date. */
static int take_time(const struct selection *ret, const struct options *options,
		     enum cli_option option, const char *name, int64_t *ret_us)
{
	const char *given = options_get(options, option);
	int64_t ms;

	if (given && read_date(given, ret_us))
		return CLI_OK;
	if (!given || text_to_duration_ms(given, &ms) < 0 || ms == 0) {
		auto_free char *shown = text_visible_dup(given ? given : "");

		return options_wrong(options->command,
				     "%s: `%s` is not a time such as 7d or \"2026-01-31 20:15\"",
				     name, shown);
	}
	*ret_us = ms > ret->now_us / 1000 ? 0 : ret->now_us - ms * 1000;
	return CLI_OK;
}

int selection_take(struct selection *ret, const struct options *options, int64_t default_ms)
{
	const char *run = options_get(options, OPT_RUN);
	bool has_since = options_has(options, OPT_SINCE), has_last = options_has(options, OPT_LAST);

	*ret = (struct selection){ .now_us = now_us() };
	if (run && has_last)
		return options_wrong(options->command, "give --run ID or --last, not both");
	ret->path = selection_path(options);
	int status = ret->path ? CLI_OK : CLI_ERROR;

	if (status == CLI_OK && has_since)
		status = take_time(ret, options, OPT_SINCE, "--since", &ret->since_us);
	else if (default_ms > 0 && !run && !has_last)
		ret->since_us = ret->now_us - default_ms * 1000;
	if (status == CLI_OK && options_has(options, OPT_UNTIL))
		status = take_time(ret, options, OPT_UNTIL, "--until", &ret->until_us);
	if (status != CLI_OK)
		return status;
	ret->is_last = has_last || (default_ms == 0 && !run && !has_since);
	if (run && snprintf(ret->run, sizeof(ret->run), "%s", run) >= (int)sizeof(ret->run))
		return options_wrong(options->command, "--run: no run has such a long id");
	return CLI_OK;
}

void selection_done(struct selection *selection)
{
	free(selection->path);
	*selection = (struct selection){ 0 };
}

static const char *selection_time(int64_t time_us, bool is_local, char out[SELECTION_TIME_MAX])
{
	time_t seconds = (time_t)(time_us / 1000000);
	struct tm parts = { 0 };

	if (!(is_local ? localtime_r : gmtime_r)(&seconds, &parts) ||
	    strftime(out, SELECTION_TIME_MAX,
		     is_local ? "%Y-%m-%d %H:%M:%S %z" : "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
		(void)snprintf(out, SELECTION_TIME_MAX, "-");
	return out;
}

const char *selection_utc(int64_t time_us, char out[SELECTION_TIME_MAX])
{
	return selection_time(time_us, false, out);
}

const char *selection_local(int64_t time_us, char out[SELECTION_TIME_MAX])
{
	return selection_time(time_us, true, out);
}
