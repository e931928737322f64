#include "cli/report/run_report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate/run_upstream.h"
#include "cli/report/run_denials.h"
#include "cli/report/run_lock.h"
#include "cli/report/run_mask.h"
#include "cli/report/run_refused.h"
#include "cli/report/run_summary.h"
#include "cli/report/run_tell.h"
#include "cli/view/run_made.h"
#include "cli/view/run_programs.h"
#include "exec/exec_probe.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_gate.h"
#include "policies/policies_limits.h"

#define RED   "\x1b[31m"
#define PLAIN "\x1b[0m"

struct totals {
	uint64_t denied, unanswered, failed, bytes_up, bytes_down;
};

static void print_trip(FILE *out, const struct gateway_trip *trip, bool may_colour)
{
	char where[POLICY_DESTINATION_TEXT_MAX], up[32], down[32];

	policy_destination_text(&trip->dst, where);
	text_bytes(up, sizeof(up), trip->bytes_up);
	text_bytes(down, sizeof(down), trip->bytes_down);
	(void)fprintf(out, "  %-40s", where);
	if (trip->allowed > 0)
		(void)fprintf(out, "  %" PRIu64 " allowed, %s up, %s down", trip->allowed, up,
			      down);
	if (trip->denied > 0)
		(void)fprintf(out, "  %s%" PRIu64 " denied (%s)%s", may_colour ? RED : "",
			      trip->denied, policy_reason_code(trip->last_denial),
			      may_colour ? PLAIN : "");
	else if (trip->failed > 0)
		(void)fprintf(out, "  %" PRIu64 " failed (%s)", trip->failed,
			      policy_reason_code(trip->last_denial));
	if (trip->unanswered > 0)
		(void)fprintf(out, "  %" PRIu64 " unanswered", trip->unanswered);
	if (trip->cut > 0)
		(void)fprintf(out, "  %" PRIu64 " cut", trip->cut);
	(void)fputc('\n', out);
}

/* Returned owned. */
static char *failed_text(uint64_t failed)
{
	return failed > 0 ? mem_printf(", %" PRIu64 " failed", failed) : mem_strdup("");
}

static void print_programs(FILE *out, const struct run_programs *programs)
{
	const char *line;

	for (size_t i = 0; (line = run_programs_refused(programs, i)) != NULL; i++)
		(void)fprintf(out, "sallyport: refused: %s\n", line);
	if (run_programs_more(programs) > 0)
		(void)fprintf(out,
			      "sallyport: refused: %zu more programs, which the audit log lists\n",
			      run_programs_more(programs));
}

static json_t *programs_json(const struct run_programs *programs)
{
	json_t *list = json_array();
	const char *line;

	for (size_t i = 0; (line = run_programs_refused(programs, i)) != NULL; i++)
		json_array_append_new(list, json_string(line));
	return list;
}

/* Lists the limits that were reached: the command itself may only print that something failed. */
static void print_limits(FILE *out, const struct run_summary *summary)
{
	for (size_t i = 0; i < POLICY_LIMITS; i++) {
		const char *name = policy_limit_name((enum policy_limit)i);
		uint64_t held = policy_limit_held(summary->policy, (enum policy_limit)i);
		auto_free char *value = held ? mem_printf(" %" PRIu64, held) : mem_strdup("");

		if ((summary->limits & BIT(i)) != 0)
			(void)fprintf(out,
				      "sallyport: the command reached limit %s%s; change it with a "
				      "line `limit %s N` in a policy\n",
				      name, value, name);
	}
}

static json_t *limits_json(const struct run_summary *summary)
{
	json_t *list = json_array();

	for (size_t i = 0; i < POLICY_LIMITS; i++)
		if ((summary->limits & BIT(i)) != 0)
			json_array_append_new(list,
					      json_string(policy_limit_name((enum policy_limit)i)));
	return list;
}

/* Of names, the gate does not know the address. */
static void print_upstreams(FILE *out, const struct run_summary *summary)
{
	auto_free char *proxies = run_upstream_text(summary->upstreams);

	if (proxies)
		(void)fprintf(out,
			      "sallyport: connections were made through the upstream proxy %s, "
			      "which resolves names: rules about addresses were checked only for "
			      "destinations that are addresses\n",
			      proxies);
}

