#include "cli/policy_keep.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/policy_environment.h"
#include "cli/policy_layers.h"
#include "cli/policy_matches.h"
#include "policies/policies_tools.h"

static const char help_list[] = "usage: sallyport policy list [options]\n"
				"\n"
				"Every rule of every layer, with where it stands.\n"
				"\n"
				"  --answers        kept answers only\n"
				"  --presets        the names for `include preset NAME`, and what "
				"each is for\n"
				"  --policy FILE    read FILE too; may be repeated\n"
				"  --managed DIR    the managed layer is DIR\n"
				"  --no-user        leave the user's policy file out\n"
				"  --json           one JSON array on stdout\n";

static const char help_undo[] =
	"usage: sallyport policy undo\n"
	"\n"
	"Removes the last kept answer from the user's policy file, and says which.\n"
	"Exit status: 0 removed, 1 there is none, 3 error.\n";

static const char help_trust[] =
	"usage: sallyport policy trust [--configuration] FILE...\n"
	"\n"
	"Notes down that FILE, a project's policy, is trusted as it is now: its allows count\n"
	"then, until a byte of it changes. What it includes is trusted by itself. Read it first.\n"
	"With --configuration FILE is a tool's, such as .npmrc or .git/config, and counts then "
	"for\n"
	"`configured TOOL`.\n";

enum {
	OPT_HELP = 256,
	OPT_ANSWERS,
	OPT_POLICY,
	OPT_MANAGED,
	OPT_NO_USER,
	OPT_JSON,
	OPT_PRESETS,
	OPT_FLAG
};

struct list {
	bool is_answers, is_json, is_user_left_out, is_presets;
	const char *managed;
	char **policies; /* owned list of borrowed strings, NULL-terminated */
	size_t policy_count;
};

static int list_option(struct list *list, int option)
{
	switch (option) {
	case OPT_ANSWERS:
		list->is_answers = true;
		return 0;
	case OPT_POLICY:
		list->policies[list->policy_count++] = optarg;
		return 0;
	case OPT_MANAGED:
		list->managed = optarg;
		return 0;
	case OPT_NO_USER:
		list->is_user_left_out = true;
		return 0;
	case OPT_JSON:
		list->is_json = true;
		return 0;
	case OPT_PRESETS:
		list->is_presets = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static char *user_file(void)
{
	auto_free char *folder = cli_config_dir();

	return folder ? mem_printf("%s/policy", folder) : NULL;
}

static int list_load(const struct list *list, struct policy *policy)
{
	auto_free char *user = user_file(), *state = cli_state_dir(), *cwd = getcwd(NULL, 0);
	struct policy_layers layers = {
		.managed = list->managed,
		.user = list->is_user_left_out ? NULL : user,
		.cwd = cwd,
		.state = state,
		.arguments = list->policies,
	};

	if (policy_layers_load(policy, &layers))
		return CLI_OK;
	(void)fputs(policy_errors(policy), stderr);
	return CLI_ERROR;
}

static json_t *list_object(const struct policy_rule_look *look)
{
	char until[40];

	policy_matches_until(look, until, sizeof(until));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "statement", look->word, "rule",
			 look->rule, "layer", policy_layer_name(look->layer), "added_by", look->by,
			 "added_at", look->when, "until", until[0] ? until + strlen("until ") : "",
			 "not_enforced", look->not_enforced);
}

static int list_one(const struct list *list, const struct policy_rule_look *look, json_t *array)
{
	if (list->is_json)
		return json_array_append_new(array, list_object(look));
	return printf("%-12s %s\n", policy_layer_name(look->layer), look->rule) < 0;
}

static int list_print(const struct list *list, const struct policy *policy)
{
	json_t *array = json_array();
	int r = 0;

	for (size_t i = 1; i <= policy_rule_count(policy); i++) {
		struct policy_rule_look look;

		policy_rule_look(policy, i, NULL, &look);
		if (!list->is_answers || look.is_answer)
			r |= list_one(list, &look, array);
	}
	for (size_t i = 1; !list->is_answers && i <= policy_command_count(policy); i++) {
		struct policy_rule_look look;

		policy_command_look(policy, i, &look);
		r |= list_one(list, &look, array);
	}
	struct policy_rule_look look;

	for (size_t i = 0; !list->is_answers && policy_setting_look(policy, i, &look); i++)
		r |= list_one(list, &look, array);
	for (size_t i = 0; !list->is_answers && policy_later_look(policy, i, &look); i++)
		r |= list_one(list, &look, array);
	if (list->is_json)
		r |= json_dumpf(array, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF;
	json_decref(array);
	return r ? cli_fail(CLI_ERROR, "cannot write JSON") : CLI_OK;
}

/* The second line of each says what it is for: "# npm: the registry ...". Returned owned. */
static char *preset_purpose(const char *name)
{
	auto_free char *mark = mem_printf("\n# %s: ", name);
	const char *at = strstr(policy_preset_text(name), mark);

	at = at ? at + strlen(mark) : "";
	return mem_strndup(at, strcspn(at, "\n"));
}

static int list_presets(bool is_json)
{
	json_t *array = json_array();
	const char *name;
	int r = 0;

	for (size_t i = 0; (name = policy_preset_name(i)) != NULL; i++) {
		auto_free char *purpose = preset_purpose(name);

		if (is_json)
			r |= json_array_append_new(
				array, json_pack("{s:s, s:s}", "name", name, "purpose", purpose));
		else
			(void)printf("%-12s %s\n", name, purpose);
	}
	if (is_json)
		r |= json_dumpf(array, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF;
	json_decref(array);
	return r ? cli_fail(CLI_ERROR, "cannot write JSON") : CLI_OK;
}

int policy_keep_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "answers", no_argument, NULL, OPT_ANSWERS },
		{ "presets", no_argument, NULL, OPT_PRESETS },
		{ "policy", required_argument, NULL, OPT_POLICY },
		{ "managed", required_argument, NULL, OPT_MANAGED },
		{ "no-user", no_argument, NULL, OPT_NO_USER },
		{ "json", no_argument, NULL, OPT_JSON },
		{ 0 },
	};
	auto_free char **policies = mem_new_array((size_t)argc + 1, sizeof(*policies));
	struct list list = { .policies = policies };

	optind = 0;
	for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
		if (option == OPT_HELP || option == 'h') {
			(void)fputs(help_list, stdout);
			return CLI_OK;
		}
		if (list_option(&list, option) < 0)
			return cli_usage_error("policy list", CLI_ERROR, "not understood: %s",
					       argv[optind - 1]);
	}
	if (optind != argc)
		return cli_usage_error("policy list", CLI_ERROR, "something is left over");
	if (list.is_presets)
		return list_presets(list.is_json);
	struct policy *policy = policy_new();
	int status = list_load(&list, policy);

	if (status == CLI_OK)
		status = list_print(&list, policy);
	policy_free(policy);
	return status;
}

