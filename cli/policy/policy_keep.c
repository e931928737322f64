#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "cli/policy/policy_matches.h"
#include "cli/policy/policy_options.h"
#include "cli/view/trust_store.h"
#include "policies/policies_tools.h"

static json_t *list_object(const struct policy_rule_look *look)
{
	char until[40];

	policy_matches_until(look, until, sizeof(until));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "statement", look->word, "rule",
			 look->rule, "layer", policy_layer_name(look->layer), "added_by", look->by,
			 "added_at", look->when, "until", until[0] ? until + strlen("until ") : "",
			 "not_enforced", look->not_enforced);
}

static int list_one(bool is_json, const struct policy_rule_look *look, json_t *array)
{
	if (is_json)
		return json_array_append_new(array, list_object(look));
	return printf("%-12s %s\n", policy_layer_name(look->layer), look->rule) < 0;
}

static int list_print(const struct options *options, const struct policy *policy)
{
	bool is_json = options_has(options, OPT_JSON);
	bool is_all = !options_has(options, OPT_ONLY_ANSWERS);
	json_t *array = json_array();
	int r = 0;

	for (size_t i = 1; i <= policy_rule_count(policy); i++) {
		struct policy_rule_look look;

		policy_rule_look(policy, i, NULL, &look);
		if (is_all || look.is_answer)
			r |= list_one(is_json, &look, array);
	}
	for (size_t i = 1; is_all && i <= policy_command_count(policy); i++) {
		struct policy_rule_look look;

		policy_command_look(policy, i, &look);
		r |= list_one(is_json, &look, array);
	}
	struct policy_rule_look look;

	for (size_t i = 0; is_all && policy_setting_look(policy, i, &look); i++)
		r |= list_one(is_json, &look, array);
	for (size_t i = 0; is_all && policy_later_look(policy, i, &look); i++)
		r |= list_one(is_json, &look, array);
	if (is_json)
		r |= json_dumpf(array, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF;
	json_decref(array);
	return r ? cli_fail(CLI_ERROR, "cannot write JSON") : CLI_OK;
}

/* The second line of each preset says what it is for: "# npm: the registry ...". Returned owned. */
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

int cli_policy_list(const struct options *options)
{
	if (options_has(options, OPT_PRESETS))
		return list_presets(options_has(options, OPT_JSON));
	struct policy *policy = policy_new();
	int status = CLI_ERROR;

	if (policy_options_load(options, policy))
		status = list_print(options, policy);
	else
		(void)fputs(policy_errors(policy), stderr);
	policy_free(policy);
	return status;
}

int cli_policy_undo(const struct options *options)
{
	auto_free char *path = policy_options_user_file(), *line = NULL;
	struct err why = { 0 };

	if (!path)
		return cli_fail(CLI_ERROR, "the user has no policy file; set HOME");
	int r = policy_answer_undo(path, &line, &why);

	if (r < 0)
		return cli_fail(r == -ENOENT ? CLI_DENIED : CLI_ERROR, "%s", why.text);
	auto_free char *shown = text_visible_dup(line);

	(void)printf("removed: %s\n", shown);
	return CLI_OK;
}

/* A file with errors is not trusted: a person cannot have understood what it means. */
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
	if (trust_store_add(state, path, &why) < 0)
		return cli_fail(CLI_ERROR, "%s: %s", shown, why.text);
	(void)printf("%s is trusted as it is now\n", shown);
	return CLI_OK;
}

int cli_policy_trust(const struct options *options)
{
	bool is_configuration = options_has(options, OPT_CONFIGURATION);
	auto_free char *state = cli_state_dir();
	int status = CLI_OK;

	if (!state || cli_make_dirs(state) < 0)
		return cli_fail(CLI_ERROR, "there is no state folder to record it in; set HOME");
	for (char **path = options->operands; *path; path++) {
		int one = trust_one(state, *path, is_configuration);

		status = one != CLI_OK ? one : status;
	}
	return status;
}
