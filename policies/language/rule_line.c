#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/configured/configured.h"
#include "policies/language/configured_line_impl.h"
#include "policies/language/rule_line_impl.h"
#include "policies/engine/rules_impl.h"

/* Reads the clause at @at and moves behind it. False: the rest of the line cannot be parsed. */
typedef bool (*rule_line_clause_fn)(struct rule_line *rl);

const struct word *rule_line_word(const struct rule_line *rl)
{
	return &rl->line->words.list[rl->at];
}

bool rule_line_has_word(const struct rule_line *rl)
{
	return rl->at < rl->line->words.count;
}

void rule_line_problem(const struct rule_line *rl, size_t at, const char *instead,
		       const char *words)
{
	struct spot spot = reader_spot(rl->line, at);

	problems_add(&rl->policy->problems, &spot, instead, "%s", words);
}

int rule_line_pattern(struct rule_line *rl, const struct word *word, struct pattern *ret)
{
	struct flaw flaw = { 0 };

	if (word->is_quoted) {
		rule_line_problem(rl, word->at, "the destination without quotes",
				  "a destination must not be in quotes");
		return -EBADMSG;
	}
	int r = pattern_parse(rl->policy, word->text, word->len, rl->rule.is_broad, ret, &flaw);

	if (r < 0)
		rule_line_problem(rl, word->at + flaw.at, flaw.instead, flaw.words);
	return r;
}

static bool rule_line_private(struct rule_line *rl)
{
	if (rl->rule.is_private)
		rule_line_problem(rl, rule_line_word(rl)->at, "`private` once",
				  "this rule has `private` twice");
	if (rl->rule.action == RULE_DENY || rl->rule.action == RULE_ANSWER_DENY)
		rule_line_problem(rl, rule_line_word(rl)->at, "the line without `private`",
				  "only a rule that allows or asks may have `private`; a denial "
				  "always covers private "
				  "addresses");
	rl->rule.is_private = true;
	rl->at++;
	return true;
}

/* rule_line_is_broad() found the word before the destination was read. */
static bool rule_line_broad(struct rule_line *rl)
{
	rl->at++;
	return true;
}

bool rule_line_because(struct rule_line *rl)
{
	static const char advice[] = "because \"the reason\"";
	char text[POLICY_BECAUSE_MAX + 1];
	struct flaw flaw = { 0 };

	if (rl->has_because)
		rule_line_problem(rl, rule_line_word(rl)->at, "`because` once",
				  "this rule has `because` twice");
	rl->has_because = true;
	rl->at++;
	if (!rule_line_has_word(rl)) {
		rule_line_problem(rl, reader_end(rl->line), advice, "`because` needs a text");
		return false;
	}
	const struct word *word = rule_line_word(rl);

	if (!word->is_quoted || word->len == 0) {
		rule_line_problem(rl, word->at, advice, "`because` needs a text in quotes");
		return false;
	}
	if (words_unquote(word, text, sizeof(text), &flaw) < 0)
		rule_line_problem(rl, flaw.at, flaw.instead, flaw.words);
	else
		rl->rule.because = rules_add_name(rl->policy, text, strlen(text));
	rl->at++;
	return true;
}

static const struct {
	const char *word;
	rule_line_clause_fn read;
} rule_line_clauses[] = {
	{ "except", clauses_except },
	{ "because", rule_line_because },
	{ "private", rule_line_private },
	{ "broad", rule_line_broad },
#define X(kind, word, read) { word, read },
#include "policies/engine/clauses.def"
#undef X
};

/* Clauses of the language that this version does not support: a condition that is not enforced must
 * not look as if it were. */
static const char *const rule_line_later[] = { "unconfined" };

static bool rule_line_is_later(const struct word *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_line_later); i++) {
		if (words_is(word, rule_line_later[i]))
			return true;
	}
	return false;
}

static bool rule_line_is_clause(const struct word *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_line_clauses); i++) {
		if (words_is(word, rule_line_clauses[i].word))
			return true;
	}
	return rule_line_is_later(word);
}

bool rule_line_is_clause_over(const struct rule_line *rl)
{
	return !rule_line_has_word(rl) || rule_line_is_clause(rule_line_word(rl));
}

static bool rule_line_unknown(struct rule_line *rl)
{
	const struct word *word = rule_line_word(rl);
	const char *known[ARRAY_SIZE(rule_line_clauses)];
	struct spot spot = reader_spot(rl->line, word->at);
	char instead[96] =
		"a clause such as because or except, or this destination on its own line";

	if (rule_line_is_later(word)) {
		problems_add(&rl->policy->problems, &spot,
			     "the rule without it, if that still says what you mean",
			     "this version does not support `%.*s` yet", (int)word->len,
			     word->text);
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		known[i] = rule_line_clauses[i].word;
	const char *nearest = words_nearest(word, known, ARRAY_SIZE(known));

	if (nearest)
		(void)snprintf(instead, sizeof(instead), "%s", nearest);
	problems_add(&rl->policy->problems, &spot, instead, "unknown clause \"%.*s\"",
		     (int)(word->len < 40 ? word->len : 40), word->text);
	return false;
}

static bool rule_line_clause(struct rule_line *rl)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_line_clauses); i++) {
		if (words_is(rule_line_word(rl), rule_line_clauses[i].word))
			return rule_line_clauses[i].read(rl);
	}
	return rule_line_unknown(rl);
}

static bool rule_line_is_broad(const struct line *line)
{
	for (size_t i = 2; i < line->words.count; i++) {
		if (words_is(&line->words.list[i], "broad"))
			return true;
	}
	return false;
}

