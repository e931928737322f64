#include "policies/commands/safe_impl.h"

#include <string.h>

#include "base/mem.h"
#include "policies/commands/option_impl.h"
#include "policies/commands/shell/shell_impl.h"

#define SAFE_ANY 1000U

/* To add a command: one line. It must not write or run anything, except by the options that are
 * listed here as forbidden: as letters of a cluster, by their long names, or as whole words. */
static const struct safe {
	const char *name;
	const char *letters, *names, *words;
	unsigned int operands; /* at most: a second one could be an output file (uniq) */
} safe[] = {
	{ "cat", "", "", "", SAFE_ANY },
	{ "cd", "", "", "", SAFE_ANY },
	{ "cut", "", "", "", SAFE_ANY },
	{ "echo", "", "", "", SAFE_ANY },
	{ "expr", "", "", "", SAFE_ANY },
	{ "false", "", "", "", SAFE_ANY },
	{ "grep", "", "", "", SAFE_ANY },
	{ "head", "", "", "", SAFE_ANY },
	{ "id", "", "", "", SAFE_ANY },
	{ "ls", "", "", "", SAFE_ANY },
	{ "nl", "", "", "", SAFE_ANY },
	{ "paste", "", "", "", SAFE_ANY },
	{ "pwd", "", "", "", SAFE_ANY },
	{ "rev", "", "", "", SAFE_ANY },
	{ "seq", "", "", "", SAFE_ANY },
	{ "stat", "", "", "", SAFE_ANY },
	{ "tail", "", "", "", SAFE_ANY },
	{ "tr", "", "", "", SAFE_ANY },
	{ "true", "", "", "", SAFE_ANY },
	{ "uname", "", "", "", SAFE_ANY },
	{ "wc", "", "", "", SAFE_ANY },
	{ "which", "", "", "", SAFE_ANY },
	{ "whoami", "", "", "", SAFE_ANY },
	{ "numfmt", "", "", "", SAFE_ANY },
	{ "tac", "", "", "", SAFE_ANY },
	{ "basename", "", "", "", SAFE_ANY },
	{ "dirname", "", "", "", SAFE_ANY },
	{ "realpath", "", "", "", SAFE_ANY },
	{ "readlink", "", "", "", SAFE_ANY },
	{ "test", "", "", "", SAFE_ANY },
	{ "[", "", "", "", SAFE_ANY },
	{ "cmp", "", "", "", SAFE_ANY },
	{ "comm", "", "", "", SAFE_ANY },
	{ "diff", "", "", "", SAFE_ANY },
	{ "du", "", "", "", SAFE_ANY },
	{ "df", "", "", "", SAFE_ANY },
	{ "sha256sum", "", "", "", SAFE_ANY },
	{ "md5sum", "", "", "", SAFE_ANY },
	{ "cksum", "", "", "", SAFE_ANY },
	{ "od", "", "", "", SAFE_ANY },
	{ "fold", "", "", "", SAFE_ANY },
	{ "nproc", "", "", "", SAFE_ANY },
	{ "printf", "v", "", "", SAFE_ANY },
	{ ":", "", "", "", SAFE_ANY },
	{ "uniq", "", "", "", 1 },
	{ "base64", "o", "output", "", SAFE_ANY },
	{ "sort", "oT", "output compress-program temporary-directory", "", SAFE_ANY },
	{ "tree", "oR", "output", "", SAFE_ANY },
	{ "date", "s", "set", "", SAFE_ANY },
	{ "find", "", "", "-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf",
	  SAFE_ANY },
	{ "rg", "z", "pre hostname-bin search-zip", "", SAFE_ANY },
};

/* git: the subcommands that only read, and the options with which they would write or start a
 * program. */
static const struct safe git_safe[] = {
	{ "status", "", "output", "", SAFE_ANY },
	{ "log", "", "output ext-diff textconv", "", SAFE_ANY },
	{ "diff", "", "output ext-diff textconv", "", SAFE_ANY },
	{ "show", "", "output ext-diff textconv", "", SAFE_ANY },
	{ "blame", "", "output textconv", "", SAFE_ANY },
	{ "shortlog", "", "output", "", SAFE_ANY },
	{ "rev-parse", "", "output", "", SAFE_ANY },
	{ "rev-list", "", "output", "", SAFE_ANY },
	{ "ls-files", "", "output", "", SAFE_ANY },
	{ "ls-tree", "", "output", "", SAFE_ANY },
	{ "describe", "", "output", "", SAFE_ANY },
	{ "merge-base", "", "output", "", SAFE_ANY },
	{ "name-rev", "", "output", "", SAFE_ANY },
	{ "cat-file", "", "textconv filters", "", SAFE_ANY },
	{ "grep", "O", "open-files-in-pager textconv ext-grep", "", SAFE_ANY },
};

/* Every word behind the subcommand must be one of these: other words create or remove something. */
static const struct {
	const char *name, *words;
} git_listing[] = {
	{ "branch", "-a -r -v -vv -l --all --remotes --verbose --list --show-current --no-color" },
	{ "tag", "-l --list" },
	{ "remote", "-v --verbose" },
	{ "stash", "list" },
	{ "worktree", "list" },
	{ "config", "--list -l --get --local --global --system" },
};

