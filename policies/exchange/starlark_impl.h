/* starlark: reads strings, numbers and lists, the arguments of Starlark calls. */
#pragma once

#include "policies/exchange/exchange_impl.h"

struct starlark {
	struct walk walk;
	const char *text;
	size_t len, at;
	uint32_t line;
	char value[EXCHANGE_VALUE_MAX];
	bool is_text;
};
/* Skips blanks and comments. */
void starlark_skip(struct starlark *starlark);
/* Reports the content of the next value to walk.each. 0, its error, or -EBADMSG. */
int starlark_value(struct starlark *starlark);
