/* rule_line: a rule on its way from words to struct rule, and what its clauses need. To add a
 * clause: a kind in policy_impl.h, a function here, a line in the table of rule_line.c; if it is
 * enforced, say so in clauses_not_enforced(). */
#pragma once

#include "policies/configured_line_impl.h"
#include "policies/pattern_impl.h"
#include "policies/reader_impl.h"

struct rule_line {
	struct line *line;
	struct policy *policy;
	struct rule rule;
	size_t at; /* the word to be read next */
	bool has_because, has_except;
	/* `configured TOOL` is the destination; NULL: it is one that is written */
	const struct configured_list *configured;
	struct pattern *patterns; /* of @configured; owned; NULL: none */
	size_t configured_at;     /* that word; 0: none */
};

const struct word *rule_line_word(const struct rule_line *rl);
bool rule_line_has_word(const struct rule_line *rl);
/* Is the word at @at the first of a clause, or is there none? */
bool rule_line_is_clause_over(const struct rule_line *rl);
void rule_line_problem(const struct rule_line *rl, size_t at, const char *instead,
		       const char *words);
/* The column just behind the last word, for what is missing. */
size_t rule_line_end(const struct rule_line *rl);
/* 0, or -EBADMSG when the problem has been said. */
int rule_line_pattern(struct rule_line *rl, const struct word *word, struct pattern *ret);
/* Where the rule stands in its file. */
void rule_line_place(struct rule_line *rl);
/* `because "TEXT"` at the word behind @at. */
bool rule_line_because(struct rule_line *rl);

/* One exception more, unless it can never meet the rule. */
bool rule_line_except_pattern(struct rule_line *rl, const struct pattern *exception);

/* Each reads the clause at @at and steps past it. False: the rest of the line makes no sense. */
bool clauses_from(struct rule_line *rl);
bool clauses_by(struct rule_line *rl);
bool clauses_size(struct rule_line *rl);
bool clauses_rate(struct rule_line *rl);
bool clauses_connections(struct rule_line *rl);
bool clauses_inspect(struct rule_line *rl);
bool clauses_for(struct rule_line *rl);
bool clauses_until(struct rule_line *rl);
bool clauses_http_method(struct rule_line *rl);
bool clauses_http_path(struct rule_line *rl);
bool clauses_http_query(struct rule_line *rl);
bool clauses_http_header(struct rule_line *rl);
bool clauses_http_fronted_by(struct rule_line *rl);

/* The first steps of a clause: said once, and on an action that can have it. Steps past its word.
 */
void clauses_begin(struct rule_line *rl, enum clause_kind kind);
/* The word of a clause that must have one, unescaped into @out. False: said. */
bool clauses_take(struct rule_line *rl, const char *advice, bool may_be_plain, char *out,
		  size_t size);
void clauses_add(struct rule_line *rl, enum clause_kind kind, const char *text, int64_t value,
		 char unit);
/* What fits together, when all are read. */
void clauses_check(struct rule_line *rl);
