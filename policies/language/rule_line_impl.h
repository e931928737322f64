/* rule_line: a rule on its way from words to struct rule, and what its clauses need. A clause is a
 * line of policies/engine/clauses.def, which says how one is added. */
#pragma once

#include "policies/engine/pattern_impl.h"
#include "policies/language/reader_impl.h"

struct configured_list;

struct rule_line {
	struct line *line;
	struct policy *policy;
	struct rule rule;
	size_t at; /* index of the next word */
	bool has_because, has_except;
	/* the destination is `configured TOOL`; NULL: it is a written one */
	const struct configured_list *configured;
	struct pattern *patterns; /* of @configured; owned; NULL: none */
	size_t configured_at;     /* that word; 0: none */
};

const struct word *rule_line_word(const struct rule_line *rl);
bool rule_line_has_word(const struct rule_line *rl);
/* Does the word at @at begin a clause, or is there no further word? */
bool rule_line_is_clause_over(const struct rule_line *rl);
void rule_line_problem(const struct rule_line *rl, size_t at, const char *instead,
		       const char *words);
/* 0, or -EBADMSG when an error was reported. */
int rule_line_pattern(struct rule_line *rl, const struct word *word, struct pattern *ret);
/* Sets the rule's position in its file. */
void rule_line_place(struct rule_line *rl);
/* `because "TEXT"` at the word behind @at. */
bool rule_line_because(struct rule_line *rl);

/* Each reads the clause at @at and moves behind it. False: the rest of the line cannot be
 * parsed. */
bool clauses_except(struct rule_line *rl);
#define X(kind, word, read) bool read(struct rule_line *rl);
#include "policies/engine/clauses.def"
#undef X

/* The checks common to all clauses: no duplicate, and an action that may have the clause. Moves
 * behind its word. */
void clauses_begin(struct rule_line *rl, enum clause_kind kind);
/* Reads the argument of a clause, unescaped, into @out. False: an error was reported. */
bool clauses_take(struct rule_line *rl, const char *advice, bool may_be_plain, char *out,
		  size_t size);
void clauses_add(struct rule_line *rl, enum clause_kind kind, const char *text, int64_t value,
		 char unit);
/* Checks the combination of all clauses. */
void clauses_check(struct rule_line *rl);
