/* What another policy would have said to the requests of a log. Its conditions on a request, a
 * program or a command are not evaluated, because no record says enough: such a rule does not allow
 * here. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/pattern.h"
#include "cli/audit/history.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "policies/policies_gate.h"
#include "policies/policies_tools.h"

#define SINCE_DEFAULT_MS (7 * 24 * 3600 * INT64_C(1000)) /* 7d */

enum change { CHANGE_DENIED, CHANGE_ALLOWED, CHANGE_ASKED, CHANGES };
static const char *const change_names[CHANGES] = {
	[CHANGE_DENIED] = "newly denied",
	[CHANGE_ALLOWED] = "newly allowed",
	[CHANGE_ASKED] = "newly asked",
};

struct simulate {
	struct selection selection;
	struct history history;
	struct policy *policy;
	json_t *list; /* NULL: text */
	uint64_t requests[CHANGES], destinations[CHANGES], unchanged;
};

static void decide(const struct simulate *simulate, const struct history_destination *at,
		   struct policy_verdict *ret)
{
	struct policy_facts facts = { .dst = at->dst, .carries = at->dst.protocol, .way = at->way };
	struct addr addr;

	policy_decide_bytes(simulate->policy, &facts, ret);
	if (ret->action != POLICY_DENY && at->address[0] &&
	    addr_parse(at->address, strlen(at->address), &addr) == 0) {
		struct policy_verdict dialled;

		policy_decide_address(simulate->policy, &at->dst, ret, &addr, &dialled);
		if (dialled.action == POLICY_DENY)
			*ret = dialled;
	}
}

/* How many requests it would change, and how. A request that was asked about stays as it was where
 * the policy asks. */
static uint64_t count_change(const struct history_destination *at,
			     const struct policy_verdict *verdict, enum change *ret)
{
	const uint64_t *was = at->counts;
	uint64_t denied = was[HISTORY_DENIED] + was[HISTORY_PRIVATE];

	switch (verdict->action) {
	case POLICY_DENY:
		*ret = CHANGE_DENIED;
		return was[HISTORY_ALLOWED] + was[HISTORY_ANSWERED];
	case POLICY_ALLOW:
		*ret = CHANGE_ALLOWED;
		return denied + was[HISTORY_UNANSWERED];
	case POLICY_ASK:
	default:
		*ret = CHANGE_ASKED;
		return was[HISTORY_ALLOWED] + denied;
	}
}

static void print_change(const struct simulate *simulate, const struct history_destination *at,
			 const struct policy_verdict *verdict, enum change change, uint64_t count)
{
	char text[POLICY_DESTINATION_TEXT_MAX];
	auto_free char *rule = text_visible_dup(verdict->rule);

	if (simulate->list)
		(void)json_array_append_new(
			simulate->list,
			json_pack("{s:s, s:s, s:I, s:s, s:s}", "change", change_names[change],
				  "destination", policy_destination_text(&at->dst, text),
				  "requests", (json_int_t)count, "reason",
				  policy_reason_code(verdict->reason), "rule", rule));
	else
		(void)printf("%-13s  %8" PRIu64 "  %s  (%s%s%s)\n", change_names[change], count,
			     pattern_destination(&at->dst, text),
			     policy_reason_code(verdict->reason), rule[0] ? ", " : "", rule);
}

static void simulate_rows(struct simulate *simulate, void **rows)
{
	for (void **row = rows; *row; row++) {
		const struct history_destination *at = *row;
		struct policy_verdict verdict;
		enum change change;
		uint64_t all = 0;

		for (size_t i = 0; i < HISTORY_VERDICTS; i++)
			all += at->counts[i];
		if (at->is_odd || all == 0)
			continue;
		decide(simulate, at, &verdict);
		uint64_t count = count_change(at, &verdict, &change);

		simulate->unchanged += all - count;
		simulate->requests[change] += count;
		simulate->destinations[change] += count > 0;
		if (count > 0)
			print_change(simulate, at, &verdict, change, count);
	}
}

static int print_json(const struct simulate *simulate)
{
	const uint64_t *requests = simulate->requests;
	json_t *object = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:O}", "newly_denied",
		(json_int_t)requests[CHANGE_DENIED], "newly_allowed",
		(json_int_t)requests[CHANGE_ALLOWED], "newly_asked",
		(json_int_t)requests[CHANGE_ASKED], "unchanged", (json_int_t)simulate->unchanged,
		"malformed", (json_int_t)simulate->selection.skipped, "changes", simulate->list);
	bool is_written = object && json_dumpf(object, stdout, JSON_INDENT(2)) == 0;

	json_decref(object);
	if (!is_written || putchar('\n') == EOF)
		return cli_fail(CLI_ERROR, "cannot write JSON");
	return CLI_OK;
}

static void print_sum(const struct simulate *simulate)
{
	for (enum change change = 0; change < CHANGES; change++)
		(void)printf("%s: %" PRIu64 " request%s to %" PRIu64 " destination%s\n",
			     change_names[change], simulate->requests[change],
			     simulate->requests[change] == 1 ? "" : "s",
			     simulate->destinations[change],
			     simulate->destinations[change] == 1 ? "" : "s");
	(void)printf("unchanged: %" PRIu64 " request%s\n", simulate->unchanged,
		     simulate->unchanged == 1 ? "" : "s");
}

static int simulate_load(struct simulate *simulate, const char *path)
{
	struct policy *policy = simulate->policy = policy_new();
	enum policy_action ignored;
	bool is_good;

	policy_set_start(policy, (int64_t)time(NULL));
	is_good = policy_environment_load(policy, path, POLICY_COMMAND_LINE) == 0;
	/* If no file has a default, the default is ask, as in `run`. */
	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
	is_good = is_good && policy_finish(policy) == 0;
	(void)fputs(is_good ? policy_notes(policy) : policy_errors(policy), stderr);
	return is_good ? CLI_OK : CLI_ERROR;
}

static int simulate_run(struct simulate *simulate, const struct options *options)
{
	int status = simulate_load(simulate, options->operands[0]);
	auto_free void **rows = NULL;

	if (status == CLI_OK)
		status = history_read(&simulate->history, &simulate->selection, &rows);
	if (status != CLI_OK)
		return status;
	simulate->list = options_has(options, OPT_JSON) ? json_array() : NULL;
	simulate_rows(simulate, rows);
	if (!simulate->list)
		print_sum(simulate);
	else if (print_json(simulate) != CLI_OK)
		return CLI_ERROR;
	for (enum change change = 0; change < CHANGES; change++)
		if (simulate->requests[change] > 0)
			return CLI_DENIED;
	return CLI_OK;
}

int cli_policy_simulate(const struct options *options)
{
	struct simulate simulate = { .policy = NULL };
	int status = selection_take(&simulate.selection, options, SINCE_DEFAULT_MS);

	history_init(&simulate.history);
	if (status == CLI_OK)
		status = simulate_run(&simulate, options);
	json_decref(simulate.list);
	policy_free(simulate.policy);
	history_done(&simulate.history);
	selection_done(&simulate.selection);
	return status;
}
