#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/rule_line_impl.h"

/* Reads the clause at @at and steps past it. False: the rest of the line makes no sense. */
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

	problems_add(rl->policy, &spot, instead, "%s", words);
}

size_t rule_line_end(const struct rule_line *rl)
{
	const struct word *last = &rl->line->words.list[rl->line->words.count - 1];

	return last->at + last->len + (last->is_quoted ? 2 : 0);
}

int rule_line_pattern(struct rule_line *rl, const struct word *word, struct pattern *ret)
{
	struct flaw flaw = { 0 };

	if (word->is_quoted) {
		rule_line_problem(rl, word->at, "the destination without quotes",
				  "a destination is not quoted");
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
		rule_line_problem(rl, rule_line_word(rl)->at, "private once", "a second private");
	if (rl->rule.action == RULE_DENY || rl->rule.action == RULE_ANSWER_DENY)
		rule_line_problem(rl, rule_line_word(rl)->at, "the line without private",
				  "private says what may be allowed; a denial holds everywhere");
	rl->rule.is_private = true;
	rl->at++;
	return true;
}

/* Was seen before the destination was read: rule_line_is_broad(). */
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
		rule_line_problem(rl, rule_line_word(rl)->at, "because once", "a second because");
	rl->has_because = true;
	rl->at++;
	if (!rule_line_has_word(rl)) {
		rule_line_problem(rl, rule_line_end(rl), advice, "because needs a text");
		return false;
	}
	const struct word *word = rule_line_word(rl);

	if (!word->is_quoted || word->len == 0) {
		rule_line_problem(rl, word->at, advice, "because needs a text in quotes");
		return false;
	}
	if (words_unquote(word, text, sizeof(text), &flaw) < 0)
		rule_line_problem(rl, flaw.at, flaw.instead, flaw.words);
	else
		rl->rule.because = rules_add_name(rl->policy, text, strlen(text));
	rl->at++;
	return true;
}

static bool rule_line_except(struct rule_line *rl);

static const struct {
	const char *word;
	rule_line_clause_fn read;
} rule_line_clauses[] = {
	{ "except", rule_line_except },
	{ "because", rule_line_because },
	{ "private", rule_line_private },
	{ "broad", rule_line_broad },
	{ "method", clauses_http_method },
	{ "path", clauses_http_path },
	{ "query", clauses_http_query },
	{ "header", clauses_http_header },
	{ "fronted-by", clauses_http_fronted_by },
	{ "from", clauses_from },
	{ "by", clauses_by },
	{ "upload", clauses_size },
	{ "download", clauses_size },
	{ "rate", clauses_rate },
	{ "connections", clauses_connections },
	{ "for", clauses_for },
	{ "until", clauses_until },
	{ "inspect", clauses_inspect },
	{ "no-inspect", clauses_inspect },
};

/* Part of the language, not of this version: a condition that is not enforced must not look as if
 * it were. */
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

static bool rule_line_loosens(const struct rule_line *rl)
{
	return rl->rule.action == RULE_ALLOW || rl->rule.action == RULE_ANSWER_ALLOW;
}

/* Could anything ever meet both the rule and its exception? Names and addresses meet only where a
 * name's address is looked at: under an allow, and under a deny by address. */
static bool rule_line_pattern_meets(const struct rule_line *rl, const struct pattern *pattern,
				    const struct pattern *exception)
{
	bool is_named = pattern->kind != PATTERN_BLOCK && pattern->kind != PATTERN_ANY;

	if (is_named && exception->kind == PATTERN_BLOCK)
		return rule_line_loosens(rl);
	if (pattern->kind == PATTERN_BLOCK && exception->kind != PATTERN_BLOCK &&
	    exception->kind != PATTERN_ANY)
		return rl->rule.action == RULE_DENY;
	return match_meets(rl->policy, pattern, exception);
}

/* What an exception has in common with its rule: nothing, the host, or a request. */
enum rule_line_meeting { MEETS_NOTHING, MEETS_HOST, MEETS };

static enum rule_line_meeting rule_line_meets_one(const struct rule_line *rl,
						  const struct pattern *pattern,
						  const struct pattern *exception)
{
	if (!rule_line_pattern_meets(rl, pattern, exception))
		return MEETS_NOTHING;
	return match_meets_flow(rl->policy, pattern, exception, rule_line_loosens(rl)) ? MEETS
										       : MEETS_HOST;
}

static enum rule_line_meeting rule_line_meets(const struct rule_line *rl,
					      const struct pattern *exception)
{
	enum rule_line_meeting best = MEETS_NOTHING;

	for (size_t i = 0; rl->patterns && i < rl->configured->count; i++) {
		enum rule_line_meeting one = rule_line_meets_one(rl, &rl->patterns[i], exception);

		best = one > best ? one : best;
	}
	if (rl->patterns)
		return best;
	/* A rule whose own destination is wrong has no host to compare with. */
	return rl->rule.pattern.port_count == 0
		       ? MEETS
		       : rule_line_meets_one(rl, &rl->rule.pattern, exception);
}

