#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/files/layers_impl.h"
#include "policies/language/reader_impl.h"
#include "policies/policies_tools.h"
#include "policies/policies_upstream.h"
#include "policies/language/settings_impl.h"
#include "policies/engine/rules_impl.h"

#define UPSTREAM_ADVICE "upstream http://proxy.example.org:3128, or upstream none"

void settings_add(const struct line *line, enum setting_kind kind, const char *text, int64_t value)
{
	struct policy *policy = line->reader->policy;

	policy->settings = mem_reserve(policy->settings, &policy->setting_room,
				       policy->setting_count + 1, sizeof(*policy->settings));
	policy->settings[policy->setting_count++] = (struct setting){
		.kind = (uint8_t)kind,
		.text = text ? rules_add_name(policy, text, strlen(text)) : 0,
		.value = value,
		.source = line->reader->source,
		.number = line->number,
	};
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
		(void)reader_refuse(line, word->at, advice, "this is not a duration");
	else
		settings_add(line, SETTING_PROMPT_TIMEOUT, NULL, ms);
}

static const char *const caches[POLICY_CACHES] = {
	[POLICY_CACHE_SHARED] = "shared",
	[POLICY_CACHE_PRIVATE] = "private",
	[POLICY_CACHE_NONE] = "none",
};

static bool settings_cache(const char *text, size_t len, enum policy_cache *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++)
		if (strlen(caches[i]) == len && strncmp(caches[i], text, len) == 0) {
			*ret = (enum policy_cache)i;
			return true;
		}
	return false;
}

void settings_read_cache(struct line *line)
{
	static const char advice[] = "cache private";
	const struct word *word = &line->words.list[1];
	enum policy_cache cache;

	if (!reader_has_words(line, 2, advice))
		return;
	if (word->is_quoted || !settings_cache(word->text, word->len, &cache))
		(void)reader_refuse(line, word->at, advice, "private, shared or none");
	else
		settings_add(line, SETTING_CACHE, NULL, (int64_t)cache);
}

bool policy_get_cache(const struct policy *policy, enum policy_cache *ret)
{
	int64_t least = -1;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind == SETTING_CACHE && settings_counts(policy, setting) &&
		    setting->value > least)
			least = setting->value;
	}
	if (least < 0)
		return false;
	*ret = (enum policy_cache)least;
	return true;
}

/* Refuses what a shell would expand: a path must be what the line says. */
static const char *settings_path_refused(const char *text)
{
	if (text[0] == '\0')
		return "the path is empty";
	if (text[0] == '~' && text[1] != '\0' && text[1] != '/')
		return "~USER is not supported; only ~/ for your own home directory is";
	if (text[strcspn(text, "*?[")] != '\0')
		return "a path cannot contain *, ? or [";
	return strchr(text, '$') ? "variables are not expanded; write the path itself" : NULL;
}

/* Reads the path in @word into @text. False: an error was reported. */
static bool settings_path(const struct line *line, const struct word *word, const char *advice,
			  char text[POLICY_LINE_MAX])
{
	struct flaw flaw = { 0 };

	if (word->is_quoted && words_unquote(word, text, POLICY_LINE_MAX, &flaw) < 0) {
		(void)reader_refuse(line, flaw.at, flaw.instead, flaw.words);
		return false;
	}
	if (!word->is_quoted)
		(void)snprintf(text, POLICY_LINE_MAX, "%.*s", (int)word->len, word->text);
	const char *refused = settings_path_refused(text);

	if (refused)
		(void)reader_refuse(line, word->at, advice, refused);
	return !refused;
}

static const struct {
	const char *word, *advice;
	enum setting_kind kind;
} path_lines[POLICY_PATHS] = {
	[POLICY_PATH_WRITE] = { "write", "write /var/tmp/build", SETTING_WRITE },
	[POLICY_PATH_HIDE] = { "hide", "hide ~/.ssh", SETTING_HIDE },
	[POLICY_PATH_READ] = { "read", "read ~/src", SETTING_READ },
	[POLICY_PATH_PROTECT] = { "protect", "protect .env", SETTING_PROTECT },
	[POLICY_PATH_UNPROTECT] = { "unprotect", "unprotect .vscode", SETTING_UNPROTECT },
	[POLICY_PATH_SOCKET] = { "socket", "socket /run/x", SETTING_SOCKET },
	[POLICY_PATH_ENV] = { "env", "env GITHUB_TOKEN", SETTING_ENV },
};

