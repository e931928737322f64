#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/policy_command.h"
#include "cli/policy_keep.h"
#include "cli/policy_layers.h"
#include "cli/policy_matches.h"
#include "cli/policy_request.h"
#include "policies/policies_tools.h"

static const char help[] =
	"usage: sallyport policy check [--managed] FILE...\n"
	"       sallyport policy explain [--policy FILE]... [--default ACTION] [--json] "
	"DESTINATION\n"
	"       sallyport policy list [--answers] [--json]\n"
	"       sallyport policy test [--managed] [--json] FILE...\n"
	"       sallyport policy trust FILE...\n"
	"       sallyport policy undo\n"
	"       sallyport policy diff A B\n"
	"       sallyport policy fmt [--check] FILE...\n"
	"       sallyport policy import FORMAT FILE\n"
	"       sallyport policy export [--lossy] FORMAT FILE...\n"
	"\n"
	"check    read policy files and their `expect` lines; every error with file:line:column\n"
	"explain  what would be decided about a destination or a command, by which rule, and what "
	"to\n"
	"         do next\n"
	"list     every rule of every layer, or the kept answers\n"
	"test     the `expect` lines of many files, with a summary\n"
	"trust    let a project's policy file count, as it is now\n"
	"undo     remove the last kept answer\n"
	"diff     what one policy decides differently from another, everywhere\n"
	"fmt      lay files out as everybody does\n"
	"import   write down in this language what others wrote in theirs\n"
	"export   the way back, into their languages\n"
	"\n"
	"`sallyport policy STEP --help` says more;\n"
	"the language is sallyport-policy(5).\n";

static const char help_explain[] =
	"usage: sallyport policy explain [options] DESTINATION\n"
	"       sallyport policy explain [options] command COMMAND [ARGUMENT...]\n"
	"\n"
	"DESTINATION is [http|https|tcp://]HOST[:PORT]; without a port, 443 (http: 80).\n"
	"The rules are those of all layers: managed, user, project, and every --policy.\n"
	"\n"
	"  --policy FILE            read FILE too; may be repeated\n"
	"  --default ask|deny|allow what no rule matches (default: what the files say, else ask)\n"
	"  --answers FILE           and these signed answers, as in `run`; may be repeated\n"
	"  --no-user                leave the user's policy file out\n"
	"  --managed DIR            the managed layer is DIR\n"
	"  --json                   one JSON object on stdout\n"
	"  --method METHOD, --path PATH, --query QUERY, --header \"NAME: VALUE\"\n"
	"                           of a request that is seen: else GET / without query; of https\n"
	"                           as if it were inspected. Without any, nothing is seen of it\n"
	"  --from \"COMMAND\", --by PROGRAM\n"
	"                           who asks; without, it is not known\n"
	"\n"
	"Exit status: 0 allow, 1 deny, 2 ask, 3 error.\n"
	"\n"
	"  sallyport policy explain https://example.org\n"
	"  sallyport policy explain --policy ci.policy tcp://db.example.org:5432\n"
	"  sallyport policy explain --method POST --path /v1/keys http://api.example.org\n"
	"  sallyport policy explain command git push --force\n";

enum {
	OPT_POLICY = 1,
	OPT_DEFAULT,
	OPT_NO_USER,
	OPT_JSON,
	OPT_HELP,
	OPT_MANAGED,
	OPT_ANSWERS,
	OPT_METHOD,
	OPT_PATH,
	OPT_QUERY,
	OPT_HEADER,
	OPT_FROM,
	OPT_BY
};

struct explain {
	struct policy *policy;
	bool has_default, is_json, is_user_left_out, is_help;
	enum policy_action default_action;
	struct policy_destination dst;
	struct policy_facts facts;
	struct policy_verdict verdict;
	const char *managed;
	const char *const *command; /* what is asked about, instead of @dst; NULL: nothing */
	char **policies;            /* owned list of borrowed strings, NULL-terminated */
	size_t policy_count;
	char **answers; /* as @policies */
	size_t answer_count;
	struct policy_request_words words;
};