static void print_text(FILE *out, const struct run_summary *summary)
{
	const struct gateway_trip *trips = summary->trips;
	size_t count = summary->trip_count;
	const struct gateway_trip *others = summary->others;
	struct totals sum = {
		.denied = others->denied,
		.unanswered = others->unanswered,
		.failed = others->failed,
		.bytes_up = others->bytes_up,
		.bytes_down = others->bytes_down,
	};
	char up[32], down[32];

	if (summary->denied + summary->unanswered > 0)
		(void)fprintf(out,
			      "sallyport: run %s: requests for commands, patches and permissions: "
			      "%" PRIu64 " denied, %" PRIu64 " unanswered\n",
			      summary->run, summary->denied, summary->unanswered);
	if (count == 0)
		return; /* a command without connections needs no report */
	for (size_t i = 0; i < count; i++) {
		sum.denied += trips[i].denied;
		sum.unanswered += trips[i].unanswered;
		sum.failed += trips[i].failed;
		sum.bytes_up += trips[i].bytes_up;
		sum.bytes_down += trips[i].bytes_down;
	}
	auto_free char *failed = failed_text(sum.failed);
	auto_free char *others_failed = failed_text(others->failed);

	text_bytes(up, sizeof(up), sum.bytes_up);
	text_bytes(down, sizeof(down), sum.bytes_down);
	(void)fprintf(out,
		      "sallyport: run %s: %zu destination%s, %s up, %s down, %" PRIu64
		      " denied, %" PRIu64 " unanswered%s\n",
		      summary->run, count, count == 1 ? "" : "s", up, down, sum.denied,
		      sum.unanswered, failed);
	for (size_t i = 0; i < count; i++)
		print_trip(out, &trips[i], cli_may_colour(stderr));
	if (others->allowed + others->denied + others->unanswered + others->failed > 0)
		(void)fprintf(out,
			      "  other destinations, not listed: %" PRIu64 " allowed, %" PRIu64
			      " denied, %" PRIu64 " unanswered%s\n",
			      others->allowed, others->denied, others->unanswered, others_failed);
	print_upstreams(out, summary);
}

static void add_visible(json_t *object, const char *key, const char *text)
{
	auto_free char *visible = text && text[0] ? text_visible_dup(text) : NULL;

	if (visible)
		json_object_set_new(object, key, json_string(visible));
}

static void add_denial(json_t *object, const struct gateway_trip *trip,
		       const struct run_summary *summary)
{
	auto_free char *line = policy_reason_line(trip->last_denial, &trip->dst, trip->rule);
	auto_free char *near = run_denials_near(trip, summary);

	add_visible(object, "program", trip->program);
	add_visible(object, "request", trip->request);
	add_visible(object, "near_rule", near);
	add_visible(object, "allowed_by", line);
}

static json_t *trip_json(const struct gateway_trip *trip, const struct run_summary *summary)
{
	json_t *object = json_pack(
		"{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "host", trip->dst.host,
		"protocol", policy_protocol_name(trip->dst.protocol), "port", (int)trip->dst.port,
		"allowed", (json_int_t)trip->allowed, "denied", (json_int_t)trip->denied,
		"unanswered", (json_int_t)trip->unanswered, "failed", (json_int_t)trip->failed,
		"cut", (json_int_t)trip->cut, "connections", (json_int_t)trip->connections,
		"bytes_up", (json_int_t)trip->bytes_up, "bytes_down", (json_int_t)trip->bytes_down);

	if (object && trip->last_denial != POLICY_NONE)
		json_object_set_new(object, "reason",
				    json_string(policy_reason_code(trip->last_denial)));
	if (object) {
		add_visible(object, "rule", trip->rule);
		add_visible(object, "because", trip->because);
	}
	if (object && run_denials_is_denied(trip))
		add_denial(object, trip, summary);
	return object;
}

static json_t *probe_json(const struct exec_probe *probe)
{
	json_t *tried = json_array(), *skipped = json_object();

	for (int i = 0; i < EXEC_WAYS; i++) {
		const char *name = exec_way_name((enum exec_way)i);
		const char *reason = exec_probe_skipped(probe, (enum exec_way)i);

		if (reason)
			json_object_set_new(skipped, name, json_string(reason));
		else
			json_array_append_new(tried, json_string(name));
	}
	return json_pack("{s:s, s:o, s:o, s:I}", "grade", exec_probe_grade(probe), "tried", tried,
			 "not_tried", skipped, "micros", (json_int_t)probe->micros);
}