struct flag {
	const char *name;
	bool *ret;
};

/* For steps whose only option is --help, and, unless @flag is NULL, one more. -1: go on with
 * argv[optind]. */
static int plain_options(const char *step, const char *help, int argc, char **argv,
			 const struct flag *flag)
{
	const struct option options[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ flag ? flag->name : NULL, no_argument, NULL, OPT_FLAG },
		{ 0 },
	};

	optind = 0;
	for (int option; (option = getopt_long(argc, argv, "+:h", options, NULL)) != -1;) {
		if (option == OPT_HELP || option == 'h') {
			(void)fputs(help, stdout);
			return CLI_OK;
		}
		if (option != OPT_FLAG)
			return cli_usage_error(step, CLI_ERROR, "no such option: %s",
					       argv[optind - 1]);
		*flag->ret = true;
	}
	return -1;
}

int policy_keep_undo(int argc, char **argv)
{
	int status = plain_options("policy undo", help_undo, argc, argv, NULL);
	auto_free char *path = user_file(), *line = NULL;
	struct err why = { 0 };

	if (status >= 0)
		return status;
	if (optind != argc)
		return cli_usage_error("policy undo", CLI_ERROR, "something is left over");
	if (!path)
		return cli_fail(CLI_ERROR, "there is no policy file of the user: set HOME");
	int r = policy_answer_undo(path, &line, &why);

	if (r < 0)
		return cli_fail(r == -ENOENT ? CLI_DENIED : CLI_ERROR, "%s", why.text);
	auto_free char *shown = text_visible_dup(line);

	(void)printf("removed: %s\n", shown);
	return CLI_OK;
}

/* A file with errors is not one that anybody has read and understood. */
static int trust_one(const char *state, const char *path, bool is_configuration)
{
	struct policy *policy = policy_new();
	auto_free char *shown = text_visible_dup(path);
	struct err why = { 0 };
	int r = is_configuration ? 0 : policy_environment_load(policy, path, POLICY_TRUSTED);

	if (r < 0)
		(void)fputs(policy_errors(policy), stderr);
	policy_free(policy);
	if (r < 0)
		return CLI_ERROR;
	if (policy_layers_trust(state, path, &why) < 0)
		return cli_fail(CLI_ERROR, "%s: %s", shown, why.text);
	(void)printf("%s: trusted as it is now\n", shown);
	return CLI_OK;
}

int policy_keep_trust(int argc, char **argv)
{
	bool is_configuration = false;
	int status = plain_options("policy trust", help_trust, argc, argv,
				   &(struct flag){ "configuration", &is_configuration });
	auto_free char *state = cli_state_dir();

	if (status >= 0)
		return status;
	if (optind == argc)
		return cli_usage_error("policy trust", CLI_ERROR, "which file?");
	if (!state || cli_make_dirs(state) < 0)
		return cli_fail(CLI_ERROR, "there is no folder to note it down in: set HOME");
	status = CLI_OK;
	for (int i = optind; i < argc; i++) {
		int one = trust_one(state, argv[i], is_configuration);

		status = one != CLI_OK ? one : status;
	}
	return status;
}
