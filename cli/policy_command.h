/* policy_command: `sallyport policy explain command ARGV...`. */
#pragma once

#include "policies/policies_tools.h"

/* Prints what @policy says of @argv; an exit status. */
int policy_command_explain(const struct policy *policy, const char *const *argv, bool is_json);
