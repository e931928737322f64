/* logged: one line of an audit log as a plain value. */
#pragma once

#include <stddef.h>

struct gateway_logged;

/* Parses @line, which is @len bytes without its newline and is written to: the texts of @ret lie in
 * it. @line[len] is writable. 0, or -EBADMSG with *@ret_words. */
int logged_parse(char *line, size_t len, struct gateway_logged *ret, const char **ret_words);
