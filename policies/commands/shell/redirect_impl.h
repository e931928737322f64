/* redirect: redirection operators and their targets. */
#pragma once

#include "policies/commands/commands.h"

/* The operator at the start of @text (@rest bytes); "" for an unknown one. */
const char *redirect_operator(const char *text, size_t rest);
enum command_redirect_kind redirect_kind(const char *operator, const char * target);
/* Does some shell open this name as something other than a file? */
bool redirect_is_odd(const char *operator, const char * target);
/* How many digits @text begins with, if < or > follows them: a descriptor, not a word. */
size_t redirect_descriptor(const char *text, size_t rest);