bool rule_line_except_pattern(struct rule_line *rl, const struct pattern *exception)
{
	struct policy *policy = rl->policy;

	if (rule_line_meets(rl, exception) != MEETS)
		return false;
	if (exception->kind == PATTERN_BLOCK && rl->rule.pattern.kind != PATTERN_BLOCK &&
	    rule_line_loosens(rl))
		policy->has_address_exceptions = true;
	policy->exceptions =
		rules_reserve(policy->exceptions, &policy->exception_room,
			      policy->exception_count + 1, sizeof(*policy->exceptions));
	policy->exceptions[policy->exception_count++] = *exception;
	rl->rule.exception_count++;
	return true;
}

/* "admin.example.org": @word without protocol and ports, which then are those of the rule. */
static void rule_line_never(struct rule_line *rl, const struct word *word,
			    const struct pattern *exception)
{
	char instead[POLICY_HOST_MAX + 80];
	const char *mark = memmem(word->text, word->len, "://", 3);
	const char *host = mark ? mark + 3 : word->text, *end = word->text + word->len;

	if (rule_line_meets(rl, exception) == MEETS_NOTHING) {
		rule_line_problem(rl, word->at, "an exception within the rule's destination",
				  "the exception can never meet its rule");
		return;
	}
	if (exception->has_ports)
		end = memrchr(host, ':', (size_t)(end - host));
	(void)snprintf(instead, sizeof(instead), "%.*s   (has the rule's ports and protocol)",
		       (int)(end - host), host);
	rule_line_problem(rl, word->at, instead,
			  "the exception can never meet its rule: it is for other ports or "
			  "another protocol");
}

static bool rule_line_except(struct rule_line *rl)
{
	size_t taken = 0;

	if (rl->has_except)
		rule_line_problem(rl, rule_line_word(rl)->at, "all exceptions behind one except",
				  "a second except");
	rl->has_except = true;
	rl->at++;
	for (; rule_line_has_word(rl) && !rule_line_is_clause(rule_line_word(rl)); taken++) {
		const struct word *word = rule_line_word(rl);
		struct pattern exception;

		if (words_is(word, "configured")) {
			configured_line_except(rl);
			continue;
		}
		rl->at++;
		if (rule_line_pattern(rl, word, &exception) == 0 &&
		    !rule_line_except_pattern(rl, &exception))
			rule_line_never(rl, word, &exception);
	}
	if (taken > 0)
		return true;
	rule_line_problem(rl, rule_line_has_word(rl) ? rule_line_word(rl)->at : rule_line_end(rl),
			  "except admin.example.org", "except needs a destination");
	return false;
}

static bool rule_line_unknown(struct rule_line *rl)
{
	const struct word *word = rule_line_word(rl);
	const char *known[ARRAY_SIZE(rule_line_clauses)];
	struct spot spot = reader_spot(rl->line, word->at);
	char instead[96] = "a clause, as because or except; one destination on a line";

	if (rule_line_is_later(word)) {
		problems_add(
			rl->policy, &spot, "the rule without it, if that is still what is meant",
			"%.*s is not supported yet by this version", (int)word->len, word->text);
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		known[i] = rule_line_clauses[i].word;
	const char *nearest = words_nearest(word, known, ARRAY_SIZE(known));

	if (nearest)
		(void)snprintf(instead, sizeof(instead), "%s", nearest);
	problems_add(rl->policy, &spot, instead, "an unknown clause: \"%.*s\"",
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

/* Sets the action and steps to the destination. False: said. */
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
	rule_line_problem(rl, rule_line_has_word(rl) ? rule_line_word(rl)->at : rule_line_end(rl),
			  "answer allow ... or answer deny ...", "an answer is allow or deny");
	return false;
}

static void rule_line_destination(struct rule_line *rl)
{
	struct pattern pattern = { 0 };
	const struct word *word = rule_line_word(rl);

	if (words_is(word, "configured")) {
		configured_line_destination(rl);
		return;
	}
	rl->at++;
	if (rule_line_pattern(rl, word, &pattern) == 0)
		rl->rule.pattern = pattern;
}

/* "# by ana on tty, 2026-..." behind an answer: who it was, up to the comma. */
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

/* What fits together, for every destination that the rule has. */
static void rule_line_check(struct rule_line *rl)
{
	size_t problems_before = rl->policy->problems.count;

	if (!rl->patterns)
		clauses_check(rl);
	for (size_t i = 0; rl->patterns && i < rl->configured->count; i++) {
		rl->rule.pattern = rl->patterns[i];
		clauses_check(rl);
		if (rl->policy->problems.count > problems_before)
			return; /* the rest would be the same */
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
		rule_line_problem(&rl, rule_line_end(&rl), "allow example.org",
				  "a destination is missing");
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
			configured_line_add(&rl, rl.configured, patterns, rl.configured_at);
		return;
	}
	rule_line_place(&rl);
	if (rl.rule.action == RULE_ANSWER_ALLOW || rl.rule.action == RULE_ANSWER_DENY)
		rule_line_by(&rl);
	rules_add(policy, &rl.rule);
}
