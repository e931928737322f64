/* `approver` and `approvers-needed`: who may answer other users' questions by a signed file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/crypto/sign.h"
#include "base/text.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_approvers.h"
#include "policies/language/reader_impl.h"
#include "policies/language/settings_impl.h"

#define APPROVER_NEEDED_MAX 16
#define APPROVER_ADVICE                                                                            \
	"approver ana \"ssh-ed25519 AAAA...\", or \"ed25519:\" and the key in base64"

/* The name is shown in records and on screens. */
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
	(void)sign_public_parse(text + len + 1, ret->key); /* our own text: it is valid */
}

/* Two names for one key would count as two approvers. @ret_name: the other name. */
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
		(void)reader_refuse(line, name->at, "letters, digits, and . _ @ -, at most 31",
				    "this is not a valid name for an approver");
		return;
	}
	if (words_unquote(key, text, sizeof(text), &flaw) < 0) {
		(void)reader_refuse(line, flaw.at, flaw.instead, flaw.words);
		return;
	}
	(void)snprintf(approver.name, sizeof(approver.name), "%.*s", (int)name->len, name->text);
	if (sign_public_parse(text, approver.key) < 0) {
		(void)reader_refuse(line, key->at, APPROVER_ADVICE, "this is not an Ed25519 key");
		return;
	}
	if (layers_may_set(policy, line->reader->source) &&
	    approver_is_taken(policy, &approver, taken)) {
		auto_free char *words = mem_printf("the approver %s already has this key", taken);

		(void)reader_refuse(line, key->at, "one name for one key", words);
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
		(void)reader_refuse(line, word->at, advice, "this is not a number from 1 to 16");
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

/* The largest number of any file applies, because it only narrows. */
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

/* Counts different names, up to @enough. */
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

	problems_note(&policy->notes, &spot,
		      "%u approvers are needed, but %zu %s named, so no file of answers can allow "
		      "anything",
		      (unsigned int)most->value, count, count == 1 ? "is" : "are");
}
