#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/reader_impl.h"
#include "policies/policies_tools.h"

static void settings_problem(const struct line *line, size_t at, const char *instead,
			     const char *words)
{
	struct spot spot = reader_spot(line, at);

	problems_add(line->reader->policy, &spot, instead, "%s", words);
}

static void settings_add(const struct line *line, enum setting_kind kind, const char *text,
			 int64_t value)
{
	struct policy *policy = line->reader->policy;

	policy->settings = rules_reserve(policy->settings, &policy->setting_room,
					 policy->setting_count + 1, sizeof(*policy->settings));
	policy->settings[policy->setting_count++] = (struct setting){
		.kind = (uint8_t)kind,
		.text = text ? rules_add_name(policy, text, strlen(text)) : 0,
		.value = value,
		.source = line->reader->source,
		.number = line->number,
	};
}

void settings_read_approvals(struct line *line)
{
	static const char advice[] = "approvals on-request, or approvals never";
	const struct word *word = &line->words.list[1];

	if (!reader_has_words(line, 2, advice))
		return;
	if (words_is(word, "on-request") || words_is(word, "never"))
		settings_add(line, SETTING_APPROVALS, NULL, words_is(word, "never"));
	else
		settings_problem(line, word->at, advice, "not a way to approve");
}

void settings_read_timeout(struct line *line)
{
	static const char advice[] = "prompt-timeout 5m";
	const struct word *word = &line->words.list[1];
	int64_t ms;

	if (!reader_has_words(line, 2, advice))
		return;
	auto_free char *text = mem_strndup(word->text, word->len);

	if (word->is_quoted || text_to_duration_ms(text, &ms) < 0 || ms == 0)
		settings_problem(line, word->at, advice, "not a duration");
	else
		settings_add(line, SETTING_PROMPT_TIMEOUT, NULL, ms);
}

/* What a shell would expand is not expanded here: a path must read as what it is. */
static const char *settings_path_refused(const char *text)
{
	if (text[0] == '\0')
		return "an empty path";
	if (text[0] == '~' && text[1] != '\0' && text[1] != '/')
		return "another user's home";
	if (text[strcspn(text, "*?[")] != '\0')
		return "a path is one path: no *, ? or [";
	return strchr(text, '$') ? "variables are not expanded" : NULL;
}

/* The path in @word, into @text. False: said. */
static bool settings_path(const struct line *line, const struct word *word, const char *advice,
			  char text[POLICY_LINE_MAX])
{
	struct flaw flaw = { 0 };

	if (word->is_quoted && words_unquote(word, text, POLICY_LINE_MAX, &flaw) < 0) {
		settings_problem(line, flaw.at, flaw.instead, flaw.words);
		return false;
	}
	if (!word->is_quoted)
		(void)snprintf(text, POLICY_LINE_MAX, "%.*s", (int)word->len, word->text);
	const char *refused = settings_path_refused(text);

	if (refused)
		settings_problem(line, word->at, advice, refused);
	return !refused;
}

void settings_read_paths(struct line *line)
{
	bool is_hide = words_is(&line->words.list[0], "hide");
	const char *advice = is_hide ? "hide ~/.ssh" : "write /var/tmp/build";
	char text[POLICY_LINE_MAX];

	if (line->words.count < 2) {
		(void)reader_has_words(line, 2, advice);
		return;
	}
	for (size_t i = 1; i < line->words.count; i++) {
		if (settings_path(line, &line->words.list[i], advice, text))
			settings_add(line, is_hide ? SETTING_HIDE : SETTING_WRITE, text, 0);
	}
}

bool settings_check_paths(struct line *line, const char *advice)
{
	char text[POLICY_LINE_MAX];
	bool is_good = true;

	if (line->words.count < 2)
		return reader_has_words(line, 2, advice);
	for (size_t i = 1; i < line->words.count; i++)
		is_good &= settings_path(line, &line->words.list[i], advice, text);
	return is_good;
}

bool policy_get_prompt_timeout(const struct policy *policy, int64_t *ret_ms)
{
	int64_t shortest = INT64_MAX;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind == SETTING_PROMPT_TIMEOUT &&
		    layers_may_set(policy, setting->source) && setting->value < shortest)
			shortest = setting->value;
	}
	if (shortest == INT64_MAX)
		return false;
	*ret_ms = shortest;
	return true;
}

const char *policy_get_path(const struct policy *policy, bool is_hide, size_t index)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind != (is_hide ? SETTING_HIDE : SETTING_WRITE))
			continue;
		if ((is_hide || layers_may_set(policy, setting->source)) && index-- == 0)
			return policy->names + setting->text;
	}
	return NULL;
}

/* `never` of any file holds: it only narrows. */
bool settings_is_never(const struct policy *policy, const struct setting **ret)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		if (policy->settings[i].kind != SETTING_APPROVALS || !policy->settings[i].value)
			continue;
		*ret = &policy->settings[i];
		return true;
	}
	return false;
}
