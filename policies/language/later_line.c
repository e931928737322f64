#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_tools.h"
#include "policies/language/rule_line_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/language/settings_impl.h"

/* `socket PATH`; and statements that are parsed, checked and kept, but not enforced yet: a run with
 * one does not start. docs/decisions/0007. */

#define LATER_SECRET "secret TOKEN for api.example.org header authorization bearer"
#define LATER_SOCKET "socket $SSH_AUTH_SOCK filter ssh-agent key \"SHA256:...\""

/* The position of word @index, or the end of the line. */
static size_t later_at(const struct line *line, size_t index)
{
	return index < line->words.count ? line->words.list[index].at : reader_end(line);
}

static bool later_is(const struct line *line, size_t index, const char *text)
{
	return index < line->words.count && words_is(&line->words.list[index], text);
}

static bool later_is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80 || (!isalpha(c) && c != '_' && (i == 0 || !isdigit(c))))
			return false;
	}
	return len > 0;
}

/* A field's name (RFC 9110 §5.1). */
static bool later_is_field(const struct word *word)
{
	for (size_t i = 0; i < word->len; i++) {
		unsigned char c = (unsigned char)word->text[i];

		if (c >= 0x80 || (!isalnum(c) && !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return word->len > 0 && !word->is_quoted;
}

/* secret NAME for DESTINATION header FIELD [SCHEME] */
static bool later_secret(struct line *line)
{
	const struct words *words = &line->words;
	struct rule_line rl = { .line = line, .policy = line->reader->policy };
	struct pattern pattern;

	if (words->count < 2 || words->list[1].is_quoted ||
	    !later_is_name(words->list[1].text, words->list[1].len))
		return reader_refuse(line, later_at(line, 1), LATER_SECRET,
				     "a secret is named by an environment variable");
	if (!later_is(line, 2, "for") || words->count < 4)
		return reader_refuse(line, later_at(line, words->count < 4 ? words->count : 2),
				     LATER_SECRET,
				     "a secret needs a destination: `for` and a host");
	if (rule_line_pattern(&rl, &words->list[3], &pattern) < 0)
		return false;
	if (!later_is(line, 4, "header") || words->count < 6 || !later_is_field(&words->list[5]))
		return reader_refuse(line, later_at(line, later_is(line, 4, "header") ? 5 : 4),
				     LATER_SECRET,
				     "a secret needs a header field: `header` and its name");
	if (words->count == 6 || later_is(line, 6, "bearer") || later_is(line, 6, "basic"))
		return words->count <= 7 || reader_has_words(line, 7, LATER_SECRET);
	return reader_refuse(line, later_at(line, 6), "bearer, basic, or nothing",
			     "this is not an authorization scheme");
}

static bool later_is_socket(const struct word *word)
{
	if (word->len > 0 && word->text[0] == '$')
		return !word->is_quoted && later_is_name(word->text + 1, word->len - 1);
	return word->len > 1 && (word->text[0] == '/' || strncmp(word->text, "~/", 2) == 0) &&
	       !memchr(word->text, '$', word->len);
}

/* socket PATH [filter ssh-agent key "FINGERPRINT"...] */
static bool later_socket(struct line *line)
{
	const struct words *words = &line->words;

	if (words->count < 2 || !later_is_socket(&words->list[1]))
		return reader_refuse(
			line, later_at(line, 1), LATER_SOCKET,
			"a socket is an absolute path, or one variable that contains it");
	if (words->count == 2)
		return true;
	if (!later_is(line, 2, "filter"))
		return reader_refuse(line, later_at(line, 2), LATER_SOCKET,
				     "unexpected text at the end of the line");
	if (!later_is(line, 3, "ssh-agent"))
		return reader_refuse(line, later_at(line, 3), "filter ssh-agent",
				     "this is not a filter");
	if (words->count < 6 || words->count % 2 != 0)
		return reader_refuse(line, later_at(line, words->count), LATER_SOCKET,
				     "the ssh-agent filter needs the keys that may be used");
	for (size_t i = 4; i < words->count; i += 2) {
		const struct word *key = &words->list[i + 1];

		if (!later_is(line, i, "key") || !key->is_quoted || key->len <= 7 ||
		    strncmp(key->text, "SHA256:", 7) != 0)
			return reader_refuse(line, later_at(line, i), LATER_SOCKET,
					     "a key is given by its SHA256: fingerprint in quotes");
	}
	return true;
}

static void later_keep(const struct line *line)
{
	struct policy *policy = line->reader->policy;
	auto_free char *raw = mem_strndup(line->text, line->len);
	auto_free char *shown = text_visible_dup(raw + line->words.list[0].at);

	policy->settings = mem_reserve(policy->settings, &policy->setting_room,
				       policy->setting_count + 1, sizeof(*policy->settings));
	policy->settings[policy->setting_count++] = (struct setting){
		.kind = SETTING_LATER,
		.text = rules_add_name(policy, shown, strlen(shown)),
		.source = line->reader->source,
		.number = line->number,
	};
}

static const struct {
	const char *word;
	bool (*check)(struct line *line);
} later_kinds[] = {
	{ "secret", later_secret },
	{ "socket", later_socket },
};

/* True: a socket without a filter, which is enforced. (A filter is not.) */
static bool later_is_plain_socket(const struct line *line)
{
	const struct word *word = &line->words.list[1];
	char path[POLICY_LINE_MAX];
	struct flaw flaw = { 0 };

	if (line->words.count != 2 || !later_is(line, 0, "socket"))
		return false;
	if (!word->is_quoted)
		(void)snprintf(path, sizeof(path), "%.*s", (int)word->len, word->text);
	else if (words_unquote(word, path, sizeof(path), &flaw) < 0)
		return reader_refuse(line, flaw.at, flaw.instead, flaw.words);
	settings_add(line, SETTING_SOCKET, path, 0);
	return true;
}

void later_line_read(struct line *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(later_kinds); i++) {
		if (later_is(line, 0, later_kinds[i].word) && later_kinds[i].check(line) &&
		    !later_is_plain_socket(line))
			later_keep(line);
	}
}

static const char *later_word(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(later_kinds); i++) {
		size_t len = strlen(later_kinds[i].word);

		if (strncmp(line, later_kinds[i].word, len) == 0)
			return later_kinds[i].word;
	}
	return "";
}

bool policy_later_look(const struct policy *policy, size_t index, struct policy_rule_look *ret)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];
		const struct source *source = &policy->sources[setting->source];
		const char *line = policy->names + setting->text;

		if (setting->kind != SETTING_LATER || index-- > 0)
			continue;
		*ret = (struct policy_rule_look){
			.layer = (enum policy_layer)source->layer,
			.match = layers_may_set(policy, setting->source) ? POLICY_MATCH_NOT_ENFORCED
									 : POLICY_MATCH_UNTRUSTED,
			.word = later_word(line),
		};
		(void)snprintf(ret->rule, sizeof(ret->rule), "%s:%u: %s", source->name,
			       setting->number, line);
		(void)snprintf(ret->not_enforced, sizeof(ret->not_enforced), "%s", ret->word);
		return true;
	}
	return false;
}

void later_line_note(struct policy *policy)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];
		struct spot spot = { .file = policy->sources[setting->source].name,
				     .number = setting->number };

		if (setting->kind == SETTING_LATER && layers_may_set(policy, setting->source))
			problems_note(&policy->notes, &spot,
				      "this version does not enforce `%s`, so it runs no command "
				      "with this policy",
				      later_word(policy->names + setting->text));
	}
}
