#include "policies/engine/asker_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/commands/commands.h"

struct policy_asker {
	struct command_pieces *pieces;
	const char *program; /* borrowed; NULL: not known */
};

struct policy_asker *policy_asker_new(const char *const *argv)
{
	struct policy_asker *asker = mem_new(sizeof(*asker));

	asker->pieces = command_pieces_new(argv);
	return asker;
}

void policy_asker_free(struct policy_asker *asker)
{
	if (!asker)
		return;
	command_pieces_free(asker->pieces);
	free(asker);
}

void policy_asker_set_program(struct policy_asker *asker, const char *path)
{
	asker->program = path && path[0] ? path : NULL;
}

/* The next blank-separated word of @text, or NULL. */
static const char *asker_word(const char *text, size_t *ret_len)
{
	text += strspn(text, " \t");
	*ret_len = strcspn(text, " \t");
	return *ret_len ? text : NULL;
}

static bool asker_is_word(const char *argument, const char *word, size_t len)
{
	return strlen(argument) == len && memcmp(argument, word, len) == 0;
}

/* What tightens also applies to the program by its path. */
static bool asker_is_program(const char *argument, const char *word, size_t len, bool is_loosening)
{
	const char *slash = strrchr(argument, '/');

	return asker_is_word(argument, word, len) ||
	       (!is_loosening && slash && asker_is_word(slash + 1, word, len));
}

static bool asker_piece_begins(const struct command_piece *piece, const char *prefix,
			       bool is_loosening)
{
	size_t len, index = 0;

	for (const char *word = asker_word(prefix, &len); word;
	     word = asker_word(word + len, &len), index++) {
		if (index >= piece->argc)
			return false;
		if (is_loosening && piece->words[index] != COMMAND_WORD_PLAIN)
			return false;
		if (index == 0 ? !asker_is_program(piece->argv[0], word, len, is_loosening)
			       : !asker_is_word(piece->argv[index], word, len))
			return false;
	}
	return index > 0;
}

/* Launchers, and pieces that only assign variables, start no program of their own. */
static bool asker_is_idle(const struct command_piece *piece)
{
	return piece->argc == 0 || piece->flags & COMMAND_PASSES_ON;
}

static enum asker_says asker_from(const struct command_pieces *pieces, const char *prefix,
				  bool is_loosening)
{
	static const unsigned int never = COMMAND_GUESS | COMMAND_ELSEWHERE;
	bool is_understood = !command_pieces_why(pieces);
	size_t met = 0, count = 0;

	for (size_t i = 0; i < command_pieces_count(pieces); i++) {
		const struct command_piece *piece = command_pieces_get(pieces, i);

		if (asker_is_idle(piece))
			continue;
		count++;
		if (is_loosening && piece->flags & never)
			return ASKER_NO;
		if (asker_piece_begins(piece, prefix, is_loosening))
			met++;
	}
	if (is_loosening)
		return is_understood && count > 0 && met == count ? ASKER_YES : ASKER_NO;
	if (met > 0)
		return ASKER_YES;
	return is_understood ? ASKER_NO : ASKER_UNKNOWN;
}

static enum asker_says asker_clause(const struct policy *policy, const struct clause *clause,
				    const struct policy_asker *asker, bool is_loosening)
{
	const char *text = policy->names + clause->text;

	if (clause->kind != CLAUSE_FROM && clause->kind != CLAUSE_BY)
		return ASKER_YES;
	if (!asker)
		return ASKER_UNKNOWN;
	if (clause->kind == CLAUSE_FROM)
		return asker_from(asker->pieces, text, is_loosening);
	if (!asker->program || text[0] != '/')
		return ASKER_UNKNOWN;
	return strcmp(asker->program, text) == 0 ? ASKER_YES : ASKER_NO;
}

enum asker_says asker_judge(const struct policy *policy, const struct rule *rule,
			    const struct policy_asker *asker, bool is_loosening)
{
	enum asker_says all = ASKER_YES;

	if (!(rule->clause_kinds & (BIT(CLAUSE_FROM) | BIT(CLAUSE_BY))))
		return ASKER_YES;
	for (uint32_t i = 0; i < rule->clause_count; i++) {
		enum asker_says one = asker_clause(policy, &policy->clauses[rule->clauses + i],
						   asker, is_loosening);

		if (one == ASKER_NO)
			return ASKER_NO;
		if (one == ASKER_UNKNOWN)
			all = ASKER_UNKNOWN;
	}
	return all;
}

unsigned int asker_not_enforced(const struct policy *policy, const struct rule *rule)
{
	if (!(rule->clause_kinds & BIT(CLAUSE_BY)))
		return 0;
	for (uint32_t i = 0; i < rule->clause_count; i++) {
		const struct clause *clause = &policy->clauses[rule->clauses + i];

		if (clause->kind == CLAUSE_BY && policy->names[clause->text] != '/')
			return BIT(CLAUSE_BY);
	}
	return 0;
}

static bool asker_has_clause(const struct policy *policy, unsigned int kinds)
{
	for (size_t i = 0; i < policy->clause_count; i++) {
		if (BIT(policy->clauses[i].kind) & kinds)
			return true;
	}
	return false;
}

bool policy_wants_program(const struct policy *policy)
{
	return asker_has_clause(policy, BIT(CLAUSE_BY));
}

bool policy_wants_asker(const struct policy *policy)
{
	return asker_has_clause(policy, BIT(CLAUSE_BY) | BIT(CLAUSE_FROM));
}
