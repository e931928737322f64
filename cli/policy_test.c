#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/policy_environment.h"
#include "policies/policies_tools.h"

static const char help[] = "usage: sallyport policy test [--managed] [--json] FILE...\n"
			   "\n"
			   "Checks the `expect` lines of each FILE by itself, and sums up.\n"
			   "\n"
			   "  --managed   as files of the managed layer, which may say `only`\n"
			   "  --json      one JSON object on stdout\n"
			   "\n"
			   "Exit status: 0 all hold, 1 some fail, 3 a file has errors.\n"
			   "\n"
			   "  sallyport policy test policies/*.policy\n";

enum { OPT_MANAGED = 1, OPT_JSON, OPT_HELP };

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
		(void)printf("%s: %zu of %zu hold\n", shown, count - failed, count);
	else
		(void)printf("%s: cannot be read\n", shown);
}

static void test_file(struct tally *tally, const char *path)
{
	enum policy_layer layer = tally->is_managed ? POLICY_MANAGED : POLICY_COMMAND_LINE;
	struct policy *policy = policy_new();
	bool is_read = policy_environment_load(policy, path, layer) == 0;
	size_t count = is_read ? policy_expect_count(policy) : 0, failed = 0;
	enum policy_action ignored;

	/* Without a default in any file the question is asked, as in `run`. */
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

int cli_policy_test(int argc, char **argv)
{
	static const struct option options[] = {
		{ "managed", no_argument, NULL, OPT_MANAGED },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, OPT_HELP },
		{ 0 },
	};
	struct tally tally = { 0 };

	optind = 0; /* argv[0] is "test" */
	for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
		if (option == OPT_HELP || option == 'h') {
			(void)fputs(help, stdout);
			return CLI_OK;
		}
		if (option != OPT_MANAGED && option != OPT_JSON)
			return cli_usage_error("policy test", CLI_ERROR, "no such option: %s",
					       argv[optind - 1]);
		tally.is_managed |= option == OPT_MANAGED;
		tally.is_json |= option == OPT_JSON;
	}
	if (optind == argc)
		return cli_usage_error("policy test", CLI_ERROR, "which file?");
	return test_files(&tally, argv + optind);
}
