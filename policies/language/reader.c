#include "policies/language/reader_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/hosts/host_impl.h"
#include "policies/policies_tools.h"

typedef void (*reader_statement_fn)(struct line *line);

struct spot reader_spot(const struct line *line, size_t at)
{
	const struct source *source = &line->reader->policy->sources[line->reader->source];

	return (struct spot){ source->name, line->number, line->text, line->len, at };
}

bool reader_refuse(const struct line *line, size_t at, const char *instead, const char *words)
{
	struct spot spot = reader_spot(line, at);

	problems_add(&line->reader->policy->problems, &spot, instead, "%s", words);
	return false;
}

size_t reader_end(const struct line *line)
{
	const struct word *last = &line->words.list[line->words.count - 1];

	return last->at + last->len + (last->is_quoted ? 2 : 0);
}

bool reader_has_words(const struct line *line, size_t count, const char *instead)
{
	const struct words *words = &line->words;

	if (words->count == count)
		return true;
	if (words->count > count)
		return reader_refuse(line, words->list[count].at, instead,
				     "unexpected text at the end of the line");
	return reader_refuse(line, reader_end(line), instead, "the line is not complete");
}

static void reader_version(struct line *line)
{
	struct reader *reader = line->reader;
	struct spot spot = reader_spot(line, line->words.list[0].at);

	if (reader->has_version) {
		problems_add(&reader->policy->problems, &spot,
			     "`version` once, at the top of the file",
			     "this file has `version` twice");
		return;
	}
	reader->has_version = true;
	if (reader->has_statement)
		problems_add(&reader->policy->problems, &spot, NULL,
			     "`version` must be the first statement of the file");
	if (!reader_has_words(line, 2, "version 1") || words_is(&line->words.list[1], "1"))
		return;
	spot.at = line->words.list[1].at;
	problems_add(&reader->policy->problems, &spot, "version 1",
		     "this program only reads version 1");
}

/* False: @word is not an action, which was reported. */
static bool reader_action(const struct line *line, const struct word *word, enum policy_action *ret)
{
	static const enum policy_action all[] = { POLICY_DENY, POLICY_ASK, POLICY_ALLOW };
	struct spot spot = reader_spot(line, word->at);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!words_is(word, policy_action_name(all[i])))
			continue;
		*ret = all[i];
		return true;
	}
	problems_add(&line->reader->policy->problems, &spot, "allow, ask or deny",
		     "this is not an action");
	return false;
}

static void reader_default(struct line *line)
{
	struct reader *reader = line->reader;
	struct source *source = &reader->policy->sources[reader->source];
	struct spot spot = reader_spot(line, line->words.list[0].at);
	enum policy_action action;

	if (reader->has_default) {
		problems_add(&reader->policy->problems, &spot, "`default` once in a file",
			     "this file has `default` twice");
		return;
	}
	reader->has_default = true;
	if (!reader_has_words(line, 2, "default ask") ||
	    !reader_action(line, &line->words.list[1], &action))
		return;
	source->has_default = true;
	source->default_action = (uint8_t)action;
}

static void reader_include(struct line *line)
{
	static const char advice[] = "include \"team.policy\"";
	const struct word *word = &line->words.list[1];
	char name[POLICY_LINE_MAX];
	struct flaw flaw = { 0 };

	if (line->words.count >= 2 && words_is(word, "preset")) {
		if (reader_has_words(line, 3, "include preset npm"))
			load_preset(line, &line->words.list[2]);
		return;
	}
	if (!reader_has_words(line, 2, advice))
		return;
	struct spot spot = reader_spot(line, word->at);

	if (!word->is_quoted) {
		problems_add(&line->reader->policy->problems, &spot, advice,
			     "the file's name must be in quotes");
		return;
	}
	if (words_unquote(word, name, sizeof(name), &flaw) < 0) {
		spot.at = flaw.at;
		problems_add(&line->reader->policy->problems, &spot, flaw.instead, "%s",
			     flaw.words);
		return;
	}
	load_include(line, name, word);
}

