#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto/key_file.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/selection.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway.h"
#include "gateway/gateway_audit.h"
#include "gateway/gateway_tools.h"

/* The result of verifying one file. */
struct audited {
	const char *path;
	int status; /* enum cli_exit */
	uint64_t records;
	struct err words; /* the error message, or a note */
	struct gateway_audit_proof proof;
};

static bool is_whole(const struct audited *audited)
{
	return audited->status == CLI_OK || audited->status == CLI_UNSIGNED;
}

static const char *state_of(const struct audited *audited)
{
	return is_whole(audited)               ? "unbroken"
	       : audited->status == CLI_DENIED ? "broken"
					       : "unreadable";
}

/* Returned owned: who signed the log, up to where. */
static char *signed_words(const struct audited *audited)
{
	const struct gateway_audit_proof *proof = &audited->proof;
	bool is_checked = proof->key_count > 0;
	char key[SIGN_PUBLIC_TEXT_MAX];
	const char *replaced = proof->is_replaced
				       ? "; the log that was signed here before was moved away, "
					 "removed or replaced"
				       : "";
	auto_free char *rest =
		mem_printf("; %" PRIu64 " record%s after it not signed", proof->unsigned_count,
			   proof->unsigned_count == 1 ? "" : "s");
	auto_free char *unlinked =
		mem_printf("; checkpoint %" PRIu64 " does not name the one before it, so signed "
			   "records between them may have been replaced",
			   proof->unlinked_seq);

	if (proof->signed_seq == 0)
		return mem_printf("%s%s", is_checked ? "no record is signed" : "", replaced);
	return mem_printf("signed by %s up to %" PRIu64 ":%s%s%s%s%s",
			  sign_public_text(proof->signer, key), proof->signed_seq,
			  proof->signed_hash,
			  is_checked ? "" : ", not checked against a key (--key)",
			  proof->unsigned_count == 0 ? "" : rest, replaced,
			  proof->unlinked_seq == 0 ? "" : unlinked);
}

static void add_proof(const struct audited *audited, json_t *object)
{
	const struct gateway_audit_proof *proof = &audited->proof;
	char key[SIGN_PUBLIC_TEXT_MAX];
	json_t *made = json_pack("{s:b, s:I, s:b}", "checked", proof->key_count > 0, "unsigned",
				 (json_int_t)proof->unsigned_count, "replaced", proof->is_replaced);

	if (proof->signed_seq > 0)
		(void)json_object_update_new(
			made, json_pack("{s:s, s:I, s:s, s:s, s:b}", "key",
					sign_public_text(proof->signer, key), "seq",
					(json_int_t)proof->signed_seq, "hash", proof->signed_hash,
					"log", proof->log, "unlinked", proof->unlinked_seq > 0));
	(void)json_object_set_new(object, "signed", made);
}

/* A path need not be UTF-8, but a JSON string must be. */
static void print_json(const struct audited *audited)
{
	auto_free char *path = text_visible_dup(audited->path);
	auto_free char *words = text_visible_dup(audited->words.text);
	json_t *object = json_pack("{s:s, s:s}", "file", path, "state", state_of(audited));

	if (is_whole(audited)) {
		(void)json_object_set_new(object, "records",
					  json_integer((json_int_t)audited->records));
		add_proof(audited, object);
	}
	if (words[0] != '\0')
		(void)json_object_set_new(object, is_whole(audited) ? "note" : "error",
					  json_string(words));
	(void)json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	(void)fputc('\n', stdout);
	json_decref(object);
}

static void print_text(const struct audited *audited)
{
	auto_free char *path = text_visible_dup(audited->path);
	auto_free char *words = text_visible_dup(audited->words.text);
	auto_free char *proved = signed_words(audited);

	if (!is_whole(audited)) {
		(void)cli_fail(0, "%s", words);
		return;
	}
	(void)printf("%s: unbroken, %" PRIu64 " record%s\n", path, audited->records,
		     audited->records == 1 ? "" : "s");
	if (words[0] != '\0')
		(void)printf("%s: note: %s\n", path, words);
	if (proved[0] != '\0')
		(void)printf("%s: %s\n", path, proved);
}

/* @asked: what is asked of its checkpoints. */
static int audit_file(const char *path, const struct gateway_audit_proof *asked, bool is_json)
{
	struct audited audited = { .path = path, .proof = *asked };
	auto_free char *dir = cli_audit_dir();
	int r = gateway_audit_verify(path, dir, &audited.proof, &audited.records, &audited.words);
	bool is_open = asked->key_count > 0 &&
		       (audited.proof.unsigned_count > 0 || audited.proof.is_replaced ||
			audited.proof.unlinked_seq > 0);

	audited.status = r == -EBADMSG ? CLI_DENIED
			 : r < 0       ? CLI_ERROR
			 : is_open     ? CLI_UNSIGNED
				       : CLI_OK;
	if (is_json)
		print_json(&audited);
	else
		print_text(&audited);
	return audited.status;
}

/* The more serious status of the two: a broken file counts for more than an unreadable one. */
static int worse(int left, int right)
{
	static const int order[] = { CLI_DENIED, CLI_ERROR, CLI_UNSIGNED };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (left == order[i] || right == order[i])
			return order[i];
	}
	return CLI_OK;
}

