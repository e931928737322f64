/* policy_command: `sallyport policy explain command ARGV...`. */
#pragma once

#include "policies/policies_tools.h"

/* Prints the verdict of @policy about @argv; an exit status. */
int policy_command_explain(const struct policy *policy, const char *const *argv, bool is_json);
