/* configured_line: `configured TOOL` in place of a destination: each destination in the tool's own
 * configuration becomes a rule. docs/decisions/0010 says how they are shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/language/reader_impl.h"

struct configured_found {
	char *destination, *where;
};
/* The configuration of one tool, read once for a policy. */
struct configured_list {
	const char *tool; /* static */
	struct configured_found *list;
	size_t count;
	bool was_asked;
	bool is_unknown; /* and need not be known */
};

/* Reads `configured TOOL` at @at of the line, and the tool's configuration. NULL: an error was
 * reported. Borrowed from the policy. */
const struct configured_list *configured_line_ask(struct line *line, size_t at);
/* Adds @like once for each of @list, whose patterns are @patterns; @at: the word `configured`. */
void configured_line_add(struct line *line, const struct rule *like,
			 const struct configured_list *list, const struct pattern *patterns,
			 size_t at);
/* The patterns of @list, returned owned; NULL: an error was reported, or there are none. */
struct pattern *configured_line_patterns(struct line *line, const struct configured_list *list,
					 size_t at);
/* For an image: writes what configured_line_restore() takes, one word after the other, each
 * terminated. Returns the length; @out may be NULL. */
size_t configured_line_save(const struct policy *policy, char *out);
/* From an image: @word is the path of a file that was read, or a destination. */
void configured_line_restore(struct policy *policy, const char *word);
/* NULL is fine. */
void configured_line_free(struct configured_list *lists);