static void reader_add_expectation(struct line *line, enum policy_action action,
				   const struct policy_destination *dst)
{
	struct policy *policy = line->reader->policy;

	policy->expects = mem_reserve(policy->expects, &policy->expect_room,
				      policy->expect_count + 1, sizeof(*policy->expects));
	policy->expects[policy->expect_count++] = (struct expectation){
		.dst = *dst,
		.action = (uint8_t)action,
		.source = line->reader->source,
		.number = line->number,
		.line = line->offset,
		.line_len = (uint32_t)line->len,
		.column = (uint32_t)line->words.list[1].at,
	};
}

static void reader_expect(struct line *line)
{
	static const char advice[] = "expect deny https://example.org";
	struct policy *policy = line->reader->policy;
	struct policy_destination dst;
	enum policy_action action;
	struct err why = { 0 };

	if (line->words.count >= 3 && words_is(&line->words.list[2], "command")) {
		if (reader_action(line, &line->words.list[1], &action))
			command_line_read_expect(line, action);
		return;
	}
	if (!reader_has_words(line, 3, advice) ||
	    !reader_action(line, &line->words.list[1], &action))
		return;
	const struct word *word = &line->words.list[2];
	struct spot spot = reader_spot(line, word->at);
	auto_free char *text = mem_strndup(word->text, word->len);

	if (word->is_quoted)
		problems_add(&policy->problems, &spot, advice,
			     "a destination must not be in quotes");
	else if (policy_destination_parse(text, &dst, &why) < 0)
		problems_add(&policy->problems, &spot,
			     "one host, one port: https://example.org, tcp://example.org:22", "%s",
			     why.text);
	/* Those of a preset describe the preset alone: docs/decisions/0010. */
	else if (!policy->sources[line->reader->source].is_preset)
		reader_add_expectation(line, action, &dst);
}

static const struct {
	const char *word;
	reader_statement_fn read;
} reader_statements[] = {
	{ "version", reader_version },
	{ "default", reader_default },
	{ "include", reader_include },
	{ "allow", rule_line_read },
	{ "ask", rule_line_read },
	{ "deny", rule_line_read },
	{ "answer", rule_line_read },
	{ "expect", reader_expect },
	{ "only", only_line_read },
	{ "approvals", agent_line_read_approvals },
	{ "on-denial", agent_line_read_on_denial },
	{ "hook", agent_line_read_helper },
	{ "reviewer", agent_line_read_helper },
	{ "write", settings_read_paths },
	{ "hide", settings_read_paths },
	{ "read", settings_read_paths },
	{ "protect", settings_read_paths },
	{ "unprotect", settings_read_paths },
	{ "env", settings_read_paths },
	{ "prompt-timeout", settings_read_timeout },
	{ "cache", settings_read_cache },
	{ "limit", limit_line_read },
	{ "durable", limit_line_read_durable },
	{ "audit", limit_line_read_keep },
	{ "upstream", settings_read_upstream },
	{ "approver", approver_line_read },
	{ "approvers-needed", approver_line_read_needed },
	{ "command", command_line_read },
	{ "program", command_line_read },
	{ "secret", later_line_read },
	{ "socket", later_line_read },
};

/* Statements of the language that this version does not support. They are errors: a rule that is
 * not enforced must not look as if it were. */
static const char *const reader_later[] = {
	"inspect",
	"no-inspect",
};

