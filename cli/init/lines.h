/* lines: adds lines to the text of a configuration file, or takes them out. Pure. */
#pragma once

#include <stdbool.h>

struct err;

/* @before: the text; NULL: there is none. @ours: a JSON object. Members and elements are added, and
 * nothing else changes: a member with another value is an error; with @adds false, what is equal is
 * removed, and objects and lists that are empty then. *@ret: the new text, owned; NULL: there is
 * nothing to do. @name: for errors. 0, or -EINVAL with @why. */
int lines_change_json(const char *before, const char *ours, bool adds, char **ret, const char *name,
		      struct err *why);
/* The same for lines of any other format, at the end of the file. 0. */
int lines_change_text(const char *before, const char *ours, bool adds, char **ret);
