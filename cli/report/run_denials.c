#include "cli/report/run_denials.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/report/run_lock.h"
#include "cli/report/run_refused.h"
#include "cli/report/run_summary.h"
#include "cli/report/run_tell.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_gate.h"
#include "policies/policies_tools.h"

#define NAME_MAX_SHOWN 80 /* bytes of a program's or a request's name */

static char *cut(const char *text)
{
	char out[NAME_MAX_SHOWN];

	(void)text_visible(out, sizeof(out), text, strlen(text));
	return mem_strdup(out);
}

/* What was denied, how often, and to which program. */
static char *head_of(const struct gateway_trip *trip)
{
	char where[POLICY_DESTINATION_TEXT_MAX];
	uint64_t count = trip->denied + trip->unanswered + trip->failed + trip->cut;
	auto_free char *request = trip->request ? cut(trip->request) : NULL;
	auto_free char *program = trip->program && trip->program[0] ? cut(trip->program) : NULL;
	auto_free char *times =
		count == 1 ? mem_strdup("") : mem_printf(", %" PRIu64 " times", count);

	policy_destination_text(&trip->dst, where);
	return mem_printf("%s%s%s%s%s%s%s", where, request ? " (" : "", request ? request : "",
			  request ? ")" : "", times, program ? ", by " : "",
			  program ? program : "");
}

/* @text as a part of a longer text: without the full stop at its end. */
static char *part_of(const char *text)
{
	size_t len = strlen(text);

	return mem_printf("%.*s", (int)(len > 0 && text[len - 1] == '.' ? len - 1 : len), text);
}

static char *remedy_of(const struct gateway_trip *trip, const struct run_summary *summary)
{
	auto_free char *line = policy_reason_line(trip->last_denial, &trip->dst, trip->rule);
	auto_free char *file = summary->policy_path ? text_visible_dup(summary->policy_path) : NULL;
	const char *next = summary->asks_nobody ? policy_reason_next_unasked(trip->last_denial)
						: policy_reason_next(trip->last_denial);

	if (line)
		return mem_printf(" To allow it, add to %s: %s", file ? file : "a policy file",
				  line);
	return mem_printf("%s%s", next[0] ? " Next: " : "", next);
}

char *run_denials_near(const struct gateway_trip *trip, const struct run_summary *summary)
{
	const struct policy_facts facts = { .dst = trip->dst, .carries = trip->dst.protocol };
	size_t count = summary->policy ? policy_rule_count(summary->policy) : 0;
	struct policy_rule_look look;

	if (trip->rule || trip->denied + trip->unanswered == 0)
		return NULL;
	for (size_t i = 1; i <= count; i++) {
		policy_rule_look(summary->policy, i, &facts, &look);
		if (look.match == POLICY_MATCH_NOT_ENFORCED && strcmp(look.word, "allow") == 0)
			return mem_strdup(look.rule);
	}
	return NULL;
}

char *run_denials_text(const struct gateway_trip *trip, const struct run_summary *summary)
{
	auto_free char *head = head_of(trip);
	auto_free char *sentence = part_of(policy_reason_sentence(trip->last_denial));
	auto_free char *rule = trip->rule ? text_visible_dup(trip->rule) : NULL;
	auto_free char *because = policy_because_adds(trip->rule, trip->because)
					  ? text_visible_dup(trip->because)
					  : NULL;
	auto_free char *reason = because ? part_of(because) : NULL;
	auto_free char *remedy = remedy_of(trip, summary);
	/* A question got no answer. */
	bool lacks_rule = trip->last_denial == POLICY_NO_APPROVER ||
			  trip->last_denial == POLICY_PROMPT_TIMEOUT ||
			  trip->last_denial == POLICY_APPROVER_GONE;
	const char *no_rule = lacks_rule ? " No rule decides it." : "";
	auto_free char *near = run_denials_near(trip, summary);

	return mem_printf("%s: %s (%s).%s%s%s%s%s%s%s%s%s%s", head, sentence,
			  policy_reason_code(trip->last_denial), rule ? " Rule: " : no_rule,
			  rule ? rule : "", rule ? "." : "", reason ? " Because: " : "",
			  reason ? reason : "", reason ? "." : "",
			  near ? " It does not meet the conditions of the rule \"" : "",
			  near ? near : "", near ? "\"." : "", remedy);
}

/* The requests that were refused before they named a destination, and why the last one was;
 * returned owned. NULL: there are none. */