/* The public keys of --key: returned owned; NULL with *@ret_status: none, or an error. */
static uint8_t (*take_keys(const struct options *options, size_t *ret_count,
			   int *ret_status))[GATEWAY_KEY_BYTES]
{
	auto_free char **words = options_get_all(options, OPT_PUBLIC_KEY);
	uint8_t(*keys)[GATEWAY_KEY_BYTES];

	*ret_status = CLI_OK;
	if (!words)
		return NULL;
	keys = mem_new_array(mem_count_list(words), sizeof(*keys));
	for (*ret_count = 0; words[*ret_count]; (*ret_count)++) {
		if (sign_public_parse(words[*ret_count], keys[*ret_count]) == 0)
			continue;
		free(keys);
		*ret_status = options_wrong(options->command,
					    "--key needs a public Ed25519 key, as `sallyport audit "
					    "key` prints it: ed25519:...");
		return NULL;
	}
	return keys;
}

/* NUMBER:HASH, as verify prints it. */
static int take_expected(const struct options *options, struct gateway_audit_proof *asked)
{
	const char *word = options_get(options, OPT_EXPECT);
	const char *colon = word ? strchr(word, ':') : NULL;

	if (!word)
		return CLI_OK;
	if (!colon ||
	    text_to_u64(word, (size_t)(colon - word), INT64_MAX, &asked->expect_seq) < 0 ||
	    asked->expect_seq == 0 || strlen(colon + 1) != GATEWAY_HASH_MAX - 1 ||
	    strspn(colon + 1, "0123456789abcdef") != GATEWAY_HASH_MAX - 1)
		return options_wrong(options->command,
				     "--expect needs the number of a record and its hash: "
				     "NUMBER:HASH");
	memcpy(asked->expect_hash, colon + 1, GATEWAY_HASH_MAX);
	return CLI_OK;
}

int cli_audit_verify(const struct options *options)
{
	struct gateway_audit_proof asked = { 0 };
	bool is_json = options_has(options, OPT_JSON);
	int status;
	auto_free uint8_t(*keys)[GATEWAY_KEY_BYTES] = take_keys(options, &asked.key_count, &status);

	asked.keys = (const uint8_t(*)[GATEWAY_KEY_BYTES])keys;
	if (status == CLI_OK)
		status = take_expected(options, &asked);
	if (status != CLI_OK)
		return status;
	for (char **path = options->operands; *path; path++)
		status = worse(status, audit_file(*path, &asked, is_json));
	return status;
}

int cli_audit_key(const struct options *options)
{
	auto_free char *state = cli_state_dir();
	struct sign_key key = { 0 };
	struct err why = { 0 };
	char text[SIGN_PUBLIC_TEXT_MAX];

	if (!state)
		return cli_fail(CLI_ERROR, "there is no state folder for the key; set HOME");
	if (bundle_files_key(state, true, &key, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	(void)printf("%s\n", sign_public_text(key.public, text));
	sign_key_forget(&key);
	return CLI_OK;
}

static int merge_file(const char *path)
{
	auto_free char *dir = cli_audit_dir(), *state = cli_state_dir();
	auto_free char *shown = text_visible_dup(path);
	struct err why = { 0 };
	int r = dir && access(path, F_OK) < 0 ? err_errno(&why, errno, "cannot open %s", path) : 0;

	if (r == 0 && dir)
		r = gateway_audit_merge(path, dir, &why);
	if (r == 0 && state && cli_make_dirs(dir) == 0)
		r = gateway_audit_sign(path, dir, state, &why);
	if (r == 0) {
		(void)printf("%s: merged\n", shown);
		return CLI_OK;
	}
	auto_free char *words = text_visible_dup(why.text);

	return cli_fail(r == -EBADMSG ? CLI_DENIED : CLI_ERROR, "%s", words);
}

int cli_audit_merge(const struct options *options)
{
	int status = CLI_OK;

	for (char **path = options->operands; *path; path++)
		status = worse(status, merge_file(*path));
	return status;
}

static int prune(const struct selection *selection, const struct gateway_audit_keep *keep)
{
	auto_free char *dir = cli_audit_dir(), *state = cli_state_dir();
	auto_free char *shown = text_visible_dup(selection->path);
	struct err why = { 0 };
	uint64_t removed;
	int r = state ? cli_make_dirs(dir) : 0;

	if (r < 0)
		return cli_fail(CLI_ERROR, "cannot make the folder %s: %s", dir, strerror(-r));
	r = gateway_audit_prune(selection->path, dir, state, keep, &removed, &why);

	if (r < 0) {
		auto_free char *words = text_visible_dup(why.text);

		return cli_fail(r == -EBADMSG ? CLI_DENIED : CLI_ERROR, "%s", words);
	}
	(void)printf("%s: removed %" PRIu64 " record%s\n", shown, removed, removed == 1 ? "" : "s");
	return CLI_OK;
}

int cli_audit_prune(const struct options *options)
{
	struct selection selection;
	int status = selection_take(&selection, options, SELECTION_ALL);

	const char *most = options_get(options, OPT_KEEP);
	struct gateway_audit_keep keep = { INT64_MIN, UINT64_MAX };

	if (status == CLI_OK && options_has(options, OPT_UNTIL))
		keep.since_us = selection.until_us;
	if (status == CLI_OK && most &&
	    text_to_size(most, strlen(most), INT64_MAX, &keep.bytes) < 0)
		status = options_wrong(options->command, "--keep needs a size, such as 500m");
	if (status == CLI_OK && !most && !options_has(options, OPT_UNTIL))
		status = options_wrong(options->command,
				       "say what is to be removed, with --until or --keep");
	if (status == CLI_OK)
		status = prune(&selection, &keep);
	selection_done(&selection);
	return status;
}