static bool is_entry(const struct safe *entry, const struct command_piece *piece, size_t first)
{
	bool is_free = !entry->letters[0] && !entry->names[0] && !entry->words[0] &&
		       entry->operands == SAFE_ANY;
	unsigned int operands = 0;

	for (size_t i = first; i < piece->argc; i++) {
		const char *word = piece->argv[i];

		if (is_free)
			continue;
		/* An unknown word may be an option. */
		if (piece->words[i] != COMMAND_WORD_PLAIN ||
		    option_has_letter(word, entry->letters) ||
		    option_has_name(word, entry->names) || option_is_one_of(word, entry->words))
			return false;
		operands += word[0] != '-' || !word[1];
	}
	/* Words from standard input could be anything. */
	return (is_free || !(piece->flags & COMMAND_OPEN)) && operands <= entry->operands;
}

/* `sed -n 3p`, `sed -n 3,5p`, with at most one file. */
static bool is_sed(const struct command_piece *piece)
{
	if (piece->argc < 3 || piece->argc > 4 || piece->flags & COMMAND_OPEN ||
	    strcmp(piece->argv[1], "-n") != 0)
		return false;
	const char *at = piece->argv[2];
	size_t digits = strspn(at, "0123456789");

	at += digits;
	if (digits > 0 && *at == ',') {
		digits = strspn(++at, "0123456789");
		at += digits;
	}
	if (digits == 0 || strcmp(at, "p") != 0 || piece->words[2] != COMMAND_WORD_PLAIN)
		return false;
	return piece->argc == 3 ||
	       (piece->argv[3][0] != '-' && piece->words[3] == COMMAND_WORD_PLAIN);
}

static bool is_git_listing(const struct command_piece *piece, size_t at, const char *words)
{
	bool is_config = strcmp(piece->argv[at], "config") == 0;
	bool is_bare = piece->argc == at + 1;

	if (is_bare)
		return strcmp(piece->argv[at], "branch") == 0 ||
		       strcmp(piece->argv[at], "remote") == 0 ||
		       strcmp(piece->argv[at], "tag") == 0;
	for (size_t i = at + 1; i < piece->argc; i++) {
		/* config --get NAME */
		if (is_config && i + 1 == piece->argc && strcmp(piece->argv[i - 1], "--get") == 0 &&
		    piece->argv[i][0] != '-')
			continue;
		if (!option_is_one_of(piece->argv[i], words))
			return false;
	}
	return !is_config ||
	       !option_is_one_of(piece->argv[piece->argc - 1], "--local --global --system");
}

static bool is_git(const struct command_piece *piece)
{
	size_t at = 1;

	while (at < piece->argc && option_is_one_of(piece->argv[at], "--no-pager -P"))
		at++;
	if (at == piece->argc || piece->flags & COMMAND_OPEN)
		return false;
	for (size_t i = 1; i < piece->argc; i++) {
		if (piece->words[i] != COMMAND_WORD_PLAIN)
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(git_safe); i++) {
		if (strcmp(git_safe[i].name, piece->argv[at]) == 0)
			return is_entry(&git_safe[i], piece, at + 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(git_listing); i++) {
		if (strcmp(git_listing[i].name, piece->argv[at]) == 0)
			return is_git_listing(piece, at, git_listing[i].words);
	}
	return false;
}

/* The name if PATH or a system folder provides the program: ./ls is another program. */
static const char *known_name(const char *argv0)
{
	if (strncmp(argv0, "/usr/bin/", 9) == 0)
		argv0 += 9;
	else if (strncmp(argv0, "/bin/", 5) == 0)
		argv0 += 5;
	return strchr(argv0, '/') ? NULL : argv0;
}

static bool is_query(const struct command_piece *piece)
{
	return strcmp(piece->argv[0], "command") == 0 && piece->argc > 1 &&
	       option_is_one_of(piece->argv[1], "-v -V");
}

bool safe_has(const struct command_piece *piece)
{
	const unsigned int bad = COMMAND_ASSIGNS | COMMAND_ELSEWHERE | COMMAND_GUESS;

	if (piece->flags & bad)
		return false;
	if (piece->argc == 0)
		return true;
	const char *name = known_name(piece->argv[0]);

	if (!name)
		return false;
	if (piece->flags & COMMAND_PASSES_ON || is_query(piece))
		return true;
	if (strcmp(name, "sed") == 0)
		return is_sed(piece);
	if (strcmp(name, "git") == 0)
		return is_git(piece);
	if (strcmp(name, "xargs") == 0 && piece->argc > 1)
		return true; /* the command it runs is judged separately */
	for (size_t i = 0; i < ARRAY_SIZE(safe); i++) {
		if (strcmp(safe[i].name, name) == 0)
			return is_entry(&safe[i], piece, 1);
	}
	return strcmp(name, "set") == 0 && piece->flags & COMMAND_IN_SHELL && !shell_bends(piece);
}
