#include "policies/commands/command_rules_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct command_rules *command_rules_new(void)
{
	return mem_new(sizeof(struct command_rules));
}

void command_rules_free(struct command_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->count; i++) {
		free(rules->list[i].shown);
		free(rules->list[i].because);
	}
	for (size_t i = 0; i < rules->token_count; i++)
		free(rules->tokens[i]);
	for (size_t i = 0; i < rules->program_count; i++) {
		free(rules->programs[i].name);
		mem_free_list(rules->programs[i].paths);
	}
	free(rules->list);
	free(rules->tokens);
	free(rules->programs);
	free(rules);
}

size_t command_rules_count(const struct command_rules *rules)
{
	return rules->count;
}

bool command_rules_has_denials(const struct command_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->list[i].action == COMMAND_DENY)
			return true;
	}
	return false;
}

const struct command_program *command_rules_find_program(const struct command_rules *rules,
							 const char *name)
{
	for (size_t i = 0; i < rules->program_count; i++) {
		if (strcmp(rules->programs[i].name, name) == 0)
			return &rules->programs[i];
	}
	return NULL;
}

static int flawed(struct command_flaw *flaw, size_t token, size_t at, const char *instead,
		  const char *words)
{
	if (flaw) {
		*flaw = (struct command_flaw){ .token = token, .at = at };
		(void)snprintf(flaw->words, sizeof(flaw->words), "%s", words);
		(void)snprintf(flaw->instead, sizeof(flaw->instead), "%s", instead);
	}
	return -EBADMSG;
}

/* @at: the backslash. */
static int flawed_escape(struct command_flaw *flaw, const struct command_token *token, size_t index,
			 size_t at)
{
	char words[64];

	(void)snprintf(words, sizeof(words), "unknown escape \"%.*s\" in this string",
		       at + 1 < token->len ? 2 : 1, token->text + at);
	return flawed(flaw, index, at, "a backslash only before a quote or a backslash", words);
}

static bool is_word(const struct command_token *token, const char *text)
{
	return !token->is_quoted && token->len == strlen(text) &&
	       memcmp(token->text, text, token->len) == 0;
}

/* Returned owned, with an additional NUL (an empty alternative); NULL: an unknown escape or a NUL,
 * at *@ret_at. */
static char *unquote(const struct command_token *token, size_t *ret_at)
{
	auto_free char *text = mem_new(token->len + 2);
	size_t used = 0;

	*ret_at = 0;
	for (size_t i = 0; i < token->len; i++) {
		char c = token->text[i];

		*ret_at = i;
		if (c == '\0')
			return NULL;
		if (c == '\\' && token->is_quoted) {
			c = i + 1 < token->len ? token->text[++i] : '\0';
			if (c != '"' && c != '\\')
				return NULL;
		}
		text[used++] = c;
	}
	return take(text);
}

/* (a|b|c) as "a\0b\0c\0\0". */
static int read_alternatives(const struct command_token *token, size_t index, char **ret,
			     struct command_flaw *flaw)
{
	auto_free char *text = mem_new(token->len + 2);
	size_t used = 0;

	if (token->len < 3 || token->text[token->len - 1] != ')')
		return flawed(flaw, index, 0,
			      "(a|b) without blanks; or the word in quotes, to take it literally",
			      "the parenthesis does not begin a list of alternatives");
	for (size_t i = 1; i + 1 < token->len; i++) {
		char c = token->text[i];
		bool is_bar = c == '|';

		if (c == '\0' || strchr("()\\", c))
			return flawed(flaw, index, i, "(a|b)",
				      "an alternative may only be a plain word");
		if (is_bar && (used == 0 || text[used - 1] == '\0'))
			return flawed(flaw, index, i, "(a|b)", "an alternative is empty");
		text[used++] = is_bar ? '\0' : c;
	}
	if (used == 0 || text[used - 1] == '\0')
		return flawed(flaw, index, token->len - 1, "(a|b)", "an alternative is empty");
	*ret = take(text);
	return 0;
}

static int read_token(const struct command_token *token, size_t index, char **ret,
		      struct command_flaw *flaw)
{
	size_t at = 0;

