#include "policies/language/clauses_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/engine/dates_impl.h"
#include "policies/language/rule_line_impl.h"
#include "policies/engine/rules_impl.h"

#define CLAUSES_FROM_MAX        400U
#define CLAUSES_RATE_MAX        1000000U
#define CLAUSES_CONNECTIONS_MAX 65535U
#define CLAUSES_DIGEST_MARK     "sha256:"
#define CLAUSES_DIGEST_LEN      64U

#define CLAUSES_CONDITIONS                                                                         \
	(BIT(CLAUSE_METHOD) | BIT(CLAUSE_PATH) | BIT(CLAUSE_QUERY) | BIT(CLAUSE_HEADER))
#define CLAUSES_OF_HTTP                                                                            \
	(BIT(CLAUSE_METHOD) | BIT(CLAUSE_PATH) | BIT(CLAUSE_QUERY) | BIT(CLAUSE_HEADER))
#define CLAUSES_BUDGETS                                                                            \
	(BIT(CLAUSE_UPLOAD) | BIT(CLAUSE_DOWNLOAD) | BIT(CLAUSE_RATE) | BIT(CLAUSE_CONNECTIONS))
#define CLAUSES_BOUNDS                                                                             \
	(CLAUSES_BUDGETS | BIT(CLAUSE_INSPECT) | BIT(CLAUSE_NO_INSPECT) | BIT(CLAUSE_FRONTED_BY))

static const char *const clauses_words[CLAUSE_COUNT] = {
#define X(kind, word, read) [CLAUSE_##kind] = (word),
#include "policies/engine/clauses.def"
#undef X
};

unsigned int clauses_conditions(const struct rule *rule)
{
	return rule->clause_kinds & CLAUSES_CONDITIONS;
}

/* This version inspects nothing, so no-inspect is always met. */
unsigned int clauses_bounds(const struct rule *rule)
{
	return rule->clause_kinds & (BIT(CLAUSE_INSPECT) | BIT(CLAUSE_FRONTED_BY));
}

unsigned int clauses_budgets(const struct rule *rule)
{
	return rule->clause_kinds & CLAUSES_BUDGETS;
}

void clauses_text(unsigned int kinds, char out[CLAUSES_TEXT_MAX])
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned int kind = 0; kind < CLAUSE_COUNT; kind++) {
		if (!(kinds & BIT(kind)) || len >= CLAUSES_TEXT_MAX)
			continue;
		len += (size_t)snprintf(out + len, CLAUSES_TEXT_MAX - len, "%s%s", len ? ", " : "",
					clauses_words[kind]);
	}
}

int64_t clauses_until_of(const struct policy *policy, const struct rule *rule)
{
	int64_t until = INT64_MAX;

	for (uint32_t i = 0; i < rule->clause_count; i++) {
		const struct clause *clause = &policy->clauses[rule->clauses + i];
		int64_t end = clause->value;

		if (clause->kind != CLAUSE_FOR && clause->kind != CLAUSE_UNTIL)
			continue;
		if (clause->kind == CLAUSE_FOR && policy->start <= 0)
			return INT64_MIN;
		if (clause->kind == CLAUSE_FOR)
			end += policy->start;
		until = end < until ? end : until;
	}
	return until;
}

void clauses_add(struct rule_line *rl, enum clause_kind kind, const char *text, int64_t value,
		 char unit)
{
	struct policy *policy = rl->policy;

	policy->clauses = mem_reserve(policy->clauses, &policy->clause_room,
				      policy->clause_count + 1, sizeof(*policy->clauses));
	policy->clauses[policy->clause_count++] = (struct clause){
		.kind = (uint8_t)kind,
		.text = text ? rules_add_name(policy, text, strlen(text)) : 0,
		.value = value,
		.unit = unit,
	};
	rl->rule.clause_count++;
}

void clauses_begin(struct rule_line *rl, enum clause_kind kind)
{
	bool denies = rl->rule.action == RULE_DENY || rl->rule.action == RULE_ANSWER_DENY;
	size_t at = rule_line_word(rl)->at;
	auto_free char *second = mem_printf("this rule has `%s` twice", clauses_words[kind]);
	auto_free char *once = mem_printf("all values after one `%s`", clauses_words[kind]);

	if (rl->rule.clause_kinds & BIT(kind))
		rule_line_problem(rl, at, once, second);
	if (denies && BIT(kind) & CLAUSES_BOUNDS)
		rule_line_problem(rl, at, "the line without this clause",
				  "this clause limits what a rule allows, and this rule denies");
	rl->rule.clause_kinds |= BIT(kind);
	rl->at++;
}

