#include "policies/commands/shell/shell_impl.h"

#include <string.h>

#include "base/mem.h"

static const char *const shells[] = { "sh", "bash", "zsh", "dash" };
/* These shells have their own syntax, which is not parsed. */
static const char *const strange_shells[] = { "rbash", "ash",  "ksh",   "mksh",  "fish",   "csh",
					      "tcsh",  "yash", "ksh93", "pdksh", "elvish", "nu" };
static const char *const builtins[] = { "cd",     "echo",  "true",  "false",    "test",  "[",
					"printf", "pwd",   ":",     "type",     "wait",  "sleep",
					"read",   "exit",  "kill",  "umask",    "jobs",  "set",
					"return", "shift", "break", "continue", "times", "ulimit",
					"pushd",  "popd",  "dirs" };
static const char *const bending[] = {
	"eval",    "source",    ".",          "trap",    "alias",     "unalias",  "hash",
	"enable",  "declare",   "typeset",    "local",   "readonly",  "export",   "unset",
	"shopt",   "setopt",    "unsetopt",   "emulate", "autoload",  "zmodload", "fc",
	"bind",    "complete",  "compgen",    "rehash",  "functions", "disable",  "read",
	"mapfile", "readarray", "getopts",    "zle",     "sched",     "vared",    "limit",
	"printf",  "caller",    "history",    "integer", "float",     "let",      "zcompile",
	"bindkey", "zstyle",    "zparseopts", "noglob",  "nocorrect", "-",
};

static bool is_in(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, list[i]) == 0)
			return true;
	}
	return false;
}

bool shell_is_name(const char *name)
{
	const char *base = pieces_base(name);

	return is_in(base, shells, ARRAY_SIZE(shells)) ||
	       is_in(base, strange_shells, ARRAY_SIZE(strange_shells));
}

bool shell_is(const struct command_piece *piece)
{
	return shell_is_name(piece->argv[0]);
}

bool shell_is_read(const struct command_piece *piece)
{
	return is_in(pieces_base(piece->argv[0]), shells, ARRAY_SIZE(shells));
}

bool shell_has_builtin(const char *name)
{
	return is_in(name, builtins, ARRAY_SIZE(builtins));
}

bool shell_moves(const char *name)
{
	return strcmp(name, "cd") == 0 || strcmp(name, "pushd") == 0 || strcmp(name, "popd") == 0;
}

/* set -e and similar options do not change how we read the script; set -- WORDS does, and so does
 * printf -v. */
static bool is_plain_set(const struct command_piece *piece)
{
	for (size_t i = 1; i < piece->argc; i++) {
		const char *word = piece->argv[i];

		if (i > 1 && strchr(piece->argv[i - 1], 'o') && strcmp(word, "pipefail") == 0)
			continue;
		if ((word[0] != '-' && word[0] != '+') || !word[1] ||
		    strspn(word + 1, "euxvfCo") != strlen(word + 1))
			return false;
	}
	return true;
}

/* Some shells evaluate the arguments of these builtins, and run substitutions in them although they
 * were quoted: test -v 'a[$(...)]'. */
static bool computes(const struct command_piece *piece)
{
	static const char *const harmless[] = { "echo", "cd", "pwd", "true", "false", ":", "type" };

	if (!shell_has_builtin(piece->argv[0]) ||
	    is_in(piece->argv[0], harmless, ARRAY_SIZE(harmless)))
		return false;
	for (size_t i = 1; i < piece->argc; i++) {
		if (strpbrk(piece->argv[i], "$`"))
			return true;
	}
	return false;
}

bool shell_bends(const struct command_piece *piece)
{
	const char *name = piece->argv[0];

	if (!(piece->flags & COMMAND_IN_SHELL))
		return false;
	if (computes(piece))
		return true;
	if (strcmp(name, "set") == 0)
		return !is_plain_set(piece);
	if (strcmp(name, "printf") == 0)
		return piece->argc > 1 && piece->argv[1][0] == '-';
	return is_in(name, bending, ARRAY_SIZE(bending));
}