	if (!token->is_quoted && token->len > 0 && token->text[0] == '(')
		return read_alternatives(token, index, ret, flaw);
	if (token->len == 0)
		return flawed(flaw, index, 0, "a word with at least one character",
			      "a word of the command is empty");
	if (!token->is_quoted && memchr(token->text, '|', token->len))
		return flawed(flaw, index, 0, "(a|b), or the word in quotes, to take it literally",
			      "a bar is only allowed inside parentheses");
	*ret = unquote(token, &at);
	return *ret ? 0 : flawed_escape(flaw, token, index, at);
}

/* A rule that is being read. */
struct draft {
	struct command_rule rule;
	char *tokens[COMMAND_TOKENS_MAX];
	size_t count;
	bool is_kept;
};

static void draft_done(struct draft *draft)
{
	if (draft->is_kept)
		return;
	for (size_t i = 0; i < draft->count; i++)
		free(draft->tokens[i]);
	free(draft->rule.because);
}
#define auto_draft __attribute__((cleanup(draft_done)))

static bool is_clause(const struct command_token *token)
{
	return is_word(token, "because") || is_word(token, "unconfined");
}

/* Reads the clause at *@at and moves behind it. */
static int read_clause(struct draft *draft, const struct command_token *tokens, size_t count,
		       size_t *at, struct command_flaw *flaw)
{
	size_t i = (*at)++, bad;

	if (is_word(&tokens[i], "unconfined")) {
		if (draft->rule.action != COMMAND_ALLOW)
			return flawed(flaw, i, 0, "the line without `unconfined`",
				      "only `command allow` may have `unconfined`");
		if (draft->rule.is_unconfined)
			return flawed(flaw, i, 0, "`unconfined` once",
				      "this line has `unconfined` twice");
		draft->rule.is_unconfined = true;
		return 0;
	}
	if (!is_word(&tokens[i], "because"))
		return flawed(flaw, i, 0, "because \"TEXT\" or unconfined, at the end",
			      "unexpected word after the clauses");
	if (draft->rule.because)
		return flawed(flaw, i, 0, "`because` once", "this line has `because` twice");
	if (++i == count || !tokens[i].is_quoted)
		return flawed(flaw, i, 0, "because \"the reason\"",
			      "`because` needs a text in quotes");
	(*at)++;
	draft->rule.because = unquote(&tokens[i], &bad);
	if (!draft->rule.because)
		return flawed_escape(flaw, &tokens[i], i, bad);
	if (draft->rule.because[strspn(draft->rule.because, " \t")] == '\0')
		return flawed(flaw, i, 0, "because \"the reason\"", "the reason is empty");
	return 0;
}

static int read_action(struct draft *draft, const struct command_token *tokens, size_t count,
		       struct command_flaw *flaw)
{
	static const enum command_action all[] = { COMMAND_DENY, COMMAND_ASK, COMMAND_ALLOW };

	for (size_t i = 0; count > 0 && i < ARRAY_SIZE(all); i++) {
		if (is_word(&tokens[0], command_action_name(all[i]))) {
			draft->rule.action = all[i];
			return 0;
		}
	}
	return flawed(flaw, 0, 0, "command allow, command ask or command deny",
		      "`command` must be followed by allow, ask or deny");
}

/* `command allow *`: a rule without tokens. */
static int read_any(const struct draft *draft, const struct command_token *tokens, size_t count,
		    struct command_flaw *flaw)
{
	if (count > 2 && !is_clause(&tokens[2]))
		return flawed(flaw, 1, 0, "* alone, or \"*\" in quotes, to take it literally",
			      "`*` stands for every command, so no other word can follow it");
	for (size_t i = 2; i < count && draft->rule.action == COMMAND_ALLOW; i++) {
		if (is_word(&tokens[i], "unconfined"))
			return flawed(flaw, i, 0, "the line without `unconfined`",
				      "`*` cannot let every command out of its sandbox");
	}
	return 0;
}

static int read_draft(struct draft *draft, const struct command_token *tokens, size_t count,
		      struct command_flaw *flaw)
{
	int r = read_action(draft, tokens, count, flaw);
	bool is_any = r == 0 && count > 1 && is_word(&tokens[1], "*");
	size_t at = is_any ? 2 : 1;