void settings_read_paths(struct line *line)
{
	enum policy_path what = POLICY_PATH_WRITE;
	char text[POLICY_LINE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(path_lines); i++)
		if (words_is(&line->words.list[0], path_lines[i].word))
			what = (enum policy_path)i;
	const char *advice = path_lines[what].advice;

	if (line->words.count < 2) {
		(void)reader_has_words(line, 2, advice);
		return;
	}
	for (size_t i = 1; i < line->words.count; i++) {
		const struct word *word = &line->words.list[i];

		if (!settings_path(line, word, advice, text))
			continue;
		if (what == POLICY_PATH_ENV && strchr(text, '='))
			(void)reader_refuse(line, word->at, advice,
					    "the name of the variable, without a value");
		else
			settings_add(line, path_lines[what].kind, text, 0);
	}
}

static bool settings_read_url(const struct line *line, struct policy_upstream *ret)
{
	const struct word *word = &line->words.list[1];
	auto_free char *url = mem_strndup(word->text, word->len);
	struct err why = { 0 };

	if (strchr(url, '@'))
		return reader_refuse(line, word->at, "credentials-file ~/.config/proxy-login",
				     "a login does not belong into a policy, which others read");
	if (word->is_quoted || policy_upstream_parse(url, ret, &why) < 0)
		return reader_refuse(line, word->at, UPSTREAM_ADVICE,
				     why.text[0] ? why.text : "the URL is written without quotes");
	return true;
}

/* Reads the files behind the URL; the command must not see the first and not change the second. */
static bool settings_read_files(const struct line *line, bool is_tls, char login[POLICY_LINE_MAX],
				char authorities[POLICY_LINE_MAX])
{
	static const char advice[] = "credentials-file ~/.config/proxy-login";
	const struct words *words = &line->words;

	for (size_t i = 2; i < words->count; i += 2) {
		const struct word *word = &words->list[i];
		bool is_login = words_is(word, "credentials-file");
		char *path = is_login ? login : authorities;

		if ((!is_login && !words_is(word, "ca-file")) || path[0])
			return reader_refuse(line, word->at, advice, "this word is not known here");
		if (!is_login && !is_tls)
			return reader_refuse(line, word->at, "upstream https://proxy.example.org",
					     "only a proxy of https:// has a certificate");
		if (!settings_path(line, &words->list[i + 1], advice, path))
			return false;
	}
	return true;
}

void settings_read_upstream(struct line *line)
{
	const struct words *words = &line->words;
	const struct word *word = &words->list[1];
	char login[POLICY_LINE_MAX] = "", authorities[POLICY_LINE_MAX] = "";
	struct policy_upstream upstream = { 0 };

	if (words->count == 2 && words_is(word, "none")) {
		settings_add(line, SETTING_UPSTREAM, NULL, 0);
		return;
	}
	if (words->count != 2 && !reader_has_words(line, words->count > 4 ? 6 : 4, UPSTREAM_ADVICE))
		return;
	if (!settings_read_url(line, &upstream) ||
	    !settings_read_files(line, upstream.is_tls, login, authorities))
		return;
	auto_free char *text =
		mem_printf("%.*s%s%s", (int)word->len, word->text, login[0] ? " " : "", login);

	settings_add(line, SETTING_UPSTREAM, text, 0);
	if (authorities[0]) {
		settings_add(line, SETTING_AUTHORITIES, authorities, 0);
		settings_add(line, SETTING_PROTECT, authorities, 0);
	}
	if (login[0])
		settings_add(line, SETTING_HIDE, login, 0);
}

/* An administrator's line holds before all others, and one for this run before the user's. */
static int settings_upstream_rank(const struct policy *policy, const struct setting *setting)
{
	enum policy_layer layer = (enum policy_layer)policy->sources[setting->source].layer;

	if (setting->kind != SETTING_UPSTREAM || !layers_may_set(policy, setting->source))
		return 0;
	return layer == POLICY_MANAGED ? 3 : layer == POLICY_COMMAND_LINE ? 2 : 1;
}

bool policy_get_upstream(const struct policy *policy, struct policy_upstream *ret,
			 struct policy_upstream_files *ret_files)
{
	const struct setting *best = NULL, *last = policy->settings + policy->setting_count;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];
		int rank = settings_upstream_rank(policy, setting);

		if (rank > 0 && (!best || rank >= settings_upstream_rank(policy, best)))
			best = setting;
	}
	if (!best)
		return false;
	*ret = (struct policy_upstream){ 0 };
	*ret_files = (struct policy_upstream_files){ 0 };
	if (best->text == 0)
		return true;
	const char *text = policy->names + best->text, *blank = strchr(text, ' ');
	auto_free char *url = blank ? mem_strndup(text, (size_t)(blank - text)) : mem_strdup(text);

	(void)policy_upstream_parse(url, ret, NULL); /* it was read before */
	ret_files->login = blank ? blank + 1 : NULL;
	if (best + 1 < last && best[1].kind == SETTING_AUTHORITIES)
		ret_files->authorities = policy->names + best[1].text;
	return true;
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

