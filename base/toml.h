/* toml: the values of a TOML document (1.0), each with its keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

#define TOML_DEPTH_MAX 16  /* of keys, elements of arrays included */
#define TOML_KEY_MAX   256 /* bytes */

struct toml_value {
	const char *const *keys; /* NULL means an element of an array, or of an array of tables */
	size_t depth;
	const char *text; /* a string without quotes and escapes; borrowed, not terminated */
	size_t len, line;
	bool is_string;
};
typedef int (*toml_value_fn)(const struct toml_value *value, void *arg);
/* -EBADMSG with @why, or the return value of @each; *@ret_line is the line. */
int toml_read(const char *text, size_t len, toml_value_fn each, void *arg, size_t *ret_line,
	      struct err *why);
