#include "policies/commands/shell_impl.h"

#include <string.h>

#include "base/mem.h"
#include "policies/commands/script_impl.h"

static const char *const shells[] = { "sh", "bash", "zsh", "dash" };
/* Read something of their own that we do not. */
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
	const char *base = command_pieces_base(name);

	return is_in(base, shells, ARRAY_SIZE(shells)) ||
	       is_in(base, strange_shells, ARRAY_SIZE(strange_shells));
}

bool shell_is(const struct command_piece *piece)
{
	return shell_is_name(piece->argv[0]);
}

bool shell_has_builtin(const char *name)
{
	return is_in(name, builtins, ARRAY_SIZE(builtins));
}

bool shell_moves(const char *name)
{
	return strcmp(name, "cd") == 0 || strcmp(name, "pushd") == 0 || strcmp(name, "popd") == 0;
}

/* set -e and its like change nothing of what we read; set -- WORDS does, and so does printf -v. */
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

/* Some shells compute what these builtins are given, and run the substitutions in it although they
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

/* Letters that change nothing of how a script is read; c asks for one, o takes a word. */
static bool is_known_cluster(const char *word)
{
	return strspn(word + 1, "celuxvCo") == strlen(word + 1);
}

static bool is_known_name(const char *word)
{
	static const char *const names[] = { "errexit",   "nounset", "pipefail",
					     "noclobber", "xtrace",  "verbose" };

	return is_in(word, names, ARRAY_SIZE(names));
}

/* The index of the script, or 0. */
static size_t find_script(struct command_pieces *pieces, const struct command_piece *piece,
			  size_t *ret_operand)
{
	bool has_c = false;
	size_t i = 1;

	for (; i < piece->argc; i++) {
		const char *word = piece->argv[i];

		if (piece->words[i] != COMMAND_WORD_PLAIN)
			command_pieces_doubt(pieces, "a shell with words that are not known");
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if ((word[0] != '-' && word[0] != '+') || !word[1])
			break;
		if (!is_known_cluster(word))
			command_pieces_doubt(pieces, "an option of the shell that is not known");
		has_c |= word[0] == '-' && word[1] != '-' && strchr(word, 'c') != NULL;
		if (word[1] != '-' && strchr(word, 'o') && i + 1 < piece->argc &&
		    !is_known_name(piece->argv[++i]))
			command_pieces_doubt(pieces, "an option of the shell that is not known");
	}
	*ret_operand = i;
	return has_c && i < piece->argc ? i : 0;
}

void shell_open(struct command_pieces *pieces, struct command_piece *piece)
{
	struct place place = { piece->flags & ~(unsigned int)COMMAND_PASSES_ON, piece->depth + 1 };
	size_t operand, script = find_script(pieces, piece, &operand);

	if (!is_in(command_pieces_base(piece->argv[0]), shells, ARRAY_SIZE(shells)))
		command_pieces_doubt(pieces, "a shell whose language is not known");
	if (script == 0) {
		/* A shell that is given a file is a program like any other. */
		if (operand >= piece->argc || strcmp(piece->argv[operand], "-") == 0)
			command_pieces_doubt(pieces, "a shell whose commands are not seen");
		return;
	}
	piece->flags |= COMMAND_PASSES_ON;
	if (piece->words[script] != COMMAND_WORD_PLAIN)
		command_pieces_doubt(pieces, "a script that is not known");
	place.flags &= ~(unsigned int)COMMAND_OPEN;
	script_read(pieces, piece->argv[script], strlen(piece->argv[script]), &place);
}
