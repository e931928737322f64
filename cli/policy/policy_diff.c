#include <jansson.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "policies/policies_tools.h"

#define DIFF_SHOWN_MAX 200

struct diff {
	struct policy *sides[2];
	size_t files[2];
	enum policy_layer layer;
	bool is_json, is_bad;
	json_t *changes;
};

static void diff_load(struct diff *diff, size_t side, const char *path)
{
	diff->files[side]++;
	diff->is_bad |= policy_environment_load(diff->sides[side], path, diff->layer) < 0;
}

/* In order: --layer applies to the files that follow it. 0, or an exit status. */
static int diff_options(struct diff *diff, const struct options *options)
{
	/* In the order of the words of --layer in options.def. */
	static const enum policy_layer layers[] = { POLICY_MANAGED, POLICY_USER,
						    POLICY_COMMAND_LINE, POLICY_PROJECT };

	for (size_t i = 0; i < options->given_count; i++) {
		const struct options_given *given = &options->given[i];

		if (given->option == OPT_LAYER)
			diff->layer = layers[options_choice_of(OPT_LAYER, given->value)];
		else if (given->option != OPT_JSON)
			diff_load(diff, given->option == OPT_DIFF_B, given->value);
	}
	for (size_t i = 0; i < options->operand_count && i < ARRAY_SIZE(diff->files); i++)
		diff_load(diff, i, options->operands[i]);
	bool are_two = options->operand_count == 2 && diff->files[0] == 1 && diff->files[1] == 1;

	if (!are_two && (options->operand_count > 0 || !diff->files[0] || !diff->files[1]))
		return options_wrong(options->command, "name two files, or --a FILE and --b FILE");
	return 0;
}

/* If no file has a default, the default is ask, as in `run`. */
static bool diff_finish(struct policy *policy)
{
	enum policy_action ignored;

	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
	if (policy_finish(policy) == 0) {
		(void)fputs(policy_notes(policy), stderr);
		return true;
	}
	(void)fputs(policy_errors(policy), stderr);
	return false;
}

static void print_json_change(const struct policy_change *change, struct diff *diff)
{
	(void)json_array_append_new(
		diff->changes,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "change",
			  change->what, "before", policy_action_name(change->before), "after",
			  policy_action_name(change->after), "destination", change->destination,
			  "rule", change->rule, "resolved", change->resolved, "example",
			  change->example, "example_address", change->example_address, "from",
			  change->from, "limits_before", change->limits[0], "limits_after",
			  change->limits[1]));
}

/* "allow within upload 1024" */
static void print_side(enum policy_action action, const char *limits)
{
	(void)printf("%s%s%s", policy_action_name(action), limits[0] ? " within " : "", limits);
}

static void print_change(const struct policy_change *change, void *arg)
{
	struct diff *diff = arg;

	if (diff->is_json) {
		print_json_change(change, diff);
		return;
	}
	if (change->rule[0]) {
		(void)printf("%s: %s\n", change->what, change->rule);
		return;
	}
	(void)printf("%s: %s", change->what, change->destination);
	if (change->resolved[0])
		(void)printf(" resolving to %s", change->resolved);
	if (change->from[0])
		(void)printf(", from %s", change->from);
	(void)printf("\n    ");
	print_side(change->before, change->limits[0]);
	(void)printf(" -> ");
	print_side(change->after, change->limits[1]);
	(void)printf(", for example %s", change->example);
	if (change->resolved[0])
		(void)printf(" at %s", change->example_address);
	(void)putchar('\n');
}

static int print_json(const struct diff *diff, size_t count)
{
	json_t *object = json_pack("{s:b, s:I, s:O}", "same", count == 0, "count",
				   (json_int_t)count, "changes", diff->changes);
	bool is_written = object && json_dumpf(object, stdout, JSON_INDENT(2)) == 0;

	json_decref(object);
	if (!is_written)
		return cli_fail(CLI_ERROR, "cannot write JSON");
	(void)putchar('\n');
	return CLI_OK;
}

static int diff_compare(struct diff *diff)
{
	struct err why = { 0 };
	size_t count = 0;
	int64_t now = (int64_t)time(NULL);
	bool is_good = true;

	for (size_t i = 0; i < 2; i++) {
		policy_set_start(diff->sides[i], now);
		is_good &= diff_finish(diff->sides[i]);
	}
	if (!is_good || diff->is_bad)
		return CLI_ERROR;
	int r = policy_diff(diff->sides[0], diff->sides[1], DIFF_SHOWN_MAX, print_change, diff,
			    &count, &why);

	if (r < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	if (diff->is_json && print_json(diff, count) != CLI_OK)
		return CLI_ERROR;
	if (!diff->is_json && count > DIFF_SHOWN_MAX)
		(void)printf("... and %zu more\n", count - DIFF_SHOWN_MAX);
	return r == 0 ? CLI_OK : CLI_DENIED;
}

int cli_policy_diff(const struct options *options)
{
	struct diff diff = { .sides = { policy_new(), policy_new() },
			     .layer = POLICY_COMMAND_LINE,
			     .is_json = options_has(options, OPT_JSON),
			     .changes = json_array() };
	int status = diff_options(&diff, options);

	if (status == 0)
		status = diff_compare(&diff);
	json_decref(diff.changes);
	policy_free(diff.sides[0]);
	policy_free(diff.sides[1]);
	return status;
}
