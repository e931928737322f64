#include <string.h>

#include "base/mem.h"
#include "policies/commands/commands.h"
#include "tests/fuzz/fuzz.h"

/* Unquoting only removes bytes: the others are in the script in the same order. */
static bool is_subsequence(const char *word, const char *script)
{
	for (; *word && *script; script++)
		word += *word == *script;
	return *word == '\0';
}

static void check_piece(const struct command_piece *piece, const char *script)
{
	fuzz_must(piece->argv[piece->argc] == NULL);
	fuzz_must(piece->depth <= COMMAND_DEPTH_MAX + 1);
	for (size_t i = 0; i < piece->argc; i++) {
		fuzz_must(piece->argv[i] != NULL);
		fuzz_must(piece->words[i] <= COMMAND_WORD_UNKNOWN);
		if (piece->words[i] == COMMAND_WORD_PLAIN && piece->depth > 0)
			fuzz_must(is_subsequence(piece->argv[i], script));
	}
}

/* The words of one piece, quoted again, are the same piece again. */
static void check_again(const struct command_piece *piece)
{
	static char script[COMMAND_SCRIPT_MAX];
	const char *argv[] = { "sh", "-c", script, NULL };
	size_t used = 0;

	for (size_t i = 0; i < piece->argc; i++) {
		if (piece->words[i] != COMMAND_WORD_PLAIN)
			return;
		script[used++] = '\'';
		for (const char *c = piece->argv[i]; *c; c++) {
			if (used + 8 >= sizeof(script))
				return;
			if (*c == '\'') {
				memcpy(script + used, "'\\'", 3);
				used += 3;
			}
			script[used++] = *c;
		}
		if (used + 8 >= sizeof(script))
			return;
		script[used++] = '\'';
		script[used++] = ' ';
	}
	script[used] = '\0';
	struct command_pieces *pieces = command_pieces_new(argv);
	const struct command_piece *again = command_pieces_get(pieces, 1);

	fuzz_must(again != NULL && again->argc == piece->argc);
	for (size_t i = 0; i < piece->argc; i++)
		fuzz_must(strcmp(again->argv[i], piece->argv[i]) == 0);
	command_pieces_free(pieces);
}

static void check_verdict(const char *const *argv, bool is_understood)
{
	static const struct command_token tokens[] = { { "allow", 5, false },
						       { "(ls|rm|sh|env|echo|cat)", 23, false } };
	struct command_rules *rules = command_rules_new();
	struct command_verdict verdict;
	struct command_proposal proposal;

	fuzz_must(command_rules_add(rules, "fuzz:1", "", tokens, 2, NULL) == 0);
	command_rules_decide(rules, NULL, argv, &verdict);
	fuzz_must(verdict.is_understood == is_understood);
	fuzz_must(is_understood || verdict.action <= COMMAND_ASK);
	fuzz_must(is_understood || !command_is_safe(argv));
	fuzz_must(!command_is_safe(argv) || !command_is_dangerous(argv, NULL));
	command_proposal(rules, NULL, argv, &proposal);
	fuzz_must(proposal.count == 0 || (is_understood && verdict.action == COMMAND_UNMATCHED));
	command_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	auto_free char *script = mem_new(len + 1);
	const char *argv[] = { "sh", "-c", script, NULL };

	if (len > 0)
		memcpy(script, bytes, len);
	struct command_pieces *pieces = command_pieces_new(argv);
	size_t redirects;

	for (size_t i = 1; i < command_pieces_count(pieces); i++) {
		const struct command_piece *piece = command_pieces_get(pieces, i);

		check_piece(piece, script);
		if (piece->argc > 0 && i <= 4)
			check_again(piece);
	}
	const struct command_redirect *list = command_pieces_redirects(pieces, &redirects);

	for (size_t i = 0; i < redirects; i++)
		fuzz_must(list[i].piece < command_pieces_count(pieces) ||
			  command_pieces_why(pieces));
	check_verdict(argv, !command_pieces_why(pieces));
	command_pieces_free(pieces);
	return 0;
}
