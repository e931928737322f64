/* settings: the statements that are not rules: who reads them, and in which layers they count. */
#pragma once

#include "policies/policies_agent.h"
#include "policies/engine/policy_impl.h"
#include "policies/language/reader_impl.h"

/* Which line forbids asking people about that; false: none. */
bool agent_line_may_not_ask(const struct policy *policy, enum policy_approvals_about about,
			    const struct setting **ret);
/* "approvals": the first word of a setting's line. Does the line count in its layer? */
const char *settings_word(const struct setting *setting);
bool settings_counts(const struct policy *policy, const struct setting *setting);
/* Keeps the values of @line. @text: copied; NULL: no text. */
void settings_add(const struct line *line, enum setting_kind kind, const char *text, int64_t value);
