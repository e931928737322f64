/* `approvals`, `on-denial`, `hook` and `reviewer`. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_agent.h"
#include "policies/language/reader_impl.h"
#include "policies/language/settings_impl.h"

/* The value of a setting: the mode, above the bits of what may be asked. */
#define AGENT_MODE_SHIFT 8
/* The value of a helper: its kinds, and these bits. */
#define AGENT_IS_REVIEWER (1U << 8)
#define AGENT_IS_TRUSTED  (1U << 9)

#define APPROVALS_ADVICE                                                                           \
	"approvals on-request, or untrusted, on-failure, never, granular CATEGORY..., "            \
	"reject CATEGORY..."

static const struct {
	const char *word;
	enum policy_approvals_mode mode;
	bool has_list, is_inverted;
	unsigned int may_ask;
} approvals_modes[] = {
	{ "on-request", POLICY_APPROVALS_ON_REQUEST, false, false, POLICY_ABOUT_ALL },
	{ "untrusted", POLICY_APPROVALS_UNTRUSTED, false, false, POLICY_ABOUT_ALL },
	{ "on-failure", POLICY_APPROVALS_ON_FAILURE, false, false, POLICY_ABOUT_ALL },
	{ "never", POLICY_APPROVALS_NEVER, false, false, 0 },
	{ "granular", POLICY_APPROVALS_ON_REQUEST, true, false, 0 },
	{ "reject", POLICY_APPROVALS_ON_REQUEST, true, true, POLICY_ABOUT_ALL },
};

struct named_bit {
	const char *word;
	unsigned int bit;
};

static const struct named_bit approvals_about[] = {
	{ "sandbox", POLICY_ABOUT_SANDBOX },         { "rules", POLICY_ABOUT_RULES },
	{ "permissions", POLICY_ABOUT_PERMISSIONS }, { "elicitation", POLICY_ABOUT_ELICITATION },
	{ "network", POLICY_ABOUT_NETWORK },
};

static const struct named_bit helper_kinds[] = {
	{ "exec", POLICY_HELPS_EXEC },
	{ "patch", POLICY_HELPS_PATCH },
	{ "network", POLICY_HELPS_NETWORK },
	{ "permissions", POLICY_HELPS_PERMISSIONS },
	{ "elicitation", POLICY_HELPS_ELICITATION },
};

static const char *const denial_names[] = {
	[POLICY_DENIAL_REPORT] = "report",
	[POLICY_DENIAL_FAIL] = "fail",
	[POLICY_DENIAL_STOP] = "stop",
};

/* Reads words from @first to before @end, each one of @list, without duplicates, into the bits of
 * *@ret. False: an error was reported. */
static bool agent_bits(const struct line *line, size_t first, size_t end,
		       const struct named_bit *list, size_t count, unsigned int *ret,
		       const char *unknown)
{
	const char *names[8];
	unsigned int bits = 0;

	for (size_t i = 0; i < count; i++)
		names[i] = list[i].word;
	for (size_t i = first; i < end; i++) {
		const struct word *word = &line->words.list[i];
		const char *nearest = words_nearest(word, names, count);
		size_t at = 0;

		while (at < count && (word->is_quoted || !words_is(word, names[at])))
			at++;
		if (at == count) {
			(void)reader_refuse(line, word->at, nearest, unknown);
			return false;
		}
		if (bits & list[at].bit) {
			(void)reader_refuse(line, word->at, "once",
					    "this word is on the line twice");
			return false;
		}
		bits |= list[at].bit;
	}
	*ret = bits;
	return true;
}

/* The text shown for the line, such as "granular sandbox rules". Returned owned. */
static char *agent_text(const struct line *line)
{
	char *text = mem_strdup("");

	for (size_t i = 1; i < line->words.count; i++) {
		const struct word *word = &line->words.list[i];
		char *longer =
			mem_printf("%s%s%.*s", text, i > 1 ? " " : "", (int)word->len, word->text);

		free(text);
		text = longer;
	}
	return text;
}

void agent_line_read_approvals(struct line *line)
{
	const struct word *word = &line->words.list[1];
	unsigned int listed = 0;
	size_t at = 0;

	if (line->words.count < 2) {
		(void)reader_has_words(line, 2, APPROVALS_ADVICE);
		return;
	}
	while (at < ARRAY_SIZE(approvals_modes) &&
	       (word->is_quoted || !words_is(word, approvals_modes[at].word)))
		at++;
	if (at == ARRAY_SIZE(approvals_modes)) {
		(void)reader_refuse(line, word->at, APPROVALS_ADVICE,
				    "this is not an approval mode");
		return;
	}
	if (!approvals_modes[at].has_list && !reader_has_words(line, 2, APPROVALS_ADVICE))
		return;
	if (approvals_modes[at].has_list && line->words.count < 3) {
		(void)reader_has_words(line, 3,
				       "sandbox, rules, permissions, elicitation or network");
		return;
	}
	if (!agent_bits(line, 2, line->words.count, approvals_about, ARRAY_SIZE(approvals_about),
			&listed, "this is not a category of questions"))
		return;
	auto_free char *text = agent_text(line);
	unsigned int may_ask = approvals_modes[at].is_inverted
				       ? approvals_modes[at].may_ask & ~listed
				       : approvals_modes[at].may_ask | listed;

	settings_add(line, SETTING_APPROVALS, text,
		     ((int64_t)approvals_modes[at].mode << AGENT_MODE_SHIFT) | may_ask);
}

