#include "cli/approve/approve_bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "policies/policies_tools.h"

#define FOR_DEFAULT_S (7 * 86400)

/* A bundle and the options it is read with. */
struct opened {
	int64_t for_s; /* how long its answers are valid */
	struct bundle *bundle;
	uint8_t signer[SIGN_KEY_BYTES];
	char digest[65];
};

/* Reads how long the answers are valid. 0, or an exit status. */
static int read_for(const struct options *options, int64_t *ret_s)
{
	const char *text = options_get(options, OPT_BUNDLE_FOR);
	int64_t ms = FOR_DEFAULT_S * INT64_C(1000);

	if (text && (text_to_duration_ms(text, &ms) < 0 || ms < 1000 ||
		     ms / 1000 > BUNDLE_ANSWERS_FOR_MAX_S))
		return options_wrong(options->command,
				     "--for needs a time of at most a year, such as 12h or 30d");
	*ret_s = ms / 1000;
	return 0;
}

static bool has_answers(const struct options *options)
{
	return options_has(options, OPT_BUNDLE_ALLOW) || options_has(options, OPT_BUNDLE_DENY);
}

/* Rejects options that contradict each other. 0, or an exit status. */
static int check_options(const struct options *options)
{
	bool is_merge = options_has(options, OPT_MERGE), has_key = options_has(options, OPT_KEY);
	bool has_output = options_has(options, OPT_OUTPUT);

	if (!is_merge && options->operand_count > 1)
		return options_wrong(options->command,
				     "name one bundle, or make one of many with --merge");
	if (is_merge && (!has_output || has_key || has_answers(options)))
		return options_wrong(options->command,
				     "--merge needs -o, and takes no options that answer");
	if (!is_merge && !has_key && (has_output || has_answers(options)))
		return options_wrong(options->command,
				     "--key is missing; name the key that signs the answers");
	return 0;
}

/* Is the signer the expected one? A key that is not ours is reported, unless it was expected. */
static int check_signer(const struct options *options, const char *path,
			const uint8_t signer[SIGN_KEY_BYTES])
{
	char text[SIGN_PUBLIC_TEXT_MAX];
	auto_free char *state = cli_state_dir();
	struct sign_key own = { { 0 }, { 0 } };
	uint8_t wanted[SIGN_KEY_BYTES];
	auto_free char **from = options_get_all(options, OPT_BUNDLE_FROM);

	(void)sign_public_text(signer, text);
	for (char **key = from; key && *key; key++) {
		if (sign_public_parse(*key, wanted) < 0)
			return cli_fail(CLI_ERROR, "--from needs an Ed25519 key (ed25519:...)");
		if (memcmp(wanted, signer, sizeof(wanted)) == 0)
			return CLI_OK;
	}
	if (from)
		return cli_fail(CLI_ERROR, "%s is signed by %s, which --from does not name", path,
				text);
	bool is_ours = bundle_files_key(state, false, &own, NULL) == 0 &&
		       memcmp(own.public, signer, SIGN_KEY_BYTES) == 0;

	sign_key_forget(&own);
	if (!is_ours)
		(void)cli_fail(0,
			       "%s is signed by %s, which is not a key of this machine; name the "
			       "key that you expect with --from",
			       path, text);
	return CLI_OK;
}

