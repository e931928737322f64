/* words: a sandbox written down, for tables. */
#pragma once

struct err;
struct exec_sandbox;

/* @text: "MODE[+net] [-tmp] [-tmpdir] [deny|read|write PATH]…"; @cwd and @tmpdir as in struct
 * exec_sandbox_config. Returned owned; NULL with @why: refused. */
struct exec_sandbox *words_sandbox(const char *text, const char *cwd, const char *tmpdir,
				   struct err *why);
