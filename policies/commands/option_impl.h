/* option: does a word carry an option, in any of the ways a program would understand it? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Short: one of @letters anywhere in a cluster (so -xf is seen where f is looked for). */
bool option_has_letter(const char *word, const char *letters);
/* Long: @word is --NAME or --NAME=VALUE, where NAME is one of @names (split by spaces) or a
 * beginning of one, as getopt_long() takes it. */
bool option_has_name(const char *word, const char *names);
/* Is @word one of @list (split by spaces)? */
bool option_is_one_of(const char *word, const char *list);
/* The one of @names that @word (--NAME[=VALUE]) names, exactly or by a beginning only it has; its
 * '=' when the table writes "name=" (takes a word). False: none. */
bool option_find(const char *word, const char *names, bool *ret_takes_word);