static int open_bundle(const struct options *options, const char *path, struct opened *ret)
{
	auto_free char *text = NULL;
	struct err why = { 0 };
	size_t len = 0;
	int r = bundle_files_read(path, BUNDLE_MAX_BYTES, &text, &len, &why);

	if (r < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	r = bundle_file_read(text, len, &ret->bundle, ret->signer, ret->digest, &why);
	if (r < 0)
		return cli_fail(CLI_ERROR, "%s: %s", path, why.text);
	/* With --merge the keys are listed in the result. */
	return options_has(options, OPT_MERGE) && !options_has(options, OPT_BUNDLE_FROM)
		       ? CLI_OK
		       : check_signer(options, path, ret->signer);
}

static int write_file(const char *path, const char *text)
{
	struct bundle_place place = { .folder = -1 };
	struct err why = { 0 };
	int r = bundle_files_open(path, &place, &why);

	if (r == 0)
		r = bundle_files_write(&place, text, 0600, &why);
	bundle_files_close(&place);
	return r < 0 ? cli_fail(CLI_ERROR, "%s", why.text) : CLI_OK;
}

/* Is @digest new? Then it is appended to @digests. */
static bool is_first(char ***digests, const char *digest)
{
	for (char **known = *digests; known && *known; known++) {
		if (strcmp(*known, digest) == 0)
			return false;
	}
	mem_append_list(digests, mem_strdup(digest));
	return true;
}

/* A file and its copy count once. */
static int merge_all(const struct options *options, struct bundle *all)
{
	char **digests = NULL;
	int status = CLI_OK;

	for (char **path = options->operands; *path && status == CLI_OK; path++) {
		struct opened opened = { .bundle = NULL };

		status = open_bundle(options, *path, &opened);
		if (status == CLI_OK && !is_first(&digests, opened.digest))
			(void)cli_fail(0, "%s: the same file was merged already; it counts once",
				       *path);
		else if (status == CLI_OK)
			bundle_merge(all, opened.bundle);
		bundle_free(opened.bundle);
	}
	mem_free_list(digests);
	return status;
}

static int merge(const struct options *options)
{
	const char *output = options_get(options, OPT_OUTPUT);
	struct bundle *all = bundle_new();
	auto_free char *state = cli_state_dir(), *text = NULL;
	struct sign_key key = { { 0 }, { 0 } };
	struct err why = { 0 };
	int status = merge_all(options, all);

	if (status == CLI_OK && (bundle_files_key(state, true, &key, &why) < 0 ||
				 bundle_file_write(all, &key, &text, &why) < 0))
		status = cli_fail(CLI_ERROR, "%s", why.text);
	if (status == CLI_OK)
		status = write_file(output, text);
	if (status == CLI_OK)
		(void)printf("%zu destination%s, asked for in %" PRIu64 " runs: %s\n",
			     bundle_count(all), bundle_count(all) == 1 ? "" : "s", bundle_runs(all),
			     output);
	sign_key_forget(&key);
	bundle_free(all);
	return status;
}

static int show(const struct options *options, const struct opened *opened, const char *path)
{
	size_t count = bundle_count(opened->bundle);

	if (options_has(options, OPT_JSON)) {
		auto_free char *text = NULL;
		struct err why = { 0 };

		if (bundle_files_read(path, BUNDLE_MAX_BYTES, &text, NULL, &why) < 0)
			return cli_fail(CLI_ERROR, "%s", why.text);
		(void)fputs(text, stdout);
		return CLI_OK;
	}
	for (size_t i = 0; i < count; i++)
		approve_bundle_ask_show(bundle_look(opened->bundle, i), i + 1, count);
	if (bundle_others(opened->bundle) > 0)
		(void)printf("and %" PRIu64
			     " requests to destinations that did not fit into the file\n",
			     bundle_others(opened->bundle));
	if (count == 0)
		(void)puts("nothing was asked");
	return CLI_OK;
}

/* The index of a request; -1: the bundle does not contain it. */
static ssize_t find_request(const struct bundle *bundle, const char *text)
{
	struct policy_destination dst;

	if (policy_destination_parse(text, &dst, NULL) < 0)
		return -1;
	for (size_t i = 0; i < bundle_count(bundle); i++) {
		if (policy_destination_equal(&bundle_look(bundle, i)->dst, &dst))
			return (ssize_t)i;
	}
	return -1;
}

/* Sets the choice of each request that @option names. */
static int choose(const struct bundle *bundle, const struct options *options,
		  enum cli_option option, enum approve_choice *choices)
{
	auto_free char **words = options_get_all(options, option);

	for (char **word = words; word && *word; word++) {
		ssize_t found = find_request(bundle, *word);

		if (found < 0) {
			auto_free char *shown = text_visible_dup(*word);

			return cli_fail(CLI_ERROR, "this bundle has no question about %s", shown);
		}
		/* A denial has precedence over every other choice. */
		if (choices[found] != APPROVE_DENY)
			choices[found] = option == OPT_BUNDLE_DENY ? APPROVE_DENY : APPROVE_ALLOW;
	}
	return CLI_OK;
}

static int sign_and_write(const struct options *options, const struct opened *opened,
			  const enum approve_choice *choices, const char *path)
{
	size_t count = bundle_count(opened->bundle), used = 0;
	const char *given = options_get(options, OPT_OUTPUT);
	auto_free struct bundle_answer *answers = mem_new_array(count + 1, sizeof(*answers));
	auto_free char *output = given ? mem_strdup(given) : mem_printf("%s.answers", path);
	auto_free char *file = NULL;
	struct approve_key key;
	struct err why = { 0 };
	int64_t now_s = time(NULL);

	for (size_t i = 0; i < count; i++) {
		if (choices[i] == APPROVE_SKIP)
			continue;
		answers[used++] = (struct bundle_answer){
			choices[i] == APPROVE_ALLOW ? POLICY_ALLOW : POLICY_DENY,
			bundle_look(opened->bundle, i)->dst,
		};
	}
	if (used == 0)
		return cli_fail(CLI_DENIED, "no question was answered, so no file was written");
	if (approve_bundle_sign_open(options_get(options, OPT_KEY), &key, &why) < 0)
		return cli_fail(CLI_ERROR, "--key: %s", why.text);
	auto_free char *text = bundle_answers_text(answers, used, opened->digest, now_s,
						   now_s + opened->for_s, key.public);
	int r = approve_bundle_sign_make(&key, text, &file, &why);

	sign_key_forget(&key.pem);
	if (r < 0)
		return cli_fail(CLI_ERROR, "--key: %s", why.text);
	if (strlen(file) > BUNDLE_ANSWERS_MAX_BYTES)
		return cli_fail(CLI_ERROR,
				"the answers do not fit into a file; answer fewer questions");
	int status = write_file(output, file);

	if (status == CLI_OK)
		(void)printf("%zu answer%s: %s\n", used, used == 1 ? "" : "s", output);
	return status;
}

static int answer(const struct options *options, const struct opened *opened, const char *path)
{
	auto_free enum approve_choice *choices =
		mem_new_array(bundle_count(opened->bundle) + 1, sizeof(*choices));
	bool is_script = has_answers(options);
	int status = choose(opened->bundle, options, OPT_BUNDLE_DENY, choices);

	if (status == CLI_OK)
		status = choose(opened->bundle, options, OPT_BUNDLE_ALLOW, choices);
	if (status != CLI_OK)
		return status;
	if (!is_script && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return options_wrong(
			options->command,
			"there is no terminal to ask on; answer with --allow and --deny");
	if (!is_script && !approve_bundle_ask(opened->bundle, choices))
		return cli_fail(CLI_DENIED, "no question was answered, so no file was written");
	return sign_and_write(options, opened, choices, path);
}

static int perform(const struct options *options, int64_t for_s)
{
	const char *path = options->operands[0];
	struct opened opened = { .for_s = for_s };
	int status;

	if (options_has(options, OPT_MERGE))
		return merge(options);
	status = open_bundle(options, path, &opened);
	if (status == CLI_OK)
		status = options_has(options, OPT_KEY) ? answer(options, &opened, path)
						       : show(options, &opened, path);
	bundle_free(opened.bundle);
	return status;
}

int cli_approve_bundle(const struct options *options)
{
	int64_t for_s = 0;
	int status = check_options(options);

	if (status == 0)
		status = read_for(options, &for_s);
	return status == 0 ? perform(options, for_s) : status;
}
