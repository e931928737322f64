/* git_config: finds the lines of a repository's configuration that make git run something. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* @line, up to @end; @rest: what follows its section headers. False: no more lines. */
typedef bool (*git_config_fn)(const char *line, const char *rest, const char *end, void *arg);

/* Calls @each for every line of @text, which is @len bytes in the format of git-config(1), that is
 * not known to be harmless: it may run something or lead to another file. */
void git_config_each(const char *text, size_t len, git_config_fn each, void *arg);

/* The first of these lines: returned owned, without space before it, truncated at 80 bytes and at a
 * NUL. NULL: there is none. */
char *git_config_runs(const char *text, size_t len);
