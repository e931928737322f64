/* `limit`, `durable`, which bounds what a power cut may cost, and `audit keep`, which bounds the
 * log. */
#include "policies/files/layers_impl.h"
#include "policies/policies_gate.h"
#include "policies/policies_limits.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/language/settings_impl.h"

#define LIMIT_SIZE_MAX (1ULL << 40)
#define KEEP_SIZE_MIN  (1ULL << 20)
#define KEEP_AGE_MIN   INT64_C(86400000) /* ms */
#define KEEP_AGE_MAX   (36500 * KEEP_AGE_MIN)
#define KEEP_ALL       INT64_MAX

static const struct {
	const char *word, *advice;
	uint64_t least, most, normal; /* normal 0: the default is set elsewhere */
	bool is_size;
} limits[POLICY_LIMITS] = {
	[POLICY_LIMIT_PROCESSES] = { "processes", "limit processes 2048", 8, 65536, 8192, false },
	[POLICY_LIMIT_MEMORY] = { "memory", "limit memory 4g", 16U << 20, LIMIT_SIZE_MAX, 0, true },
	[POLICY_LIMIT_TMP] = { "tmp", "limit tmp 512m", 64U << 10, LIMIT_SIZE_MAX, 0, true },
	[POLICY_LIMIT_FILES] = { "files", "limit files 4096", 32, 1U << 20, 0, false },
	/* A screen shows some tens; a command that needs more has to wait for answers anyway.
	 * docs/decisions/0036. */
	[POLICY_LIMIT_QUESTIONS] = { "questions", "limit questions 64", 1, 4096, 64, false },
	[POLICY_LIMIT_RECORDS] = { "records", "limit records 64", 1, 100000, 64, false },
	[POLICY_LIMIT_CONNECTIONS] = { "connections", "limit connections 4096", 4, 1U << 20, 16384,
				       false },
};

const char *policy_limit_name(enum policy_limit limit)
{
	return limits[limit].word;
}

static enum policy_limit limit_of(const struct policy *policy, const struct setting *setting)
{
	size_t limit = 0;

	while (limit < POLICY_LIMITS - 1 &&
	       strcmp(policy->names + setting->text, limits[limit].word) != 0)
		limit++;
	return (enum policy_limit)limit;
}

bool limit_line_counts(const struct policy *policy, const struct setting *setting)
{
	enum policy_limit limit = limit_of(policy, setting);
	uint64_t normal = limits[limit].normal;

	if (layers_may_set(policy, setting->source))
		return true;
	return limit != POLICY_LIMIT_RECORDS && (normal == 0 || (uint64_t)setting->value < normal);
}

uint64_t policy_limit_held(const struct policy *policy, enum policy_limit limit)
{
	uint64_t least = 0;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind == SETTING_LIMIT && limit_of(policy, setting) == limit &&
		    limit_line_counts(policy, setting) &&
		    (least == 0 || (uint64_t)setting->value < least))
			least = (uint64_t)setting->value;
	}
	return least ? least : limits[limit].normal;
}

/* "512m"; plain numbers where the limit is not a size. False: invalid, or out of bounds. */
static bool limit_value(const struct word *word, enum policy_limit limit, uint64_t *ret)
{
	int (*const read)(const char *text, size_t len, uint64_t max, uint64_t *ret_value) =
		limits[limit].is_size ? text_to_size : text_to_u64;

	return !word->is_quoted && read(word->text, word->len, limits[limit].most, ret) == 0 &&
	       *ret >= limits[limit].least;
}

