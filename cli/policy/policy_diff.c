#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "policies/policies_tools.h"

#define DIFF_SHOWN_MAX 200

/* A reviewer looks first for what a change opens: this is the order of the output. */
enum diff_rank { DIFF_ALLOWED, DIFF_WIDER, DIFF_OTHER, DIFF_RANKS };

struct diff {
	struct policy *sides[2];
	size_t files[2];
	enum policy_layer layer;
	bool is_json, is_bad;
	struct diff_list {
		size_t count; /* all of them; the first DIFF_SHOWN_MAX are kept */
		char *texts[DIFF_SHOWN_MAX];
		json_t *changes;
	} lists[DIFF_RANKS];
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

static enum diff_rank diff_rank(const struct policy_change *change)
{
	if (change->rule[0] || change->before == change->after)
		return DIFF_WIDER; /* the same action, with other limits or conditions */
	return change->after == POLICY_ALLOW                                  ? DIFF_ALLOWED
	       : change->after == POLICY_ASK && change->before == POLICY_DENY ? DIFF_WIDER
									      : DIFF_OTHER;
}

static json_t *change_json(const struct policy_change *change)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "change",
			 change->what, "before", policy_action_name(change->before), "after",
			 policy_action_name(change->after), "destination", change->destination,
			 "rule", change->rule, "resolved", change->resolved, "example",
			 change->example, "example_address", change->example_address, "from",
			 change->from, "limits_before", change->limits[0], "limits_after",
			 change->limits[1]);
}

/* "allow within upload 1024" */
static char *side_text(enum policy_action action, const char *limits)
{
	return mem_printf("%s%s%s", policy_action_name(action), limits[0] ? " within " : "",
			  limits);
}

static char *change_text(const struct policy_change *change)
{
	if (change->rule[0])
		return mem_printf("%s: %s\n", change->what, change->rule);
	auto_free char *before = side_text(change->before, change->limits[0]),
		       *after = side_text(change->after, change->limits[1]);
	bool is_resolved = change->resolved[0] != '\0';

	return mem_printf("%s: %s%s%s%s%s\n    %s -> %s, for example %s%s%s\n", change->what,
			  change->destination, is_resolved ? " resolving to " : "",
			  change->resolved, change->from[0] ? ", from " : "", change->from, before,
			  after, change->example, is_resolved ? " at " : "",
			  change->example_address);
}

static void keep_change(const struct policy_change *change, void *arg)
{
	struct diff *diff = arg;
	struct diff_list *list = &diff->lists[diff_rank(change)];

	if (list->count++ >= DIFF_SHOWN_MAX)
		return;
	if (diff->is_json)
		(void)json_array_append_new(list->changes, change_json(change));
	else
		list->texts[list->count - 1] = change_text(change);
}

static void print_texts(const struct diff *diff, size_t count)
{
	size_t shown = 0;

	for (size_t rank = 0; rank < DIFF_RANKS; rank++) {
		for (size_t i = 0; i < diff->lists[rank].count && shown < DIFF_SHOWN_MAX;
		     i++, shown++)
			(void)fputs(diff->lists[rank].texts[i], stdout);
	}
	if (count > shown)
		(void)printf("... and %zu more\n", count - shown);
}

static int print_json(const struct diff *diff, size_t count)
{
	json_t *changes = json_array(), *change;
	size_t i;

	for (size_t rank = 0; rank < DIFF_RANKS; rank++) {
		json_array_foreach(diff->lists[rank].changes, i, change)
		{
			if (json_array_size(changes) < DIFF_SHOWN_MAX)
				(void)json_array_append(changes, change);
		}
	}
	json_t *object = json_pack("{s:b, s:I, s:o}", "same", count == 0, "count",
				   (json_int_t)count, "changes", changes);
	bool is_written = object && json_dumpf(object, stdout, JSON_INDENT(2)) == 0;

	json_decref(object);
	if (!is_written)
		return cli_fail(CLI_ERROR, "cannot write JSON");
	(void)putchar('\n');
	return CLI_OK;
}

static void diff_done(struct diff *diff)
{
	for (size_t rank = 0; rank < DIFF_RANKS; rank++) {
		for (size_t i = 0; i < DIFF_SHOWN_MAX; i++)
			free(diff->lists[rank].texts[i]);
		json_decref(diff->lists[rank].changes);
	}
	policy_free(diff->sides[0]);
	policy_free(diff->sides[1]);
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
	int r = policy_diff(diff->sides[0], diff->sides[1], SIZE_MAX, keep_change, diff, &count,
			    &why);

	if (r < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	if (diff->is_json && print_json(diff, count) != CLI_OK)
		return CLI_ERROR;
	if (!diff->is_json)
		print_texts(diff, count);
	return r == 0 ? CLI_OK : CLI_DENIED;
}

int cli_policy_diff(const struct options *options)
{
	struct diff diff = { .sides = { policy_new(), policy_new() },
			     .layer = POLICY_COMMAND_LINE,
			     .is_json = options_has(options, OPT_JSON) };

	for (size_t rank = 0; rank < DIFF_RANKS; rank++)
		diff.lists[rank].changes = json_array();
	int status = diff_options(&diff, options);

	if (status == 0)
		status = diff_compare(&diff);
	diff_done(&diff);
	return status;
}