const char *policy_get_path(const struct policy *policy, enum policy_path what, size_t index)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind != path_lines[what].kind)
			continue;
		if ((what == POLICY_PATH_HIDE || what == POLICY_PATH_PROTECT ||
		     layers_may_set(policy, setting->source)) &&
		    index-- == 0)
			return policy->names + setting->text;
	}
	return NULL;
}

const char *settings_word(const struct setting *setting)
{
	static const char *const words[SETTING_COUNT] = {
		[SETTING_APPROVALS] = "approvals", [SETTING_PROMPT_TIMEOUT] = "prompt-timeout",
		[SETTING_WRITE] = "write",         [SETTING_HIDE] = "hide",
		[SETTING_READ] = "read",           [SETTING_LATER] = "",
		[SETTING_APPROVER] = "approver",   [SETTING_APPROVERS_NEEDED] = "approvers-needed",
		[SETTING_ON_DENIAL] = "on-denial", [SETTING_PROTECT] = "protect",
		[SETTING_UNPROTECT] = "unprotect", [SETTING_ENV] = "env",
		[SETTING_LIMIT] = "limit",         [SETTING_SOCKET] = "socket",
		[SETTING_CACHE] = "cache",         [SETTING_UPSTREAM] = "upstream",
		[SETTING_AUTHORITIES] = "ca-file", [SETTING_DURABLE] = "durable",
		[SETTING_KEEP] = "audit",
	};

	if (setting->kind == SETTING_HELPER)
		return agent_line_is_reviewer(setting) ? "reviewer" : "hook";
	return words[setting->kind];
}

/* Settings that only narrow count in any file. */
bool settings_counts(const struct policy *policy, const struct setting *setting)
{
	switch ((enum setting_kind)setting->kind) {
	case SETTING_APPROVALS:
		return agent_line_counts(policy, setting);
	case SETTING_CACHE:
		return setting->value != POLICY_CACHE_SHARED ||
		       layers_may_set(policy, setting->source);
	case SETTING_LIMIT:
		return limit_line_counts(policy, setting);
	case SETTING_HIDE:
	case SETTING_PROTECT:
	case SETTING_APPROVERS_NEEDED:
	case SETTING_ON_DENIAL:
	case SETTING_DURABLE:
		return true;
	case SETTING_PROMPT_TIMEOUT:
	case SETTING_WRITE:
	case SETTING_READ:
	case SETTING_UNPROTECT:
	case SETTING_ENV:
	case SETTING_SOCKET:
	case SETTING_LATER:
	case SETTING_UPSTREAM:
	case SETTING_AUTHORITIES:
	case SETTING_APPROVER:
	case SETTING_HELPER:
	case SETTING_KEEP:
	case SETTING_COUNT:
	default:
		return layers_may_set(policy, setting->source);
	}
}

/* Line @number of @source, without leading blanks; its length in *@ret_len. */
static const char *settings_line(const struct source *source, uint32_t number, size_t *ret_len)
{
	const char *at = source->text, *end = source->text + source->len, *next;

	for (uint32_t i = 1; i < number && (next = memchr(at, '\n', (size_t)(end - at))); i++)
		at = next + 1;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	next = memchr(at, '\n', (size_t)(end - at));
	*ret_len = (size_t)((next ? next : end) - at);
	return at;
}

/* One line may have several. */
static bool settings_is_line_before(const struct setting *settings, size_t at)
{
	return at > 0 && settings[at].source == settings[at - 1].source &&
	       settings[at].number == settings[at - 1].number;
}

bool policy_setting_look(const struct policy *policy, size_t index, struct policy_rule_look *ret)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];
		const struct source *source = &policy->sources[setting->source];
		size_t len;

		if (setting->kind == SETTING_LATER ||
		    settings_is_line_before(policy->settings, i) || index-- > 0)
			continue;
		const char *line = settings_line(source, setting->number, &len);

		*ret = (struct policy_rule_look){
			.word = settings_word(setting),
			.layer = (enum policy_layer)source->layer,
			.match = settings_counts(policy, setting) ? POLICY_MATCHES
								  : POLICY_MATCH_UNTRUSTED,
		};
		len = len < sizeof(ret->rule) ? len : sizeof(ret->rule);
		auto_free char *text = mem_strndup(line, len), *shown = text_visible_dup(text);

		(void)snprintf(ret->rule, sizeof(ret->rule), "%s:%u: %s", source->name,
			       setting->number, shown); /* truncation is fine */
		return true;
	}
	return false;
}