void agent_line_read_on_denial(struct line *line)
{
	static const char advice[] = "on-denial report, fail or stop";
	const struct word *word = &line->words.list[1];

	if (!reader_has_words(line, 2, advice))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(denial_names); i++) {
		if (!word->is_quoted && words_is(word, denial_names[i])) {
			settings_add(line, SETTING_ON_DENIAL, denial_names[i], (int64_t)i);
			return;
		}
	}
	(void)reader_refuse(line, word->at, advice, "this is not an action after a denial");
}

/* Refuses words that a shell would expand: the program must be what the line says. */
static bool agent_is_program(const char *text)
{
	return (text[0] == '/' || strncmp(text, "~/", 2) == 0) &&
	       text[strcspn(text, "*?[$")] == '\0';
}

/* Appends word @index, unquoted, to *@text. False: an error was reported. */
static bool agent_add_word(const struct line *line, size_t index, char **text)
{
	const struct word *word = &line->words.list[index];
	char plain[POLICY_LINE_MAX];
	struct flaw flaw = { 0 };

	if (word->is_quoted && words_unquote(word, plain, sizeof(plain), &flaw) < 0) {
		(void)reader_refuse(line, flaw.at, flaw.instead, flaw.words);
		return false;
	}
	if (!word->is_quoted)
		(void)snprintf(plain, sizeof(plain), "%.*s", (int)word->len, word->text);
	if (index == 1 && !agent_is_program(plain)) {
		(void)reader_refuse(line, word->at, "the whole path, from / or ~/",
				    "a program is named by one path, without *, ?, [ and $");
		return false;
	}
	/* A line contains no line breaks, so they separate the words. */
	mem_append(text, "%s%s", index > 1 ? "\n" : "", plain);
	return true;
}

/* The last word, after the kinds. */
static bool agent_says_trusted(const struct line *line)
{
	const struct word *word = &line->words.list[line->words.count - 1];

	return !word->is_quoted && words_is(word, "trusted");
}

void agent_line_read_helper(struct line *line)
{
	bool is_reviewer = words_is(&line->words.list[0], "reviewer");
	const char *advice = is_reviewer ? "reviewer /usr/local/lib/reviewer for exec"
					 : "hook /usr/local/lib/hook for exec";
	auto_free char *text = mem_strdup("");
	unsigned int kinds = 0, more = is_reviewer ? AGENT_IS_REVIEWER : 0;
	size_t end = line->words.count, last;

	if (is_reviewer && agent_says_trusted(line)) {
		more |= AGENT_IS_TRUSTED;
		end--;
	}
	last = end;

	/* The last one, because an argument of the program may be the same word. */
	while (last > 1 && (line->words.list[last - 1].is_quoted ||
			    !words_is(&line->words.list[last - 1], "for")))
		last--;
	if (last <= 2 || last == end || last > POLICY_HELPER_WORDS_MAX) {
		(void)reader_refuse(line, line->words.list[0].at, advice,
				    "the program's path, and what it answers for");
		return;
	}
	if (!agent_bits(line, last, end, helper_kinds, ARRAY_SIZE(helper_kinds), &kinds,
			"this is not a kind of question"))
		return;
	/* Thousands of destinations may be asked about, which needs a program that keeps
	 * running. */
	if (!is_reviewer && (kinds & POLICY_HELPS_NETWORK)) {
		(void)reader_refuse(line, line->words.list[last].at, "`reviewer` instead of `hook`",
				    "a hook cannot answer for the network");
		return;
	}
	for (size_t i = 1; i < last - 1; i++) {
		if (!agent_add_word(line, i, &text))
			return;
	}
	settings_add(line, SETTING_HELPER, text, kinds | more);
}

static enum policy_approvals_mode agent_mode(const struct setting *setting)
{
	return (enum policy_approvals_mode)((uint64_t)setting->value >> AGENT_MODE_SHIFT & 3);
}

/* A project may not reduce what is asked below the default. */
bool agent_line_counts(const struct policy *policy, const struct setting *approvals)
{
	return agent_mode(approvals) != POLICY_APPROVALS_ON_FAILURE ||
	       layers_may_set(policy, approvals->source);
}

