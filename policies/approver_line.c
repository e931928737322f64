/* Who may answer for others by a signed file: `approver` and `approvers-needed`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sign.h"
#include "base/text.h"
#include "policies/policies_approvers.h"
#include "policies/reader_impl.h"
#include "policies/settings_impl.h"

#define APPROVER_NEEDED_MAX 16
#define APPROVER_ADVICE     "approver ana \"ssh-ed25519 AAAA...\", or ed25519: and its base64"

static void approver_problem(const struct line *line, size_t at, const char *instead,
			     const char *words)
{
	struct spot spot = reader_spot(line, at);

	problems_add(line->reader->policy, &spot, instead, "%s", words);
}

/* It stands in records and on screens. */
static bool approver_is_name(const struct word *word)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";

	if (word->is_quoted || word->len == 0 || word->len >= POLICY_APPROVER_NAME_MAX)
		return false;
	for (size_t i = 0; i < word->len; i++) {
		if (!memchr(letters, word->text[i], sizeof(letters) - 1))
			return false;
	}
	return true;
}

/* As settings_add() keeps them: "NAME ed25519:BASE64". */
static void approver_parse(const char *text, struct policy_approver *ret)
{
	size_t len = strcspn(text, " ");

	*ret = (struct policy_approver){ 0 };
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)len, text);
	(void)sign_public_parse(text + len + 1, ret->key); /* it was written by us */
}

/* Two names for one key would make two of one. @ret_name: of the other. */
static bool approver_is_taken(const struct policy *policy, const struct policy_approver *approver,
			      char ret_name[POLICY_APPROVER_NAME_MAX])
{
	struct policy_approver other;

	for (size_t i = 0; policy_get_approver(policy, i, &other); i++) {
		if (memcmp(other.key, approver->key, sizeof(other.key)) != 0 ||
		    strcmp(other.name, approver->name) == 0)
			continue;
		memcpy(ret_name, other.name, sizeof(other.name));
		return true;
	}
	return false;
}

void approver_line_read(struct line *line)
{
	struct policy *policy = line->reader->policy;
	const struct word *name = &line->words.list[1], *key = &line->words.list[2];
	char text[POLICY_LINE_MAX], public[SIGN_PUBLIC_TEXT_MAX];
	char taken[POLICY_APPROVER_NAME_MAX];
	struct policy_approver approver = { 0 };
	struct flaw flaw = { 0 };

	if (!reader_has_words(line, 3, APPROVER_ADVICE))
		return;
	if (!approver_is_name(name)) {
		approver_problem(line, name->at, "letters, digits, and . _ @ -, at most 31",
				 "not a name of an approver");
		return;
	}
	if (words_unquote(key, text, sizeof(text), &flaw) < 0) {
		approver_problem(line, flaw.at, flaw.instead, flaw.words);
		return;
	}
	(void)snprintf(approver.name, sizeof(approver.name), "%.*s", (int)name->len, name->text);
	if (sign_public_parse(text, approver.key) < 0) {
		approver_problem(line, key->at, APPROVER_ADVICE, "not an Ed25519 key");
		return;
	}
	if (layers_may_set(policy, line->reader->source) &&
	    approver_is_taken(policy, &approver, taken)) {
		auto_free char *words = mem_printf("this key is %s's already", taken);

		approver_problem(line, key->at, "one name for one key", words);
		return;
	}
	auto_free char *kept =
		mem_printf("%s %s", approver.name, sign_public_text(approver.key, public));

	settings_add(line, SETTING_APPROVER, kept, 0);
}

void approver_line_read_needed(struct line *line)
{
	static const char advice[] = "approvers-needed 2";
	const struct word *word = &line->words.list[1];
	uint64_t needed;

	if (!reader_has_words(line, 2, advice))
		return;
	if (word->is_quoted ||
	    text_to_u64(word->text, word->len, APPROVER_NEEDED_MAX, &needed) < 0 || needed == 0)
		approver_problem(line, word->at, advice, "not a number from 1 to 16");
	else
		settings_add(line, SETTING_APPROVERS_NEEDED, NULL, (int64_t)needed);
}

bool policy_get_approver(const struct policy *policy, size_t index, struct policy_approver *ret)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind != SETTING_APPROVER || !layers_may_set(policy, setting->source) ||
		    index-- > 0)
			continue;
		approver_parse(policy->names + setting->text, ret);
		return true;
	}
	return false;
}

/* The largest of any file holds: it only narrows. */
static const struct setting *approver_needed(const struct policy *policy)
{
	const struct setting *most = NULL;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind == SETTING_APPROVERS_NEEDED &&
		    (!most || setting->value > most->value))
			most = setting;
	}
	return most;
}

unsigned int policy_get_approvers_needed(const struct policy *policy)
{
	const struct setting *most = approver_needed(policy);

	return most ? (unsigned int)most->value : 1;
}

/* Different names, up to @enough. */
static size_t approver_count_names(const struct policy *policy, size_t enough)
{
	struct policy_approver approver, before;
	size_t count = 0;

	for (size_t i = 0; count < enough && policy_get_approver(policy, i, &approver); i++) {
		bool is_new = true;

		for (size_t j = 0; j < i && policy_get_approver(policy, j, &before); j++)
			is_new &= strcmp(before.name, approver.name) != 0;
		count += is_new;
	}
	return count;
}

void approver_line_note(struct policy *policy)
{
	const struct setting *most = approver_needed(policy);
	size_t count = approver_count_names(policy, policy_get_approvers_needed(policy));

	if (!most || count >= (size_t)most->value)
		return;
	struct spot spot = { .file = policy->sources[most->source].name, .number = most->number };

	problems_note(policy, &spot,
		      "%u approvers are needed and %zu %s named: no file of answers allows "
		      "anything",
		      (unsigned int)most->value, count, count == 1 ? "is" : "are");
}