/* Without a default in any file the question is asked, as in `run`. */
static void settle_default(struct policy *policy)
{
	enum policy_action ignored;

	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
}

static bool parse_action(const char *text, enum policy_action *ret)
{
	static const enum policy_action all[] = { POLICY_DENY, POLICY_ASK, POLICY_ALLOW };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strcmp(text, policy_action_name(all[i])) != 0)
			continue;
		*ret = all[i];
		return true;
	}
	return false;
}

/* 0, or an exit status: the request and who asks. */
static int explain_request_option(struct explain *explain, int option)
{
	struct policy_request_words *words = &explain->words;
	struct err why = { 0 };
	int r = 0;

	if (option == OPT_METHOD)
		r = policy_request_method(words, optarg, &why);
	else if (option == OPT_PATH)
		r = policy_request_path(words, optarg, &why);
	else if (option == OPT_QUERY)
		r = policy_request_query(words, optarg, &why);
	else if (option == OPT_HEADER)
		r = policy_request_header(words, optarg, &why);
	else if (option == OPT_BY)
		r = policy_request_by(words, optarg, &why);
	else
		words->from = optarg;
	return r < 0 ? cli_usage_error("policy explain", CLI_ERROR, "%s", why.text) : 0;
}

/* 0, or an exit status when the words make no sense. */
static int explain_option(struct explain *explain, int option, const char *word)
{
	switch (option) {
	case OPT_POLICY:
		explain->policies[explain->policy_count++] = optarg;
		return 0;
	case OPT_ANSWERS:
		explain->answers[explain->answer_count++] = optarg;
		return 0;
	case OPT_MANAGED:
		explain->managed = optarg;
		return 0;
	case OPT_DEFAULT:
		explain->has_default = true;
		if (parse_action(optarg, &explain->default_action))
			return 0;
		return cli_usage_error("policy explain", CLI_ERROR,
				       "--default is ask, deny or allow, not `%s`", optarg);
	case OPT_NO_USER:
		explain->is_user_left_out = true;
		return 0;
	case OPT_JSON:
		explain->is_json = true;
		return 0;
	case OPT_HELP:
	case 'h':
		explain->is_help = true;
		return 0;
	case OPT_METHOD:
	case OPT_PATH:
	case OPT_QUERY:
	case OPT_HEADER:
	case OPT_FROM:
	case OPT_BY:
		return explain_request_option(explain, option);
	case ':':
		return cli_usage_error("policy explain", CLI_ERROR, "%s needs a value", word);
	default:
		return cli_usage_error("policy explain", CLI_ERROR, "no such option: %s", word);
	}
}

static int explain_take_destination(struct explain *explain, const char *text)
{
	struct err why = { 0 };

	if (!text)
		return cli_usage_error("policy explain", CLI_ERROR, "one destination, please");
	if (policy_destination_parse(text, &explain->dst, &why) < 0)
		return cli_usage_error("policy explain", CLI_ERROR, "%s", why.text);
	return 0;
}

static int explain_take_command(struct explain *explain, char **argv)
{
	if (argv[0] && strcmp(argv[0], "--") == 0)
		argv++;
	if (!argv[0])
		return cli_usage_error("policy explain", CLI_ERROR, "which command?");
	explain->command = (const char *const *)argv;
	return 0;
}

static int explain_options(struct explain *explain, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, OPT_POLICY },
		{ "answers", required_argument, NULL, OPT_ANSWERS },
		{ "default", required_argument, NULL, OPT_DEFAULT },
		{ "no-user", no_argument, NULL, OPT_NO_USER },
		{ "managed", required_argument, NULL, OPT_MANAGED },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "method", required_argument, NULL, OPT_METHOD },
		{ "path", required_argument, NULL, OPT_PATH },
		{ "query", required_argument, NULL, OPT_QUERY },
		{ "header", required_argument, NULL, OPT_HEADER },
		{ "from", required_argument, NULL, OPT_FROM },
		{ "by", required_argument, NULL, OPT_BY },
		{ 0 },
	};
	const char *text = NULL;

	optind = 0; /* argv[0] is "explain" */
	for (;;) {
		int at = optind > 0 ? optind : 1;
		int option = getopt_long(argc, argv, "+:h", options, NULL);
		int r = option != -1 ? explain_option(explain, option, argv[optind - 1]) : 0;

		if (r != 0 || explain->is_help)
			return r;
		if (option != -1)
			continue;
		if (optind == argc)
			break;
		/* What is behind `--` is the destination, and no option. */
		if (optind > at && !text && strcmp(argv[optind], "command") != 0) {
			text = optind == argc - 1 ? argv[optind] : NULL;
			break;
		}
		/* All words behind it are the command's, options too. */
		if (!text && strcmp(argv[optind], "command") == 0)
			return explain_take_command(explain, argv + optind + 1);
		if (text)
			return cli_usage_error("policy explain", CLI_ERROR,
					       "one destination, please");
		text = argv[optind++];
	}
	return explain_take_destination(explain, text);
}