bool agent_line_is_reviewer(const struct setting *helper)
{
	return helper->value & AGENT_IS_REVIEWER;
}

void policy_get_approvals(const struct policy *policy, struct policy_approvals *ret)
{
	bool has_any = false;

	*ret = (struct policy_approvals){ POLICY_APPROVALS_ON_REQUEST, POLICY_ABOUT_ALL };
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];
		enum policy_approvals_mode mode = agent_mode(setting);

		if (setting->kind != SETTING_APPROVALS || !agent_line_counts(policy, setting))
			continue;
		if (!has_any || mode > ret->mode)
			ret->mode = mode;
		ret->may_ask &= (unsigned int)setting->value;
		has_any = true;
	}
}

bool agent_line_may_not_ask(const struct policy *policy, enum policy_approvals_about about,
			    const struct setting **ret)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		if (policy->settings[i].kind != SETTING_APPROVALS ||
		    ((unsigned int)policy->settings[i].value & about))
			continue;
		*ret = &policy->settings[i];
		return true;
	}
	return false;
}

static void agent_rule(const struct policy *policy, const struct setting *setting,
		       const char *words, const char *text, char out[POLICY_TEXT_MAX])
{
	(void)snprintf(out, POLICY_TEXT_MAX, "%s:%u: %s %s", policy->sources[setting->source].name,
		       setting->number, words, text);
}

bool policy_may_not_ask(const struct policy *policy, enum policy_approvals_about about,
			char ret_rule[POLICY_TEXT_MAX])
{
	const struct setting *setting;

	if (!agent_line_may_not_ask(policy, about, &setting))
		return false;
	agent_rule(policy, setting, "approvals", policy->names + setting->text, ret_rule);
	return true;
}

enum policy_on_denial policy_get_on_denial(const struct policy *policy)
{
	int64_t most = POLICY_DENIAL_REPORT;

	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind == SETTING_ON_DENIAL && setting->value > most)
			most = setting->value;
	}
	return most >= POLICY_DENIAL_STOP ? POLICY_DENIAL_STOP : (enum policy_on_denial)most;
}

static char **agent_split(const char *text)
{
	char **argv = mem_new_array(POLICY_HELPER_WORDS_MAX + 1, sizeof(*argv));
	size_t count = 0;

	for (const char *at = text; count < POLICY_HELPER_WORDS_MAX; at++) {
		size_t len = strcspn(at, "\n");

		argv[count++] = mem_strndup(at, len);
		at += len;
		if (*at == '\0')
			break;
	}
	return argv;
}

/* As it could have been written, without quotes. */
static void helper_rule(const struct policy *policy, const struct setting *setting,
			struct policy_helper *ret)
{
	size_t len;

	agent_rule(policy, setting, ret->is_reviewer ? "reviewer" : "hook",
		   policy->names + setting->text, ret->rule);
	for (char *c = ret->rule; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	for (size_t i = 0; i < ARRAY_SIZE(helper_kinds); i++) {
		len = strlen(ret->rule);
		if (ret->kinds & helper_kinds[i].bit)
			(void)snprintf(ret->rule + len, sizeof(ret->rule) - len, "%s %s",
				       ret->kinds & (helper_kinds[i].bit - 1) ? "" : " for",
				       helper_kinds[i].word); /* truncation is fine */
	}
	len = strlen(ret->rule);
	if (ret->is_trusted)
		(void)snprintf(ret->rule + len, sizeof(ret->rule) - len, " trusted");
}

bool policy_get_helper(const struct policy *policy, unsigned int kinds, size_t index,
		       struct policy_helper *ret)
{
	for (size_t i = 0; i < policy->setting_count; i++) {
		const struct setting *setting = &policy->settings[i];

		if (setting->kind != SETTING_HELPER || !layers_may_set(policy, setting->source) ||
		    !((unsigned int)setting->value & kinds) || index-- > 0)
			continue;
		*ret = (struct policy_helper){
			.is_reviewer = agent_line_is_reviewer(setting),
			.is_trusted = setting->value & AGENT_IS_TRUSTED,
			.kinds = (unsigned int)setting->value & (AGENT_IS_REVIEWER - 1),
			.layer = (enum policy_layer)policy->sources[setting->source].layer,
			.argv = agent_split(policy->names + setting->text),
		};
		helper_rule(policy, setting, ret);
		ret->kinds &= kinds;
		return true;
	}
	return false;
}

void policy_helper_done(struct policy_helper *helper)
{
	mem_free_list(helper->argv);
	helper->argv = NULL;
}

const char *policy_helper_kind_name(enum policy_helper_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(helper_kinds); i++) {
		if (helper_kinds[i].bit == kind)
			return helper_kinds[i].word;
	}
	return "";
}
