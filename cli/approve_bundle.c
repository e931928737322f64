#include "cli/approve_bundle.h"

#include <errno.h>
#include <getopt.h>
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
#include "policies/policies_tools.h"

#define NAME          "approve bundle"
#define FOR_DEFAULT_S (7 * 86400)
#define WORDS_MAX     10000 /* of one option */

static const char help[] =
	"usage: sallyport approve bundle FILE [--from KEY]... [--json]\n"
	"       sallyport approve bundle FILE --key KEYFILE [-o ANSWERS] [--for TIME]\n"
	"                         [--allow DESTINATION]... [--deny DESTINATION]...\n"
	"       sallyport approve bundle --merge FILE... -o FILE\n"
	"\n"
	"Shows what a run without anybody to ask wanted to know (`sallyport run --bundle FILE`), "
	"and\n"
	"answers it: one destination after another on the terminal, or by --allow and --deny.\n"
	"`sallyport run --answers ANSWERS` takes the answers where an `approver` line of the "
	"policy\n"
	"names the key that signed them.\n"
	"\n"
	"  --key KEYFILE        the Ed25519 key to sign with: PEM, or of SSH (ssh-keygen signs, a\n"
	"                       public key is enough where an agent has the private one)\n"
	"  -o, --output FILE    where to write (default: FILE.answers)\n"
	"  --for TIME           how long the answers hold, e.g. 12h, 30d (default 7d)\n"
	"  --allow DESTINATION  allow it, exactly as it is shown (repeatable)\n"
	"  --deny DESTINATION   deny it (repeatable)\n"
	"  --from KEY           the bundle must be signed by this key: ed25519:... (repeatable)\n"
	"  --merge              make one bundle of many: one line for each destination\n"
	"  --json               show it as JSON\n"
	"\n"
	"Exit status: 0 done, 1 nothing was answered, 3 error.\n"
	"\n"
	"  sallyport approve bundle asked.json --key ~/.ssh/id_ed25519\n";

enum { OPT_HELP = 256, OPT_KEY, OPT_FOR, OPT_ALLOW, OPT_DENY, OPT_FROM, OPT_MERGE, OPT_JSON };

struct words {
	const char **list; /* owned, of borrowed text */
	size_t count;
};

struct options {
	bool is_help, is_merge, is_json;
	const char *key, *output;
	int64_t for_s;
	struct words allow, deny, from;
};

/* A bundle as it was read. */
struct opened {
	struct bundle *bundle;
	uint8_t signer[SIGN_KEY_BYTES];
	char digest[65];
};

static int usage(const char *words)
{
	return cli_usage_error(NAME, CLI_ERROR, "%s", words);
}

static int add_word(struct words *words, const char *word)
{
	if (words->count == WORDS_MAX)
		return usage("too many of one option");
	words->list = mem_grow(words->list, words->count + 1, sizeof(*words->list));
	words->list[words->count++] = word;
	return 0;
}

static int set_for(struct options *options, const char *text)
{
	int64_t ms;

	if (text_to_duration_ms(text, &ms) < 0 || ms < 1000 || ms / 1000 > BUNDLE_ANSWERS_FOR_MAX_S)
		return usage("--for is a time of at most a year, such as 12h or 30d");
	options->for_s = ms / 1000;
	return 0;
}

/* 0, or an exit status when the words make no sense. */
static int set_option(struct options *options, int option, const char *word)
{
	switch (option) {
	case 'h':
	case OPT_HELP:
		options->is_help = true;
		return 0;
	case 'o':
		options->output = optarg;
		return 0;
	case OPT_KEY:
		options->key = optarg;
		return 0;
	case OPT_FOR:
		return set_for(options, optarg);
	case OPT_ALLOW:
		return add_word(&options->allow, optarg);
	case OPT_DENY:
		return add_word(&options->deny, optarg);
	case OPT_FROM:
		return add_word(&options->from, optarg);
	case OPT_MERGE:
		options->is_merge = true;
		return 0;
	case OPT_JSON:
		options->is_json = true;
		return 0;
	case ':':
		return cli_usage_error(NAME, CLI_ERROR, "%s needs a value", word);
	default:
		return cli_usage_error(NAME, CLI_ERROR, "no such option: %s", word);
	}
}