void limit_line_read(struct line *line)
{
	static const char kinds[] = "processes, memory, tmp, files, questions, records or "
				    "connections";
	const struct words *words = &line->words;
	char range[96];
	size_t limit = 0;
	uint64_t value = 0;

	if (!reader_has_words(line, 3, limits[0].advice))
		return;
	while (limit < POLICY_LIMITS && !words_is(&words->list[1], limits[limit].word))
		limit++;
	if (limit == POLICY_LIMITS) {
		(void)reader_refuse(line, line->words.list[1].at, kinds,
				    "this is not the name of a limit");
		return;
	}
	if (limit_value(&words->list[2], (enum policy_limit)limit, &value)) {
		settings_add(line, SETTING_LIMIT, limits[limit].word, (int64_t)value);
		return;
	}
	if (limits[limit].is_size)
		(void)snprintf(
			range, sizeof(range),
			"a size is a number, then k, m, g or nothing for bytes, from %luk to 1024g",
			(unsigned long)(limits[limit].least >> 10));
	else
		(void)snprintf(range, sizeof(range), "this is not a number from %lu to %lu",
			       (unsigned long)limits[limit].least,
			       (unsigned long)limits[limit].most);
	(void)reader_refuse(line, line->words.list[2].at, limits[limit].advice, range);
}

void limit_line_read_durable(struct line *line)
{
	static const char advice[] = "durable strict or batch";
	const struct word *word = &line->words.list[1];
	bool is_strict;

	if (!reader_has_words(line, 2, advice))
		return;
	is_strict = words_is(word, "strict");
	if (word->is_quoted || (!is_strict && !words_is(word, "batch")))
		(void)reader_refuse(line, word->at, advice, "strict or batch");
	else
		settings_add(line, SETTING_DURABLE, NULL, is_strict);
}

bool policy_is_durable(const struct policy *policy)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		if (policy->settings[i].kind == SETTING_DURABLE && policy->settings[i].value)
			return true;
	}
	return false;
}

static bool keep_age(const char *text, int64_t *ret_ms)
{
	size_t len = strlen(text);

	return len > 0 && text[len - 1] == 'd' && text_to_duration_ms(text, ret_ms) == 0 &&
	       *ret_ms >= KEEP_AGE_MIN && *ret_ms <= KEEP_AGE_MAX;
}

static bool keep_size(const struct word *word, uint64_t *ret_bytes)
{
	return text_to_size(word->text, word->len, LIMIT_SIZE_MAX, ret_bytes) == 0 &&
	       *ret_bytes >= KEEP_SIZE_MIN;
}

void limit_line_read_keep(struct line *line)
{
	static const char advice[] = "audit keep 90d 2g";
	const struct words *words = &line->words;
	auto_free char *age = NULL;
	uint64_t bytes = KEEP_ALL;
	int64_t ms;

	if (words->count < 3 || words->count > 4) {
		(void)reader_has_words(line, words->count < 3 ? 3 : 4, advice);
		return;
	}
	if (!words_is(&words->list[1], "keep")) {
		(void)reader_refuse(line, words->list[1].at, advice, "keep");
		return;
	}
	for (size_t i = 2; i < words->count; i++) {
		const struct word *word = &words->list[i];
		auto_free char *text = mem_strndup(word->text, word->len);

		if (!word->is_quoted && !age && keep_age(text, &ms)) {
			age = take(text);
		} else if (word->is_quoted || bytes != KEEP_ALL || !keep_size(word, &bytes)) {
			(void)reader_refuse(
				line, word->at, advice,
				"an age from 1d to 36500d, a size from 1m to 1024g, or both");
			return;
		}
	}
	settings_add(line, SETTING_KEEP, age, (int64_t)bytes);
}

/* A line that says only one of the two keeps all that the other one could remove. */
bool policy_get_keep(const struct policy *policy, int64_t *ret_age_ms, uint64_t *ret_bytes)
{
	*ret_age_ms = 0;
	*ret_bytes = 0;
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];
		int64_t age_ms;

		if (setting->kind != SETTING_KEEP || !settings_counts(policy, setting))
			continue;
		if (setting->text == 0 || !keep_age(policy->names + setting->text, &age_ms))
			age_ms = KEEP_ALL;
		if (age_ms > *ret_age_ms)
			*ret_age_ms = age_ms;
		if ((uint64_t)setting->value > *ret_bytes)
			*ret_bytes = (uint64_t)setting->value;
	}
	return *ret_bytes != 0;
}
