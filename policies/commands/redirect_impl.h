/* redirect: the operators of redirections, and what they do with their targets. */
#pragma once

#include "policies/commands/commands.h"

/* The operator that @text (@rest bytes) begins with; "" when it is none we know. */
const char *redirect_operator(const char *text, size_t rest);
enum command_redirect_kind redirect_kind(const char *operator, const char * target);
/* Names that some shells open as something else than a file. */
bool redirect_is_odd(const char *operator, const char * target);
/* How many digits @text begins with, if they stand right before < or >: a descriptor, not a word.
 */
size_t redirect_descriptor(const char *text, size_t rest);