	if (is_any)
		r = read_any(draft, tokens, count, flaw);
	for (; r == 0 && at < count && !is_clause(&tokens[at]); at++) {
		if (draft->count == COMMAND_TOKENS_MAX)
			return flawed(flaw, at, 0, "a shorter prefix",
				      "this rule has too many words");
		r = read_token(&tokens[at], at, &draft->tokens[draft->count], flaw);
		draft->count += r == 0;
	}
	if (r == 0 && draft->count == 0 && !is_any)
		return flawed(flaw, at, 0, "command allow git status", "the command is missing");
	while (r == 0 && at < count)
		r = read_clause(draft, tokens, count, &at, flaw);
	return r;
}

static void *reserve(void *array, size_t *room, size_t count, size_t size)
{
	if (count <= *room)
		return array;
	*room = count * 2;
	return mem_grow(array, *room, size);
}

int command_rules_add(struct command_rules *rules, const char *place, const char *line,
		      const struct command_token *tokens, size_t count, struct command_flaw *flaw)
{
	auto_draft struct draft draft = { 0 };
	int r = rules->count < COMMAND_RULES_MAX
			? read_draft(&draft, tokens, count, flaw)
			: flawed(flaw, 0, 0, "", "there are too many rules for commands");

	if (r < 0)
		return r;
	rules->tokens = reserve(rules->tokens, &rules->token_room, rules->token_count + draft.count,
				sizeof(*rules->tokens));
	rules->list = reserve(rules->list, &rules->room, rules->count + 1, sizeof(*rules->list));
	draft.rule.first = rules->token_count;
	draft.rule.count = draft.count;
	draft.rule.shown = mem_printf("%s: %s", place, line);
	for (size_t i = 0; i < draft.count; i++)
		rules->tokens[rules->token_count++] = draft.tokens[i];
	rules->list[rules->count++] = draft.rule;
	draft.is_kept = true;
	return 0;
}

static bool is_listed(char *const *list, const char *text)
{
	for (; *list; list++) {
		if (strcmp(*list, text) == 0)
			return true;
	}
	return false;
}

/* The paths of the name, without duplicates. */
static int read_paths(const char *name, const struct command_token *tokens, size_t count,
		      char **paths, struct command_flaw *flaw)
{
	size_t used = 0, bad;

	for (size_t i = 1; i < count; i++) {
		auto_free char *path = unquote(&tokens[i], &bad);

		if (!path)
			return flawed_escape(flaw, &tokens[i], i, bad);
		if (path[0] != '/' || strlen(path) >= COMMAND_PATH_MAX)
			return flawed(flaw, i, 0, "the whole path, from /",
				      "the path is not absolute");
		if (strcmp(strrchr(path, '/') + 1, name) != 0)
			return flawed(flaw, i, 0, "a path that ends with the program's name",
				      "the file's name differs from the program's name");
		if (!is_listed(paths, path))
			paths[used++] = take(path);
	}
	return 0;
}

/* Keeps the paths that both lists contain. */
static void narrow(char **paths, char *const *other)
{
	size_t kept = 0;

	for (size_t i = 0; paths[i]; i++) {
		if (is_listed(other, paths[i]))
			paths[kept++] = paths[i];
		else
			free(paths[i]);
	}
	paths[kept] = NULL;
}

int command_rules_add_program(struct command_rules *rules, const struct command_token *tokens,
			      size_t count, struct command_flaw *flaw)
{
	size_t bad = 0;
	auto_free char *name = count > 0 ? unquote(&tokens[0], &bad) : NULL;

	if (!name || !name[0] || strchr(name, '/'))
		return flawed(flaw, 0, bad, "program git /usr/bin/git",
			      "a program is named without its folder");
	if (count < 2)
		return flawed(flaw, 1, 0, "program git /usr/bin/git",
			      "the paths of the program are missing");
	auto_free_list char **paths = mem_new_array(count, sizeof(*paths));
	int r = read_paths(name, tokens, count, paths, flaw);

	if (r < 0)
		return r;
	for (size_t i = 0; i < rules->program_count; i++) {
		if (strcmp(rules->programs[i].name, name) != 0)
			continue;
		narrow(rules->programs[i].paths, paths);
		return 0;
	}
	if (rules->program_count == COMMAND_RULES_MAX)
		return flawed(flaw, 0, 0, "", "there are too many `program` lines");
	rules->programs =
		mem_grow(rules->programs, rules->program_count + 1, sizeof(*rules->programs));
	rules->programs[rules->program_count++] =
		(struct command_program){ take(name), take(paths) };
	return 0;
}
