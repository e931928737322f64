/* settings: what is no rule: who reads it, and whether it counts where it stands. */
#pragma once

#include "policies/policies_agent.h"
#include "policies/policy_impl.h"
#include "policies/reader_impl.h"

/* Who says that people are not asked about that; false: they may be. */
bool agent_line_may_not_ask(const struct policy *policy, enum policy_approvals_about about,
			    const struct setting **ret);
/* "approvals": what a setting's line begins with. Does the line count, where it stands? */
const char *settings_word(const struct setting *setting);
bool settings_counts(const struct policy *policy, const struct setting *setting);
/* Keeps what @line says. @text: copied; NULL: there is none. */
void settings_add(const struct line *line, enum setting_kind kind, const char *text, int64_t value);