/* One that does not count is an error, as in `run`. */
static int explain_answers(struct explain *explain)
{
	struct bundle_reply *replies;
	struct err why = { 0 };
	size_t count, lacking;
	int r = bundle_files_replies(explain->answers, &replies, &count, &why);

	if (r == 0 && count > 0)
		r = bundle_files_answer(explain->policy, replies, count, time(NULL), &lacking,
					&why);
	bundle_files_forget(replies, count);
	return r < 0 ? cli_fail(CLI_ERROR, "--answers: %s", why.text) : 0;
}

static int explain_policy(struct explain *explain)
{
	auto_free char *folder = cli_config_dir(), *state = cli_state_dir(), *cwd = getcwd(NULL, 0);
	auto_free char *user = folder ? mem_printf("%s/policy", folder) : NULL;
	struct policy_layers layers = {
		.managed = explain->managed,
		.user = explain->is_user_left_out ? NULL : user,
		.cwd = cwd,
		.state = state,
		.arguments = explain->policies,
	};
	bool is_good = policy_layers_load(explain->policy, &layers);

	if (is_good && explain_answers(explain) != 0)
		return CLI_ERROR;
	if (explain->has_default)
		policy_set_default(explain->policy, explain->default_action);
	else
		settle_default(explain->policy);
	if (!is_good || policy_finish(explain->policy) < 0) {
		(void)fputs(policy_errors(explain->policy), stderr);
		return CLI_ERROR;
	}
	(void)fputs(policy_notes(explain->policy), stderr);
	return 0;
}

/* The request that says the most about itself: what DESTINATION says. */
static int explain_decide(struct explain *explain)
{
	struct err why = { 0 };

	explain->facts =
		(struct policy_facts){ .dst = explain->dst, .carries = explain->dst.protocol };
	if (policy_request_fill(&explain->words, &explain->facts, &why) < 0)
		return cli_usage_error("policy explain", CLI_ERROR, "%s", why.text);
	policy_decide(explain->policy, &explain->facts, &explain->verdict);
	return CLI_OK;
}

static const char *explain_promise(enum policy_protocol promise)
{
	switch (promise) {
	case POLICY_HTTP:
		return "http: the bytes must be HTTP for this host";
	case POLICY_HTTPS:
		return "https: the bytes must be TLS for this host";
	case POLICY_TCP:
		return "tcp: any bytes";
	case POLICY_UDP:
	case POLICY_NO_PROTOCOL:
		break;
	}
	return "";
}

static void print_row(const char *name, const char *text)
{
	if (text[0])
		(void)printf("  %-8s %s\n", name, text);
}

static void print_text(const struct explain *explain)
{
	const struct policy_verdict *verdict = &explain->verdict;
	char text[POLICY_DESTINATION_TEXT_MAX];

	(void)printf("%s %s (%s)\n", policy_action_name(verdict->action),
		     policy_destination_text(&explain->dst, text),
		     policy_reason_code(verdict->reason));
	print_row("why", policy_reason_sentence(verdict->reason));
	print_row("rule", verdict->rule);
	print_row("because", verdict->because);
	print_row("by", verdict->by);
	if (verdict->action != POLICY_DENY)
		print_row("promise", explain_promise(verdict->promise));
	if (verdict->action != POLICY_DENY && verdict->reason != POLICY_INSIDE)
		print_row("private", verdict->may_private ? "may be a private address"
							  : "no: private addresses are refused");
	policy_matches_print(&(struct policy_matches){ explain->policy, &explain->facts, verdict });
	print_row("next", policy_reason_next(verdict->reason));
}

