#include "policies/commands/shell/shell_open_impl.h"

#include <string.h>

#include "policies/commands/option_impl.h"
#include "policies/commands/shell/script_impl.h"
#include "policies/commands/shell/shell_impl.h"

/* Letters that do not change how a script is read; c asks for a script, o takes a word. */
static bool is_known_cluster(const char *word)
{
	return strspn(word + 1, "celuxvCo") == strlen(word + 1);
}

static bool is_known_name(const char *word)
{
	return option_is_one_of(word, "errexit nounset pipefail noclobber xtrace verbose");
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
			pieces_doubt(pieces, "a shell has unknown arguments");
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if ((word[0] != '-' && word[0] != '+') || !word[1])
			break;
		if (!is_known_cluster(word))
			pieces_doubt(pieces, "a shell has an unknown option");
		has_c |= word[0] == '-' && word[1] != '-' && strchr(word, 'c') != NULL;
		if (word[1] != '-' && strchr(word, 'o') && i + 1 < piece->argc &&
		    !is_known_name(piece->argv[++i]))
			pieces_doubt(pieces, "a shell has an unknown option");
	}
	*ret_operand = i;
	return has_c && i < piece->argc ? i : 0;
}

void shell_open(struct command_pieces *pieces, struct command_piece *piece)
{
	struct place place = { piece->flags & ~(unsigned int)COMMAND_PASSES_ON, piece->depth + 1 };
	size_t operand, script = find_script(pieces, piece, &operand);

	if (!shell_is_read(piece))
		pieces_doubt(pieces, "the shell's language is unknown");
	if (script == 0) {
		/* A shell with a script file is judged like any other program. */
		if (operand >= piece->argc || strcmp(piece->argv[operand], "-") == 0)
			pieces_doubt(pieces, "the commands of a shell are unknown");
		return;
	}
	piece->flags |= COMMAND_PASSES_ON;
	if (piece->words[script] != COMMAND_WORD_PLAIN)
		pieces_doubt(pieces, "the content of a script is unknown");
	place.flags &= ~(unsigned int)COMMAND_OPEN;
	script_read(pieces, piece->argv[script], strlen(piece->argv[script]), &place);
}
