#include <getopt.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/policy_environment.h"
#include "policies/policies_tools.h"

#define DIFF_SHOWN_MAX 200

static const char help[] =
	"usage: sallyport policy diff [--layer LAYER] [--json] A B\n"
	"       sallyport policy diff [--json] [--layer LAYER] --a FILE... --b FILE...\n"
	"\n"
	"What the policy B decides differently from A: newly allowed, newly denied, newly asked,\n"
	"wider or narrower limits, each with one request as the example. Every kind of request "
	"that\n"
	"the two files tell apart (by destination, method, path, query, header, who asks) is\n"
	"compared, from now on and whenever a rule ends, so that silence means: the same\n"
	"everywhere. At most 200 lines. Commands and folders are not compared.\n"
	"\n"
	"  --a FILE, --b FILE  a policy of several files; may be repeated\n"
	"  --layer LAYER       of the files behind it: managed, user, command-line (as if nothing\n"
	"                      is said), or project, not trusted\n"
	"  --json              one JSON object on stdout\n"
	"\n"
	"Exit status: 0 the same, 1 different, 3 error.\n"
	"\n"
	"  sallyport policy diff team.policy team.policy.new\n";

enum { OPT_A = 1, OPT_B, OPT_JSON, OPT_HELP, OPT_LAYER };

struct diff {
	struct policy *sides[2];
	size_t files[2];
	enum policy_layer layer;
	bool is_json, is_help, is_bad;
	json_t *changes;
};

static void diff_load(struct diff *diff, size_t side, const char *path)
{
	diff->files[side]++;
	diff->is_bad |= policy_environment_load(diff->sides[side], path, diff->layer) < 0;
}

static bool diff_layer(const char *word, enum policy_layer *ret)
{
	static const struct {
		const char *word;
		enum policy_layer layer;
	} layers[] = {
		{ "managed", POLICY_MANAGED },
		{ "user", POLICY_USER },
		{ "command-line", POLICY_COMMAND_LINE },
		{ "project", POLICY_PROJECT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
		if (strcmp(word, layers[i].word) != 0)
			continue;
		*ret = layers[i].layer;
		return true;
	}
	return false;
}

static int diff_option(struct diff *diff, int option, const char *word)
{
	switch (option) {
	case OPT_A:
	case OPT_B:
		diff_load(diff, option == OPT_B, optarg);
		return 0;
	case OPT_LAYER:
		if (diff_layer(optarg, &diff->layer))
			return 0;
		return cli_usage_error("policy diff", CLI_ERROR, "no such layer: %s", optarg);
	case OPT_JSON:
		diff->is_json = true;
		return 0;
	case OPT_HELP:
	case 'h':
		diff->is_help = true;
		return 0;
	case ':':
		return cli_usage_error("policy diff", CLI_ERROR, "%s needs a value", word);
	default:
		return cli_usage_error("policy diff", CLI_ERROR, "no such option: %s", word);
	}
}

static int diff_options(struct diff *diff, int argc, char **argv)
{
	static const struct option options[] = {
		{ "a", required_argument, NULL, OPT_A },
		{ "b", required_argument, NULL, OPT_B },
		{ "layer", required_argument, NULL, OPT_LAYER },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, OPT_HELP },
		{ 0 },
	};

	optind = 0; /* argv[0] is "diff" */
	for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
		int r = diff_option(diff, option, argv[optind - 1]);

		if (r != 0 || diff->is_help)
			return r;
	}
	if (argc - optind == 2 && diff->files[0] + diff->files[1] == 0) {
		diff_load(diff, 0, argv[optind]);
		diff_load(diff, 1, argv[optind + 1]);
		return 0;
	}
	if (optind < argc || diff->files[0] == 0 || diff->files[1] == 0)
		return cli_usage_error("policy diff", CLI_ERROR,
				       "two files, or --a FILE and --b FILE");
	return 0;
}

/* Without a default in any file the question is asked, as in `run`. */
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
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "change",
			  change->what, "before", policy_action_name(change->before), "after",
			  policy_action_name(change->after), "destination", change->destination,
			  "condition", change->condition, "resolved", change->resolved, "example",
			  change->example, "example_request", change->example_request,
			  "example_address", change->example_address, "from", change->from,
			  "limits_before", change->limits[0], "limits_after", change->limits[1]));
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
	(void)printf("%s: %s", change->what, change->destination);
	if (change->condition[0])
		(void)printf(" %s", change->condition);
	if (change->resolved[0])
		(void)printf(" resolving to %s", change->resolved);
	if (change->from[0])
		(void)printf(", from %s", change->from);
	(void)printf("\n    ");
	print_side(change->before, change->limits[0]);
	(void)printf(" -> ");
	print_side(change->after, change->limits[1]);
	(void)printf(", for example %s", change->example);
	if (change->example_request[0])
		(void)printf(", %s", change->example_request);
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

int cli_policy_diff(int argc, char **argv)
{
	struct diff diff = { .sides = { policy_new(), policy_new() },
			     .layer = POLICY_COMMAND_LINE,
			     .changes = json_array() };
	int status = diff_options(&diff, argc, argv);

	if (status == 0 && diff.is_help)
		(void)fputs(help, stdout);
	else if (status == 0)
		status = diff_compare(&diff);
	json_decref(diff.changes);
	policy_free(diff.sides[0]);
	policy_free(diff.sides[1]);
	return status;
}
