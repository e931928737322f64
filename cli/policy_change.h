/* policy_change: what `explain` says about changing a verdict, beside the rule itself. */
#pragma once

#include <stddef.h>

#include "cli/policy_matches.h"

struct policy_rule_look;

/* " (and 2 more rules that say the same)", or "": taking one of several away changes nothing.
 * Returned owned. */
char *policy_change_others(const struct policy_matches *matches);
/* Who wrote the file that @rule ("FILE:LINE: ...") stands in, and when it was last changed:
 * "2026-11-20T20:13:00Z" and "ana". A plain rule says neither. False: it is no file. */
#define POLICY_CHANGE_TEXT_MAX 64
bool policy_change_file(const char *rule, char ret_when[POLICY_CHANGE_TEXT_MAX],
			char ret_owner[POLICY_CHANGE_TEXT_MAX]);