bool clauses_take(struct rule_line *rl, const char *advice, bool may_be_plain, char *out,
		  size_t size)
{
	struct flaw flaw = { 0 };

	if (rule_line_is_clause_over(rl)) {
		rule_line_problem(
			rl, rule_line_has_word(rl) ? rule_line_word(rl)->at : reader_end(rl->line),
			advice, "the value is missing");
		return false;
	}
	const struct word *word = rule_line_word(rl);

	rl->at++;
	if (!may_be_plain && !word->is_quoted) {
		rule_line_problem(rl, word->at, advice, "the value must be in quotes");
		return false;
	}
	if (word->is_quoted && words_unquote(word, out, size, &flaw) < 0) {
		rule_line_problem(rl, flaw.at, flaw.instead, flaw.words);
		return false;
	}
	if (!word->is_quoted && word->len >= size) {
		rule_line_problem(rl, word->at, advice, "the value is too long");
		return false;
	}
	if (!word->is_quoted) {
		memcpy(out, word->text, word->len);
		out[word->len] = '\0';
	}
	if (out[0])
		return true;
	rule_line_problem(rl, word->at, advice, "the value is empty");
	return false;
}

/* The column of the word that was taken last. */
static size_t clauses_taken_at(const struct rule_line *rl)
{
	return rl->line->words.list[rl->at - 1].at;
}

bool clauses_from(struct rule_line *rl)
{
	static const char advice[] = "from \"pip install\"";
	char text[CLAUSES_FROM_MAX + 1];

	clauses_begin(rl, CLAUSE_FROM);
	if (!clauses_take(rl, advice, false, text, sizeof(text)))
		return false;
	if (text[strspn(text, " \t")] == '\0')
		rule_line_problem(rl, clauses_taken_at(rl), advice, "the command is missing");
	clauses_add(rl, CLAUSE_FROM, text, 0, 0);
	return true;
}

static bool clauses_is_digest(const char *text)
{
	size_t mark = strlen(CLAUSES_DIGEST_MARK);

	return strncmp(text, CLAUSES_DIGEST_MARK, mark) == 0 &&
	       strlen(text) == mark + CLAUSES_DIGEST_LEN &&
	       strspn(text + mark, "0123456789abcdef") == CLAUSES_DIGEST_LEN;
}

bool clauses_by(struct rule_line *rl)
{
	static const char advice[] = "by /usr/bin/git, or `by sha256:` and 64 hexadecimal digits";
	char text[POLICY_LINE_MAX];

	clauses_begin(rl, CLAUSE_BY);
	if (!clauses_take(rl, advice, true, text, sizeof(text)))
		return false;
	/* A bare name could be any program of that name. */
	if (text[0] != '/' && !clauses_is_digest(text))
		rule_line_problem(rl, clauses_taken_at(rl), advice,
				  "a program is named by its absolute path or its digest");
	clauses_add(rl, CLAUSE_BY, text, 0, 0);
	return true;
}

bool clauses_size(struct rule_line *rl)
{
	bool is_upload = words_is(rule_line_word(rl), "upload");
	enum clause_kind kind = is_upload ? CLAUSE_UPLOAD : CLAUSE_DOWNLOAD;
	const char *advice = is_upload ? "upload 64k" : "download 64k";
	char text[32];
	uint64_t value = 0;

	clauses_begin(rl, kind);
	if (!clauses_take(rl, advice, true, text, sizeof(text)))
		return false;
	if (text_to_size(text, strlen(text), 1ULL << 40, &value) < 0)
		rule_line_problem(
			rl, clauses_taken_at(rl), advice,
			"a size is a number, then k, m, g or nothing for bytes, up to 1024g");
	clauses_add(rl, kind, text, (int64_t)value, 0);
	return true;
}

bool clauses_rate(struct rule_line *rl)
{
	static const char advice[] = "rate 10/m (s, m, h or d)";
	char text[32];
	uint64_t value = 0;

	clauses_begin(rl, CLAUSE_RATE);
	if (!clauses_take(rl, advice, true, text, sizeof(text)))
		return false;
	const char *slash = strchr(text, '/');
	bool is_good = slash && slash[1] && strchr("smhd", slash[1]) && !slash[2];

	if (!is_good || text_to_u64(text, (size_t)(slash - text), CLAUSES_RATE_MAX, &value) < 0 ||
	    value == 0)
		rule_line_problem(
			rl, clauses_taken_at(rl), advice,
			"a rate is a number of requests, a slash and a unit of time: s, m, h or d");
	clauses_add(rl, CLAUSE_RATE, text, (int64_t)value, is_good ? slash[1] : '\0');
	return true;
}