static void reader_unknown(struct line *line)
{
	const struct word *word = &line->words.list[0];
	const char *known[ARRAY_SIZE(reader_statements)];
	struct spot spot = reader_spot(line, word->at);
	char instead[96] =
		"version, default, allow, ask, deny, include, expect, write, hide or read";

	for (size_t i = 0; i < ARRAY_SIZE(reader_later); i++) {
		if (!words_is(word, reader_later[i]))
			continue;
		problems_add(&line->reader->policy->problems, &spot, "nothing: remove the line",
			     "this version does not support `%s` yet", reader_later[i]);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		known[i] = reader_statements[i].word;
	const char *nearest = words_nearest(word, known, ARRAY_SIZE(known));

	if (nearest)
		(void)snprintf(instead, sizeof(instead), "%s", nearest);
	problems_add(&line->reader->policy->problems, &spot, instead, "unknown statement \"%.*s\"",
		     (int)(word->len < 40 ? word->len : 40), word->text);
}

static void reader_statement(struct line *line)
{
	const struct word *word = &line->words.list[0];

	for (size_t i = 0; i < ARRAY_SIZE(reader_statements); i++) {
		if (!words_is(word, reader_statements[i].word))
			continue;
		reader_statements[i].read(line);
		line->reader->has_statement = true;
		return;
	}
	reader_unknown(line);
	line->reader->has_statement = true;
}

/* Characters that change what a person sees: C1 controls (U+0080..9F), line separators and
 * direction-changing ones (U+200E, U+200F, U+2028..202E, U+2066..2069). A reviewer must read the
 * same rule as we do. */
static bool reader_is_deceiving(const unsigned char *at, size_t left)
{
	if (left >= 2 && at[0] == 0xc2 && at[1] < 0xa0)
		return true;
	if (left < 3 || at[0] != 0xe2)
		return false;
	if (at[1] == 0x80)
		return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
	return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

/* False: the line is not valid text, which was reported. */
static bool reader_check_bytes(const struct line *line)
{
	size_t valid = host_utf8_check(line->text, line->len);

	if (line->len > POLICY_LINE_MAX)
		return reader_refuse(line, POLICY_LINE_MAX, "shorter lines",
				     "the line is longer than 4096 bytes");
	for (size_t i = 0; i < valid; i++) {
		unsigned char c = (unsigned char)line->text[i];

		if (c == '\0')
			return reader_refuse(line, i, NULL, "the line contains a NUL byte");
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return reader_refuse(line, i, NULL, "the line contains a control byte");
		if (c >= 0x80 &&
		    reader_is_deceiving((const unsigned char *)line->text + i, valid - i))
			return reader_refuse(line, i, NULL,
					     "the line contains a character that changes how the "
					     "line is displayed");
	}
	if (valid < line->len)
		return reader_refuse(line, valid, "text in UTF-8", "the text is not valid UTF-8");
	return true;
}

static void reader_line(struct line *line)
{
	struct reader *reader = line->reader;
	struct flaw flaw = { 0 };

	if (line->number == 1 && line->len >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) {
		(void)reader_refuse(line, 0, "UTF-8 without a byte order mark",
				    "the file begins with a byte order mark");
		line->text += 3;
		line->len -= 3;
		line->offset += 3;
	}
	if (line->len > 0 && line->text[line->len - 1] == '\r') {
		line->len--;
		if (!reader->said_cr)
			(void)reader_refuse(line, line->len, "lines that end with LF only",
					    "the line ends with CR and LF");
		reader->said_cr = true; /* once per file */
	}
	if (!reader_check_bytes(line))
		return;
	if (words_split(line->text, line->len, &line->words, &flaw) < 0)
		(void)reader_refuse(line, flaw.at, flaw.instead, flaw.words);
	else if (line->words.count > 0)
		reader_statement(line);
}

/* A file full of errors must not keep the gate busy. Reports once at which line it stops. */
static bool reader_is_hopeless(const struct line *line)
{
	struct policy *policy = line->reader->policy;
	struct spot spot = reader_spot(line, 0);

	if (policy->problems.count < POLICY_ERRORS_MAX)
		return false;
	if (!policy->problems.is_over)
		problems_add(
			&policy->problems, &spot, NULL,
			"the file has %u errors or more; the lines after this one are not read",
			POLICY_ERRORS_MAX);
	policy->problems.is_over = true;
	return true;
}

void reader_run(struct reader *reader)
{
	/* An include may move policy->sources; the text itself does not move. */
	const char *text = reader->policy->sources[reader->source].text;
	size_t len = reader->policy->sources[reader->source].len;
	auto_free struct line *line = mem_new(sizeof(*line));
	uint32_t number = 0;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;

		line->reader = reader;
		line->number = ++number;
		line->offset = (uint32_t)at;
		line->text = text + at;
		line->len = line_len;
		reader_line(line);
		at += line_len + 1;
		if (at < len && reader_is_hopeless(line))
			return;
	}
}
