/* words: a sandbox written down, for tables. */
#pragma once

#include <stdbool.h>

struct err;
struct exec_sandbox;

/* Do both allow the same? */
bool words_equal(const struct exec_sandbox *a, const struct exec_sandbox *b);

/* @text: "MODE[+net] [-tmp] [-tmpdir] [deny|read|write PATH]…"; @cwd and @tmpdir as in struct
 * exec_sandbox_config. Returned owned; NULL with @why: refused. */
struct exec_sandbox *words_sandbox(const char *text, const char *cwd, const char *tmpdir,
				   struct err *why);
