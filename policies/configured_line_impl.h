/* configured_line: `configured TOOL` in the place of a destination: what the tool's own
 * configuration names becomes one rule each. docs/decisions/0063 says how they are shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/policy_impl.h"

struct rule_line;

struct configured_found {
	char *destination, *where;
};
/* What a tool said: asked once for a policy. */
struct configured_list {
	const char *tool; /* static */
	struct configured_found *list;
	size_t count;
	bool was_asked;
	bool is_unknown; /* and need not be known */
};

/* Reads `configured TOOL` at @at of the line and asks. NULL: said. Borrowed from the policy. */
const struct configured_list *configured_line_ask(struct rule_line *rl, size_t at);
/* In the place of a rule's destination: fills rl->configured and rl->patterns. */
void configured_line_destination(struct rule_line *rl);
/* Behind `except`; steps past both words. */
void configured_line_except(struct rule_line *rl);
/* Adds rl->rule once for each of @list, whose patterns are @patterns; @at: the word `configured`.
 */
void configured_line_add(struct rule_line *rl, const struct configured_list *list,
			 const struct pattern *patterns, size_t at);
/* The patterns of @list, returned owned; NULL: said, or there are none. */
struct pattern *configured_line_patterns(struct rule_line *rl, const struct configured_list *list,
					 size_t at);
/* NULL is fine. */
void configured_line_free(struct configured_list *lists);