bool clauses_connections(struct rule_line *rl)
{
	static const char advice[] = "connections 4";
	char text[32];
	uint64_t value = 0;

	clauses_begin(rl, CLAUSE_CONNECTIONS);
	if (!clauses_take(rl, advice, true, text, sizeof(text)))
		return false;
	if (text_to_u64(text, strlen(text), CLAUSES_CONNECTIONS_MAX, &value) < 0 || value == 0)
		rule_line_problem(rl, clauses_taken_at(rl), advice,
				  "`connections` needs a number from 1 to 65535");
	clauses_add(rl, CLAUSE_CONNECTIONS, NULL, (int64_t)value, 0);
	return true;
}

bool clauses_inspect(struct rule_line *rl)
{
	bool is_inspect = words_is(rule_line_word(rl), "inspect");

	clauses_begin(rl, is_inspect ? CLAUSE_INSPECT : CLAUSE_NO_INSPECT);
	return true;
}

/* "by ana on tty, 2026-11-20T20:13Z, ...": when an answer was given, or 0. */
static int64_t clauses_given_at(const struct rule_line *rl)
{
	const struct line *line = rl->line;
	const char *text = line->text;
	size_t at = line->words.comment, end;
	int64_t given = 0;

	while (at < line->len && text[at] != ',')
		at++;
	while (at < line->len && (text[at] == ',' || text[at] == ' '))
		at++;
	for (end = at; end < line->len && text[end] != ',' && text[end] != ' ';)
		end++;
	return dates_parse(text + at, end - at, &given) ? given : 0;
}

/* In a rule it counts from the start of each run; in an answer from the time in its comment. */
bool clauses_for(struct rule_line *rl)
{
	static const char advice[] = "for 30m (s, m, h or d)";
	bool is_answer =
		rl->rule.action == RULE_ANSWER_ALLOW || rl->rule.action == RULE_ANSWER_DENY;
	int64_t ms = 0, given = is_answer ? clauses_given_at(rl) : 0;
	char text[32];

	clauses_begin(rl, CLAUSE_FOR);
	if (!clauses_take(rl, advice, true, text, sizeof(text)))
		return false;
	if (text_to_duration_ms(text, &ms) < 0 || ms < 1000 || ms / 1000 > INT32_MAX)
		rule_line_problem(rl, clauses_taken_at(rl), advice,
				  "a duration is a number and s, m, h or d, of at least a second");
	else if (is_answer && given == 0)
		rule_line_problem(rl, clauses_taken_at(rl), "`until` with a date",
				  "the comment of this answer does not say when it was given");
	if (is_answer)
		clauses_add(rl, CLAUSE_UNTIL, text, given + ms / 1000, 0);
	else
		clauses_add(rl, CLAUSE_FOR, text, ms / 1000, 0);
	return true;
}

bool clauses_until(struct rule_line *rl)
{
	static const char advice[] = "until 2030-12-31, or until 2030-12-31T20:00Z";
	char text[DATES_TEXT_MAX];
	int64_t value = 0;

	clauses_begin(rl, CLAUSE_UNTIL);
	if (!clauses_take(rl, advice, true, text, sizeof(text)))
		return false;
	if (!dates_parse(text, strlen(text), &value))
		rule_line_problem(rl, clauses_taken_at(rl), advice, "this is not a date in UTC");
	clauses_add(rl, CLAUSE_UNTIL, text, value, 0);
	return true;
}

void clauses_check(struct rule_line *rl)
{
	unsigned int kinds = rl->rule.clause_kinds;
	bool is_http = kinds & CLAUSES_OF_HTTP;
	size_t at = rl->line->words.list[0].at;

	if (is_http &&
	    (rl->rule.pattern.protocol == POLICY_TCP || rl->rule.pattern.protocol == POLICY_UDP))
		rule_line_problem(rl, at, "http:// or https://",
				  "this rule has conditions on an HTTP request, but tcp:// and "
				  "udp:// may carry any protocol");
	if (kinds & BIT(CLAUSE_INSPECT) && kinds & BIT(CLAUSE_NO_INSPECT))
		rule_line_problem(rl, at, "only one of them",
				  "one rule cannot have both `inspect` and `no-inspect`");
	if (is_http && kinds & BIT(CLAUSE_NO_INSPECT) && rl->rule.pattern.protocol != POLICY_HTTP)
		rule_line_problem(rl, at, "only one of them, or http://",
				  "conditions on an HTTP request need `inspect` for https");
}