static char *unnamed_text(const struct run_summary *summary)
{
	const struct gateway_trip *others = summary->others;

	if (others->unnamed == 0)
		return NULL;
	auto_free char *sentence = part_of(policy_reason_sentence(others->last_unnamed));

	return mem_printf("%" PRIu64 " request%s named no destination%s: %s (%s). Next: %s",
			  others->unnamed, others->unnamed == 1 ? "" : "s",
			  others->unnamed == 1 ? "" : "; the last one", sentence,
			  policy_reason_code(others->last_unnamed),
			  policy_reason_next(others->last_unnamed));
}

bool run_denials_is_denied(const struct gateway_trip *trip)
{
	return trip->denied + trip->unanswered + trip->failed + trip->cut > 0;
}

static size_t count_denied(const struct run_summary *summary)
{
	size_t count = 0;

	for (size_t i = 0; i < summary->trip_count; i++)
		count += run_denials_is_denied(&summary->trips[i]);
	return count;
}

static void say_destinations(struct run_tell *tell, const struct run_summary *summary)
{
	size_t shown = 0, all = count_denied(summary);
	auto_free char *unnamed = unnamed_text(summary);

	for (size_t i = 0; i < summary->trip_count && shown < RUN_DENIALS_MAX; i++) {
		if (!run_denials_is_denied(&summary->trips[i]))
			continue;
		auto_free char *text = run_denials_text(&summary->trips[i], summary);

		run_tell_say(tell, RUN_TELL_ERROR, text);
		shown++;
	}
	if (all > shown) {
		auto_free char *text =
			mem_printf("%zu more destinations were denied, not answered or not reached",
				   all - shown);

		run_tell_say(tell, RUN_TELL_ERROR, text);
	}
	if (unnamed)
		run_tell_say(tell, RUN_TELL_ERROR, unnamed);
}

static size_t say_refused(struct run_tell *tell, const struct run_summary *summary)
{
	const char *line;
	size_t i;

	for (i = 0; (line = run_refused_line(summary->refused, summary->has_failed, i)); i++)
		if (tell)
			run_tell_say(tell, RUN_TELL_WARNING, line);
	if (tell && i > 0 && summary->refused->more > 0) {
		auto_free char *text =
			mem_printf("%zu more refusals by the sandbox", summary->refused->more);

		run_tell_say(tell, RUN_TELL_WARNING, text);
	}
	return i;
}

/* "" or why the exit status is not the command's. Returned owned. */
static char *status_text(const struct run_summary *summary)
{
	uint64_t denied = 0, unanswered = 0;

	if (summary->exit_status == summary->command_status || !summary->fails_by)
		return mem_strdup("");
	if (strcmp(summary->fails_by, "--egress-lock") == 0)
		return mem_printf("%s: the exit status is %d instead of %d, because the run is "
				  "not as its lock says; if that is right, write it again with "
				  "`--egress-lock record`",
				  summary->fails_by, summary->exit_status, summary->command_status);
	for (size_t i = 0; i < summary->trip_count; i++) {
		denied += summary->trips[i].denied > 0;
		unanswered += summary->trips[i].unanswered > 0;
	}
	auto_free char *requests =
		summary->denied + summary->unanswered == 0
			? mem_strdup("")
			: mem_printf("; commands, patches and permissions denied: %" PRIu64
				     ", not answered: %" PRIu64,
				     summary->denied, summary->unanswered);

	return mem_printf("%s: the exit status is %d instead of %d; destinations denied: %" PRIu64
			  ", not answered: %" PRIu64 "%s%s%s%s",
			  summary->fails_by, summary->exit_status, summary->command_status, denied,
			  unanswered, requests, summary->bundle ? "; the questions are in " : "",
			  summary->bundle ? summary->bundle : "",
			  summary->bundle ? "; answer them with `sallyport approve bundle`" : "");
}

void run_denials_print(const struct run_summary *summary)
{
	struct run_tell tell;
	auto_free char *status = status_text(summary);

	if (count_denied(summary) == 0 && summary->others->unnamed == 0 &&
	    say_refused(NULL, summary) == 0 && !status[0] && !run_lock_has_any(summary->lock))
		return;
	run_tell_begin(&tell, summary->run);
	(void)say_refused(&tell, summary);
	say_destinations(&tell, summary);
	run_lock_say(summary->lock, &tell);
	if (status[0])
		run_tell_say(&tell, RUN_TELL_ERROR, status);
	run_tell_end(&tell, summary->run);
}

void run_denials_print_status(const struct run_summary *summary)
{
	auto_free char *status = status_text(summary);

	if (status[0])
		(void)fprintf(stderr, "sallyport: %s\n", status);
}