/* Sets the action and moves to the destination. False: an error was reported. */
static bool rule_line_action(struct rule_line *rl)
{
	static const struct {
		const char *word;
		enum rule_action plain, answer;
	} actions[] = {
		{ "deny", RULE_DENY, RULE_ANSWER_DENY },
		{ "ask", RULE_ASK, RULE_ASK },
		{ "allow", RULE_ALLOW, RULE_ANSWER_ALLOW },
	};
	bool is_answer = words_is(rule_line_word(rl), "answer");

	rl->at = is_answer ? 1 : 0;
	for (size_t i = 0; rule_line_has_word(rl) && i < ARRAY_SIZE(actions); i++) {
		if (!words_is(rule_line_word(rl), actions[i].word))
			continue;
		if (is_answer && actions[i].plain == RULE_ASK)
			break;
		rl->rule.action = (uint8_t)(is_answer ? actions[i].answer : actions[i].plain);
		rl->at++;
		return true;
	}
	rule_line_problem(rl,
			  rule_line_has_word(rl) ? rule_line_word(rl)->at : reader_end(rl->line),
			  "answer allow ... or answer deny ...",
			  "`answer` must be followed by allow or deny");
	return false;
}

/* `configured TOOL` in the place of a destination. */
static void rule_line_configured(struct rule_line *rl)
{
	size_t at = rl->at;
	struct spot spot = reader_spot(rl->line, rule_line_word(rl)->at);

	rl->configured_at = at;
	rl->at += at + 1 < rl->line->words.count ? 2 : 1;
	if (rl->rule.action == RULE_ANSWER_ALLOW || rl->rule.action == RULE_ANSWER_DENY) {
		problems_add(&rl->policy->problems, &spot,
			     "allow configured ... or deny configured ...",
			     "an `answer` line cannot use `configured`");
		return;
	}
	rl->configured = configured_line_ask(rl->line, at);
	if (!rl->configured)
		return;
	rl->patterns = configured_line_patterns(rl->line, rl->configured, at);
	if (rl->configured->count > 0 || rl->configured->is_unknown)
		return;
	/* A denial of nothing would look as if it denied something. */
	if (rl->rule.action == RULE_DENY)
		problems_add(
			&rl->policy->problems, &spot, "the destinations themselves, or nothing",
			"%s is not configured to use any host here, so this line denies nothing",
			rl->configured->tool);
	else if (rl->policy->environment->tells_all)
		problems_note(
			&rl->policy->notes, &spot,
			"%s is not configured to use any host here, so this line has no effect",
			rl->configured->tool);
}

static void rule_line_destination(struct rule_line *rl)
{
	struct pattern pattern = { 0 };
	const struct word *word = rule_line_word(rl);

	if (words_is(word, "configured")) {
		rule_line_configured(rl);
		return;
	}
	rl->at++;
	if (rule_line_pattern(rl, word, &pattern) == 0)
		rl->rule.pattern = pattern;
}

/* Reads "# by ana on tty, 2026-..." behind an answer: the name, up to the comma. */
static void rule_line_by(struct rule_line *rl)
{
	static const char mark[] = "# by ";
	const struct line *line = rl->line;
	size_t at = line->words.comment;

	if (line->len - at < sizeof(mark) || memcmp(line->text + at, mark, sizeof(mark) - 1) != 0)
		return;
	at += sizeof(mark) - 1;
	const char *comma = memchr(line->text + at, ',', line->len - at);

	rl->rule.by = line->offset + (uint32_t)at;
	rl->rule.by_len = (uint32_t)(comma ? (size_t)(comma - line->text) - at : line->len - at);
}

void rule_line_place(struct rule_line *rl)
{
	const struct line *line = rl->line;
	size_t first = line->words.list[0].at, last = line->len;

	while (last > first && (line->text[last - 1] == ' ' || line->text[last - 1] == '\t'))
		last--;
	rl->rule.source = line->reader->source;
	rl->rule.number = line->number;
	rl->rule.line = line->offset + (uint32_t)first;
	rl->rule.line_len = (uint32_t)(last - first);
}

/* Checks the combination of clauses with every destination of the rule. */
static void rule_line_check(struct rule_line *rl)
{
	size_t problems_before = rl->policy->problems.count;

	if (!rl->patterns)
		clauses_check(rl);
	for (size_t i = 0; rl->patterns && i < rl->configured->count; i++) {
		rl->rule.pattern = rl->patterns[i];
		clauses_check(rl);
		if (rl->policy->problems.count > problems_before)
			return; /* the same error would be reported for the others */
	}
}

void rule_line_read(struct line *line)
{
	struct policy *policy = line->reader->policy;
	struct rule_line rl = { .line = line, .policy = policy };
	size_t problems_before = policy->problems.count;

	rl.rule.is_broad = rule_line_is_broad(line);
	rl.rule.exceptions = (uint32_t)policy->exception_count;
	rl.rule.clauses = (uint32_t)policy->clause_count;
	if (!rule_line_action(&rl))
		return;
	if (!rule_line_has_word(&rl)) {
		rule_line_problem(&rl, reader_end(rl.line), "allow example.org",
				  "the destination is missing");
		return;
	}
	rule_line_destination(&rl);
	while (rule_line_has_word(&rl) && rule_line_clause(&rl))
		;
	rule_line_check(&rl);
	auto_free struct pattern *patterns = take(rl.patterns);

	if (policy->problems.count > problems_before)
		return;
	if (rl.configured) {
		if (patterns)
			configured_line_add(line, &rl.rule, rl.configured, patterns,
					    rl.configured_at);
		return;
	}
	rule_line_place(&rl);
	if (rl.rule.action == RULE_ANSWER_ALLOW || rl.rule.action == RULE_ANSWER_DENY)
		rule_line_by(&rl);
	rules_add(policy, &rl.rule);
}
