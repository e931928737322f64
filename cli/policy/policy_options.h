/* policy_options: the policy that a command's options name. */
#pragma once

#include <stdbool.h>

struct options;
struct policy;

/* The policy file of the user, owned; NULL: neither XDG_CONFIG_HOME nor HOME is set. */
char *policy_options_user_file(void);
/* Loads all layers for the current folder, as --managed, --no-user and --policy say.
 * False: policy_errors() says what is wrong. */
bool policy_options_load(const struct options *options, struct policy *policy);