static int parse_options(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "key", required_argument, NULL, OPT_KEY },
		{ "output", required_argument, NULL, 'o' },
		{ "for", required_argument, NULL, OPT_FOR },
		{ "allow", required_argument, NULL, OPT_ALLOW },
		{ "deny", required_argument, NULL, OPT_DENY },
		{ "from", required_argument, NULL, OPT_FROM },
		{ "merge", no_argument, NULL, OPT_MERGE },
		{ "json", no_argument, NULL, OPT_JSON },
		{ 0 },
	};

	optind = 0;
	for (int option; (option = getopt_long(argc, argv, ":ho:", known, NULL)) != -1;) {
		int status = set_option(options, option, argv[optind - 1]);

		if (status != 0 || options->is_help)
			return status;
	}
	bool has_answers = options->allow.count + options->deny.count > 0;

	if (optind == argc)
		return usage("which bundle?");
	if (!options->is_merge && optind + 1 < argc)
		return usage("one bundle at a time; --merge makes one of many");
	if (options->is_merge && (!options->output || options->key || has_answers))
		return usage("--merge takes bundles and -o, and answers nothing");
	if (!options->is_merge && !options->key && (options->output || has_answers))
		return usage("--key: whose answers are they?");
	return 0;
}

/* Is it from where it should be? A key that is not ours is said, unless it was expected. */
static int check_signer(const struct options *options, const char *path,
			const uint8_t signer[SIGN_KEY_BYTES])
{
	char text[SIGN_PUBLIC_TEXT_MAX];
	auto_free char *state = cli_state_dir();
	struct sign_key own = { { 0 }, { 0 } };
	uint8_t wanted[SIGN_KEY_BYTES];

	(void)sign_public_text(signer, text);
	for (size_t i = 0; i < options->from.count; i++) {
		if (sign_public_parse(options->from.list[i], wanted) < 0)
			return cli_fail(CLI_ERROR, "--from: not an Ed25519 key");
		if (memcmp(wanted, signer, sizeof(wanted)) == 0)
			return CLI_OK;
	}
	if (options->from.count > 0)
		return cli_fail(CLI_ERROR, "%s is signed by %s, which --from does not name", path,
				text);
	bool is_ours = bundle_files_key(state, false, &own, NULL) == 0 &&
		       memcmp(own.public, signer, SIGN_KEY_BYTES) == 0;

	sign_key_forget(&own);
	if (!is_ours)
		(void)cli_fail(
			0,
			"%s is signed by %s: not a key of this machine (--from says whom you "
			"expect)",
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
	r = bundle_read(text, len, &ret->bundle, ret->signer, ret->digest, &why);
	if (r < 0)
		return cli_fail(CLI_ERROR, "%s: %s", path, why.text);
	/* Those that are merged name their keys in the result. */
	return options->is_merge && options->from.count == 0
		       ? CLI_OK
		       : check_signer(options, path, ret->signer);
}

static int write_file(const char *path, const char *text)
{
	struct bundle_place place = { .folder = -1 };
	struct err why = { 0 };
	int r = bundle_files_open(path, &place, &why);

	if (r == 0)
		r = bundle_files_write(&place, text, &why);
	bundle_files_close(&place);
	return r < 0 ? cli_fail(CLI_ERROR, "%s", why.text) : CLI_OK;
}

static int merge_all(const struct options *options, char **paths, struct bundle *all)
{
	for (; *paths; paths++) {
		struct opened opened = { .bundle = NULL };
		int status = open_bundle(options, *paths, &opened);

		if (status == CLI_OK)
			bundle_merge(all, opened.bundle);
		bundle_free(opened.bundle);
		if (status != CLI_OK)
			return status;
	}
	return CLI_OK;
}

static int merge(const struct options *options, char **paths)
{
	struct bundle *all = bundle_new();
	auto_free char *state = cli_state_dir(), *text = NULL;
	struct sign_key key = { { 0 }, { 0 } };
	struct err why = { 0 };
	int status = merge_all(options, paths, all);

	if (status == CLI_OK && (bundle_files_key(state, true, &key, &why) < 0 ||
				 bundle_write(all, &key, &text, &why) < 0))
		status = cli_fail(CLI_ERROR, "%s", why.text);
	if (status == CLI_OK)
		status = write_file(options->output, text);
	if (status == CLI_OK)
		(void)printf("%zu destination%s, asked for in %" PRIu64 " runs: %s\n",
			     bundle_count(all), bundle_count(all) == 1 ? "" : "s", bundle_runs(all),
			     options->output);
	sign_key_forget(&key);
	bundle_free(all);
	return status;
}

static int show(const struct options *options, const struct opened *opened, const char *path)
{
	size_t count = bundle_count(opened->bundle);

	if (options->is_json) {
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
		(void)printf("and %" PRIu64 " requests to destinations that had no room\n",
			     bundle_others(opened->bundle));
	if (count == 0)
		(void)puts("nothing was asked");
	return CLI_OK;
}

/* One that is there; -1: it was not asked. */
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

static int choose(const struct bundle *bundle, const struct words *words,
		  enum approve_choice choice, enum approve_choice *choices)
{
	for (size_t i = 0; i < words->count; i++) {
		ssize_t found = find_request(bundle, words->list[i]);

		if (found < 0) {
			auto_free char *shown = text_visible_dup(words->list[i]);

			return cli_fail(CLI_ERROR, "%s was not asked in this bundle", shown);
		}
		/* A denial stands, whatever else was said. */
		if (choices[found] != APPROVE_DENY)
			choices[found] = choice;
	}
	return CLI_OK;
}

static int sign_and_write(const struct options *options, const struct opened *opened,
			  const enum approve_choice *choices, const char *path)
{
	size_t count = bundle_count(opened->bundle), used = 0;
	auto_free struct bundle_answer *answers = mem_new_array(count + 1, sizeof(*answers));
	auto_free char *output =
		options->output ? mem_strdup(options->output) : mem_printf("%s.answers", path);
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
		return cli_fail(CLI_DENIED, "nothing was answered, and nothing written");
	if (approve_bundle_sign_open(options->key, &key, &why) < 0)
		return cli_fail(CLI_ERROR, "--key: %s", why.text);
	auto_free char *text = bundle_answers_text(answers, used, opened->digest, now_s,
						   now_s + options->for_s, key.public);
	int r = approve_bundle_sign_make(&key, text, &file, &why);

	sign_key_forget(&key.pem);
	if (r < 0)
		return cli_fail(CLI_ERROR, "--key: %s", why.text);
	if (strlen(file) > BUNDLE_ANSWERS_MAX_BYTES)
		return cli_fail(CLI_ERROR, "more answers than a file may hold: answer fewer");
	int status = write_file(output, file);

	if (status == CLI_OK)
		(void)printf("%zu answer%s: %s\n", used, used == 1 ? "" : "s", output);
	return status;
}

static int answer(const struct options *options, const struct opened *opened, const char *path)
{
	auto_free enum approve_choice *choices =
		mem_new_array(bundle_count(opened->bundle) + 1, sizeof(*choices));
	bool is_script = options->allow.count + options->deny.count > 0;
	int status = choose(opened->bundle, &options->deny, APPROVE_DENY, choices);

	if (status == CLI_OK)
		status = choose(opened->bundle, &options->allow, APPROVE_ALLOW, choices);
	if (status != CLI_OK)
		return status;
	if (!is_script && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return usage("on a terminal, or with --allow and --deny");
	if (!is_script && !approve_bundle_ask(opened->bundle, choices))
		return cli_fail(CLI_DENIED, "nothing was answered, and nothing written");
	return sign_and_write(options, opened, choices, path);
}

static int perform(const struct options *options, char **paths)
{
	struct opened opened = { .bundle = NULL };
	int status;

	if (options->is_merge)
		return merge(options, paths);
	status = open_bundle(options, paths[0], &opened);
	if (status == CLI_OK)
		status = options->key ? answer(options, &opened, paths[0])
				      : show(options, &opened, paths[0]);
	bundle_free(opened.bundle);
	return status;
}

int cli_approve_bundle(int argc, char **argv)
{
	struct options options = { .for_s = FOR_DEFAULT_S };
	int status = parse_options(&options, argc, argv);

	if (status == 0 && options.is_help)
		status = fputs(help, stdout) < 0 ? CLI_ERROR : CLI_OK;
	else if (status == 0)
		status = perform(&options, argv + optind);
	free(options.allow.list);
	free(options.deny.list);
	free(options.from.list);
	return status;
}
