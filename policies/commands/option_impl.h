/* option: does a word contain an option, in any of the forms a program accepts? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Short: is one of @letters anywhere in a cluster (so -xf contains f)? */
bool option_has_letter(const char *word, const char *letters);
/* Long: @word is --NAME or --NAME=VALUE, where NAME is one of @names (separated by spaces) or the
 * beginning of one, as getopt_long() accepts it. */
bool option_has_name(const char *word, const char *names);
/* Is @word one of @list (separated by spaces)? */
bool option_is_one_of(const char *word, const char *list);
/* Finds the one of @names that @word (--NAME[=VALUE]) means, exactly or by a unique beginning; its
 * '=' when the table says "name=" (takes an argument). False: none. */
bool option_find(const char *word, const char *names, bool *ret_takes_word);
