#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "policies/policies_tools.h"

struct tally {
	bool is_managed, is_json;
	json_t *list;
	size_t files, broken, expectations, failed;
};

static void test_print(struct tally *tally, const char *path, bool is_read, size_t count,
		       size_t failed, const char *errors)
{
	auto_free char *shown = text_visible_dup(path);

	if (tally->is_json) {
		(void)json_array_append_new(
			tally->list, json_pack("{s:s, s:b, s:I, s:I, s:s}", "file", shown, "read",
					       (int)is_read, "expectations", (json_int_t)count,
					       "failed", (json_int_t)failed, "errors", errors));
		return;
	}
	(void)fputs(errors, stderr);
	if (is_read)
		(void)printf("%s: %zu of %zu expectations hold\n", shown, count - failed, count);
	else
		(void)printf("%s cannot be read\n", shown);
}

static void test_file(struct tally *tally, const char *path)
{
	enum policy_layer layer = tally->is_managed ? POLICY_MANAGED : POLICY_COMMAND_LINE;
	struct policy *policy = policy_new();
	bool is_read = policy_environment_load(policy, path, layer) == 0;
	size_t count = is_read ? policy_expect_count(policy) : 0, failed = 0;
	enum policy_action ignored;

	/* If no file has a default, the default is ask, as in `run`. */
	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
	if (is_read && policy_finish(policy) < 0)
		failed = policy_error_count(policy);
	tally->files++;
	tally->broken += !is_read;
	tally->expectations += count;
	tally->failed += failed;
	test_print(tally, path, is_read, count, failed, policy_errors(policy));
	policy_free(policy);
}

static int test_sum(const struct tally *tally)
{
	json_t *object;

	if (!tally->is_json) {
		(void)printf("%zu file%s, %zu expectation%s: %zu failed, %zu file%s with errors\n",
			     tally->files, tally->files == 1 ? "" : "s", tally->expectations,
			     tally->expectations == 1 ? "" : "s", tally->failed, tally->broken,
			     tally->broken == 1 ? "" : "s");
		return CLI_OK;
	}
	object = json_pack("{s:I, s:I, s:I, s:O}", "expectations", (json_int_t)tally->expectations,
			   "failed", (json_int_t)tally->failed, "broken", (json_int_t)tally->broken,
			   "files", tally->list);
	bool is_written = object && json_dumpf(object, stdout, JSON_INDENT(2)) == 0;

	json_decref(object);
	if (!is_written || putchar('\n') == EOF)
		return cli_fail(CLI_ERROR, "cannot write JSON");
	return CLI_OK;
}

static int test_files(struct tally *tally, char **paths)
{
	tally->list = json_array();
	for (; *paths; paths++)
		test_file(tally, *paths);
	int status = test_sum(tally);

	json_decref(tally->list);
	if (status != CLI_OK)
		return status;
	return tally->broken > 0 ? CLI_ERROR : tally->failed > 0 ? CLI_DENIED : CLI_OK;
}

int cli_policy_test(const struct options *options)
{
	struct tally tally = { .is_managed = options_has(options, OPT_MANAGED),
			       .is_json = options_has(options, OPT_JSON) };

	return test_files(&tally, options->operands);
}