static int print_json(const struct explain *explain)
{
	const struct policy_verdict *verdict = &explain->verdict;
	char text[POLICY_DESTINATION_TEXT_MAX];
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:s}", "destination",
		policy_destination_text(&explain->dst, text), "action",
		policy_action_name(verdict->action), "protocol",
		policy_protocol_name(explain->dst.protocol), "host", explain->dst.host, "port",
		(int)explain->dst.port, "reason", policy_reason_code(verdict->reason), "sentence",
		policy_reason_sentence(verdict->reason), "rule", verdict->rule, "because",
		verdict->because, "promise", policy_protocol_name(verdict->promise), "may_private",
		(int)verdict->may_private, "next", policy_reason_next(verdict->reason));

	if (!object ||
	    policy_matches_put(
		    &(struct policy_matches){ explain->policy, &explain->facts, verdict },
		    object) != 0 ||
	    json_dumpf(object, stdout, JSON_INDENT(2)) < 0) {
		json_decref(object);
		return cli_fail(CLI_ERROR, "cannot write JSON");
	}
	(void)putchar('\n');
	json_decref(object);
	return CLI_OK;
}

static int explain_run(struct explain *explain, int argc, char **argv)
{
	static const int statuses[] = {
		[POLICY_DENY] = CLI_DENIED,
		[POLICY_ASK] = CLI_ASK,
		[POLICY_ALLOW] = CLI_OK,
	};
	int status = explain_options(explain, argc, argv);

	if (status != 0)
		return status;
	if (explain->is_help) {
		(void)fputs(help_explain, stdout);
		return CLI_OK;
	}
	status = explain_policy(explain);
	if (status != 0)
		return status;
	if (explain->command)
		return policy_command_explain(explain->policy, explain->command, explain->is_json);
	status = explain_decide(explain);
	if (status != 0)
		return status;
	if (!explain->is_json)
		print_text(explain);
	else if (print_json(explain) != CLI_OK)
		return CLI_ERROR;
	return statuses[explain->verdict.action];
}

static int run_explain(int argc, char **argv)
{
	auto_free char **policies = mem_new_array((size_t)argc + 1, sizeof(*policies));
	auto_free char **answers = mem_new_array((size_t)argc + 1, sizeof(*answers));
	struct explain explain = { .policy = policy_new(),
				   .policies = policies,
				   .answers = answers };
	int status = explain_run(&explain, argc, argv);

	policy_request_done(&explain.words);
	policy_free(explain.policy);
	return status;
}

static const struct {
	const char *word;
	int (*run)(int argc, char **argv);
} steps[] = {
	{ "diff", cli_policy_diff },     { "fmt", cli_policy_fmt },
	{ "import", cli_policy_import }, { "export", cli_policy_export },
	{ "test", cli_policy_test },
};

int cli_policy(int argc, char **argv)
{
	static const struct {
		const char *word;
		int (*run)(int argc, char **argv);
	} kept[] = {
		{ "list", policy_keep_list },
		{ "trust", policy_keep_trust },
		{ "undo", policy_keep_undo },
	};
	const char *word = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (strcmp(word, steps[i].word) == 0)
			return steps[i].run(argc - 1, argv + 1);
	}

	if (strcmp(word, "check") == 0)
		return cli_policy_check(argc - 1, argv + 1);
	if (strcmp(word, "explain") == 0)
		return run_explain(argc - 1, argv + 1);
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		(void)fputs(help, stdout);
		return CLI_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (strcmp(word, kept[i].word) == 0)
			return kept[i].run(argc - 1, argv + 1);
	}
	if (word[0])
		return cli_usage_error("policy", CLI_ERROR, "no step `%s`", word);
	return cli_usage_error("policy", CLI_ERROR, "check, explain, list, test, trust or undo?");
}
