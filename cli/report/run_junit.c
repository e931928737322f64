#include "cli/report/run_junit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/report/run_denials.h"
#include "cli/report/run_lock.h"
#include "cli/report/run_mask.h"
#include "cli/report/run_summary.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_gate.h"

#define FILE_MODE 0644 /* a service collects it as another user */

/* As the value of an attribute. */
static void put_text(FILE *out, const char *raw)
{
	auto_free char *masked = run_mask(raw);

	for (const char *text = masked; *text; text++) {
		if (*text < 0x20 || *text > 0x7e || strchr("&<>\"'", *text))
			(void)fprintf(out, "&#%d;", *text >= 0x20 && *text <= 0x7e ? *text : '?');
		else
			(void)fputc(*text, out);
	}
}

/* @failure: NULL if it passed. */
static void put_case(FILE *out, const char *name, const char *type, const char *failure)
{
	(void)fputs("<testcase classname=\"sallyport\" name=\"", out);
	put_text(out, name);
	if (!failure) {
		(void)fputs("\"/>\n", out);
		return;
	}
	(void)fprintf(out, "\"><failure type=\"%s\" message=\"", type);
	put_text(out, failure);
	(void)fputs("\"/></testcase>\n", out);
}

static void put_trip(FILE *out, const struct gateway_trip *trip, const struct run_summary *summary)
{
	char name[POLICY_DESTINATION_TEXT_MAX];
	auto_free char *text = run_denials_is_denied(trip) ? run_denials_text(trip, summary) : NULL;

	policy_destination_text(&trip->dst, name);
	put_case(out, name, policy_reason_code(trip->last_denial), text);
}

static void put_lock(FILE *out, const struct run_lock *lock)
{
	char *text = NULL;

	for (char *const *line = lock->news; line && *line; line++)
		if (text)
			mem_append(&text, "; %s", *line);
		else
			text = mem_strdup(*line);
	put_case(out, lock->name, "egress_lock", text);
	free(text);
}

static bool has_lock(const struct run_summary *summary)
{
	return summary->lock->mode == RUN_LOCK_CHECK && summary->lock->is_compared;
}

static char *junit_text(const struct run_summary *summary)
{
	size_t failures = has_lock(summary) && summary->lock->has_new, len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); /* out of memory, as in base/mem */
	for (size_t i = 0; i < summary->trip_count; i++)
		failures += run_denials_is_denied(&summary->trips[i]);
	(void)fprintf(out,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		      "<testsuite name=\"sallyport run %s\" tests=\"%zu\" failures=\"%zu\" "
		      "errors=\"0\" time=\"%" PRId64 ".%03d\">\n",
		      summary->run, summary->trip_count + has_lock(summary), failures,
		      summary->duration_ms / 1000, (int)(summary->duration_ms % 1000));
	for (size_t i = 0; i < summary->trip_count; i++)
		put_trip(out, &summary->trips[i], summary);
	if (has_lock(summary))
		put_lock(out, summary->lock);
	(void)fputs("</testsuite>\n</testsuites>\n", out);
	(void)fclose(out);
	return text;
}

int run_junit_write(const struct bundle_place *place, const struct run_summary *summary)
{
	struct err why = { 0 };

	if (place->folder < 0)
		return CLI_OK;
	auto_free char *text = junit_text(summary);

	return bundle_files_write(place, text, FILE_MODE, &why) < 0
		       ? cli_fail(CLI_NO_SANDBOX, "%s", why.text)
		       : CLI_OK;
}