static json_t *summary_json(const struct run_summary *summary)
{
	static const char *const ends[] = { "exited", "signalled", "not_started", "killed" };
	json_t *list = json_array();
	json_t *object;

	for (size_t i = 0; i < summary->trip_count; i++)
		json_array_append_new(list, trip_json(&summary->trips[i], summary));
	object = json_pack("{s:s, s:s, s:s, s:i, s:I, s:o}", "run", summary->run, "session",
			   summary->session, "end", ends[summary->result.end], "exit_status",
			   summary->exit_status, "duration_ms", (json_int_t)summary->duration_ms,
			   "destinations", list);
	if (!object)
		return NULL;
	if (exec_probe_has_run(&summary->result.probe))
		json_object_set_new(object, "probe", probe_json(&summary->result.probe));
	if (summary->exit_status != summary->command_status)
		json_object_set_new(object, "command_status",
				    json_integer(summary->command_status));
	json_t *lock = run_lock_json(summary->lock);

	if (lock)
		json_object_set_new(object, "egress_lock", lock);
	auto_free char *proxies = run_upstream_text(summary->upstreams);

	if (proxies)
		json_object_set_new(object, "upstream", json_string(proxies));
	if (summary->limits)
		json_object_set_new(object, "limits", limits_json(summary));
	if (run_refused_line(summary->refused, summary->has_failed, 0))
		json_object_set_new(object, "refused",
				    run_refused_json(summary->refused, summary->has_failed));
	if (summary->denied + summary->unanswered > 0)
		json_object_set_new(object, "requests",
				    json_pack("{s:I, s:I}", "denied", (json_int_t)summary->denied,
					      "unanswered", (json_int_t)summary->unanswered));
	if (summary->others->unnamed > 0)
		json_object_set_new(object, "unnamed",
				    json_pack("{s:I, s:s}", "count",
					      (json_int_t)summary->others->unnamed, "reason",
					      policy_reason_code(summary->others->last_unnamed)));
	if (summary->programs) {
		json_object_set_new(object, "programs_refused", programs_json(summary->programs));
		json_object_set_new(object, "programs_more",
				    json_integer((json_int_t)run_programs_more(summary->programs)));
	}
	if (summary->made->hint)
		json_object_set_new(object, "hint", json_string(summary->made->hint));
	if (summary->made->count > 0) {
		json_object_set_new(object, "made", run_made_json(summary->made));
		json_object_set_new(object, "made_count",
				    json_integer((json_int_t)summary->made->count));
	}
	if (summary->result.end == EXEC_PROCESS_SIGNALLED)
		json_object_set_new(object, "signal", json_integer(summary->result.status));
	if (summary->result.why[0]) {
		auto_free char *why = text_visible_dup(summary->result.why);

		json_object_set_new(object, "why", json_string(why));
	}
	return object;
}

/* Returned owned; NULL: there is no memory. */
static char *summary_line(const struct run_summary *summary)
{
	json_t *object = summary_json(summary);
	char *line = object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(object);
	return line;
}

int run_report_json(const struct run_summary *summary, int fd)
{
	auto_free char *line = summary_line(summary);
	int r = line ? fd_write_all(fd, line, strlen(line)) : -ENOMEM;

	return r < 0 ? r : fd_write_all(fd, "\n", 1);
}

/* For a person, or a program that reads stderr. Returned owned. */
static char *report_text(const struct run_summary *summary, enum run_report form)
{
	bool has_text =
		form == RUN_REPORT_TEXT || (form == RUN_REPORT_AUTO && isatty(STDERR_FILENO));
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); /* out of memory, as in base/mem */
	if (form == RUN_REPORT_JSON) {
		auto_free char *line = summary_line(summary);

		(void)fprintf(out, "%s\n", line ? line : "");
	} else {
		if (has_text)
			print_text(out, summary);
		print_programs(out, summary->programs); /* printed nowhere else */
		run_made_print(out, summary->made);
		if (form != RUN_REPORT_NONE)
			print_limits(out, summary);
	}
	(void)fclose(out);
	return text;
}

void run_report_print(const struct run_summary *summary, enum run_report form)
{
	auto_free char *text = report_text(summary, form);
	auto_free char *masked = run_tell_is_ci() ? run_mask(text) : NULL;

	(void)fputs(masked ? masked : text, stderr); /* it is closed: no reader */
	/* What to do comes last: it is what a person sees. */
	if (form == RUN_REPORT_NONE)
		run_denials_print_status(summary);
	else if (form != RUN_REPORT_JSON)
		run_denials_print(summary);
}
