#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/commands/shell/pieces_impl.h"
#include "policies/commands/command_rules_impl.h"
#include "policies/commands/danger_impl.h"
#include "policies/commands/judge_impl.h"
#include "policies/commands/launcher_impl.h"
#include "policies/commands/option_impl.h"
#include "policies/commands/program_kind_impl.h"
#include "policies/commands/shell/shell_impl.h"

#define PROPOSAL_WORDS_MAX 12

/* How many words of a known tool describe the operation; SCRIPT: the word behind `run` too. */
enum depth { DEPTH_NEVER = 0, DEPTH_TWO = 2, DEPTH_SCRIPT = 3 };
static const struct {
	const char *program, *subcommands;
	enum depth depth;
} tools[] = {
	{ "git",
	  "status log diff show branch add commit fetch pull stash tag blame rev-parse ls-files "
	  "describe merge switch "
	  "remote cherry-pick revert",
	  DEPTH_TWO },
	{ "cargo", "build check test clippy fmt doc bench tree metadata update fetch vendor",
	  DEPTH_TWO },
	{ "go", "build test vet fmt mod list doc env version", DEPTH_TWO },
	{ "npm", "install ci test ls outdated audit view", DEPTH_TWO },
	{ "npm", "run run-script", DEPTH_SCRIPT },
	{ "pnpm", "install test ls outdated audit", DEPTH_TWO },
	{ "pnpm", "run", DEPTH_SCRIPT },
	{ "yarn", "install test list outdated audit", DEPTH_TWO },
	{ "yarn", "run", DEPTH_SCRIPT },
	{ "pip", "install download list show freeze check", DEPTH_TWO },
	{ "pip3", "install download list show freeze check", DEPTH_TWO },
	{ "apt-get", "update", DEPTH_TWO },
	{ "apt", "update list search show", DEPTH_TWO },
	{ "meson", "setup compile test", DEPTH_TWO },
	{ "mvn", "compile test package verify", DEPTH_TWO },
	{ "gradle", "build test check", DEPTH_TWO },
	{ "dotnet", "build test restore", DEPTH_TWO },
};

static bool is_never(const struct command_piece *piece)
{
	const char *program = piece->argv[0];

	return strchr(program, '/') || program_kind_is_language(program) ||
	       program_kind_is_interpreter(program) || program_kind_is_downloader(program) ||
	       program_kind_is_runner(program) || shell_is_name(program) ||
	       launcher_is_name(program);
}

/* How many words of @piece to propose; 0: none. For an unknown program, all of them. */
static size_t find_depth(const struct command_piece *piece)
{
	bool is_tool = false;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (strcmp(tools[i].program, piece->argv[0]) != 0)
			continue;
		is_tool = true;
		if (piece->argc >= (size_t)tools[i].depth &&
		    option_is_one_of(piece->argv[1], tools[i].subcommands))
			return (size_t)tools[i].depth;
	}
	/* the words that follow `git -c x=y status`, `git push`, `npm exec` may do anything */
	return is_tool || piece->argc > PROPOSAL_WORDS_MAX ? 0 : piece->argc;
}

/* Writes a word as in a policy line. False: it cannot be written, or does not fit. */
static bool write_word(char *line, size_t *used, const char *word)
{
	size_t start = *used, len = strlen(word);
	bool is_plain = len > 0 &&
			strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_-+=./:@,%") == len &&
			!option_is_one_of(word, "because unconfined");

	if (len == 0 || start + 2 * len + 4 > COMMAND_TEXT_MAX)
		return false;
	line[(*used)++] = ' ';
	if (!is_plain)
		line[(*used)++] = '"';
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)word[i] < ' ' || word[i] == 0x7f)
			return false;
		if (word[i] == '"' || word[i] == '\\')
			line[(*used)++] = '\\';
		line[(*used)++] = word[i];
	}
	if (!is_plain)
		line[(*used)++] = '"';
	line[*used] = '\0';
	return true;
}

static bool write_line(const struct command_piece *piece, size_t depth, char *line)
{
	size_t used = (size_t)snprintf(line, COMMAND_TEXT_MAX, "command allow");

	for (size_t i = 0; i < depth; i++) {
		if (piece->words[i] != COMMAND_WORD_PLAIN ||
		    !write_word(line, &used, piece->argv[i]))
			return false;
	}
	return true;
}

/* Would a rule for the first @depth words allow the piece, which no rule matches now? Checks the
 * obstacles that a rule cannot lift. */
static bool would_allow(const struct command_rules *rules, const struct command_world *world,
			const struct command_pieces *pieces, size_t index, size_t depth)
{
	struct command_token tokens[PROPOSAL_WORDS_MAX + 1] = { { "allow", 5, false } };
	const struct command_piece *piece = &pieces->list[index];
	struct command_rules *with = command_rules_new();
	struct judgement judgement = { 0 };

	for (size_t i = 0; i < depth; i++) {
		/* Unchanged: quoted, but without escapes. */
		if (strpbrk(piece->argv[i], "\"\\"))
			depth = 0;
		else
			tokens[i + 1] = (struct command_token){ piece->argv[i],
								strlen(piece->argv[i]), true };
	}
	if (depth > 0 && command_rules_add(with, "", "", tokens, depth + 1, NULL) == 0) {
		struct command_rules both = *with;

		/* The `program` lines of the policy also apply to the new line. */
		both.programs = rules->programs;
		both.program_count = rules->program_count;
		judge_piece(&both, world, pieces, index, &judgement);
	}
	command_rules_free(with);
	return judgement.action == COMMAND_ALLOW;
}

static bool add_line(struct command_proposal *ret, const char *line)
{
	for (size_t i = 0; i < ret->count; i++) {
		if (strcmp(ret->lines[i], line) == 0)
			return true;
	}
	if (ret->count == COMMAND_PROPOSALS_MAX)
		return false;
	(void)snprintf(ret->lines[ret->count++], COMMAND_TEXT_MAX, "%s", line);
	return true;
}

static bool propose(const struct command_rules *rules, const struct command_world *world,
		    const struct command_pieces *pieces, size_t index, struct command_proposal *ret)
{
	const struct command_piece *piece = &pieces->list[index];
	struct judgement judgement;
	char line[COMMAND_TEXT_MAX];

	judge_piece(rules, world, pieces, index, &judgement);
	if (judgement.action == COMMAND_ALLOW)
		return true;
	if (judgement.action != COMMAND_UNMATCHED || piece->argc == 0 || is_never(piece) ||
	    danger_find(pieces, index))
		return false;
	size_t depth = find_depth(piece);

	return depth > 0 && would_allow(rules, world, pieces, index, depth) &&
	       write_line(piece, depth, line) && add_line(ret, line);
}

void command_proposal(const struct command_rules *rules, const struct command_world *world,
		      const char *const *argv, struct command_proposal *ret)
{
	struct command_pieces *pieces = command_pieces_new(argv);
	bool is_good = !command_pieces_why(pieces);

	ret->count = 0;
	for (size_t i = 0; is_good && i < pieces->count; i++)
		is_good = propose(rules, world, pieces, i, ret);
	if (!is_good)
		ret->count = 0;
	command_pieces_free(pieces);
}
