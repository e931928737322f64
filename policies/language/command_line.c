#include "policies/language/command_line_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/commands/commands.h"
#include "policies/files/layers_impl.h"
#include "policies/policies_tools.h"
#include "policies/language/reader_impl.h"
#include "policies/language/settings_impl.h"

/* The index of the first command word in `expect ACTION command WORD...`. */
#define COMMAND_EXPECT_FIRST 3

/* The words of @words after the first, as tokens. Returned owned. */
static struct command_token *command_tokens(const struct words *words)
{
	struct command_token *tokens = mem_new_array(WORDS_MAX, sizeof(*tokens));

	for (size_t i = 1; i < words->count; i++) {
		const struct word *word = &words->list[i];

		tokens[i - 1] = (struct command_token){ word->text, word->len, word->is_quoted };
	}
	return tokens;
}

static int command_add(struct command_rules *rules, const struct words *words, const char *place,
		       const char *line, struct command_flaw *flaw)
{
	auto_free struct command_token *tokens = command_tokens(words);

	return words_is(&words->list[0], "program")
		       ? command_rules_add_program(rules, tokens, words->count - 1, flaw)
		       : command_rules_add(rules, place, line, tokens, words->count - 1, flaw);
}

static void command_refuse(struct line *line, const struct command_flaw *flaw)
{
	const struct words *words = &line->words;
	size_t index = 1 + flaw->token;
	size_t at = reader_end(line);

	if (index < words->count)
		at = words->list[index].at + words->list[index].is_quoted + flaw->at;
	struct spot spot = reader_spot(line, at);

	problems_add(&line->reader->policy->problems, &spot, flaw->instead, "%s", flaw->words);
}

static enum command_action command_action_of(const struct words *words)
{
	static const enum command_action all[] = { COMMAND_ASK, COMMAND_ALLOW };

	for (size_t i = 0; words->count > 1 && i < ARRAY_SIZE(all); i++) {
		if (words_is(&words->list[1], command_action_name(all[i])))
			return all[i];
	}
	return COMMAND_DENY;
}

/* Does the line end with the clause `unconfined`? In a command it must be quoted. */
static bool command_is_unconfined(const struct words *words)
{
	for (size_t i = 2; i < words->count; i++) {
		if (words_is(&words->list[i], "unconfined"))
			return true;
	}
	return false;
}

void command_line_read(struct line *line)
{
	struct policy *policy = line->reader->policy;
	const struct words *words = &line->words;
	struct command_flaw flaw = { 0 };
	size_t first = words->list[0].at, last = line->len;

	if (command_add(policy->commands_read, words, "", "", &flaw) < 0) {
		command_refuse(line, &flaw);
		return;
	}
	while (last > first && (line->text[last - 1] == ' ' || line->text[last - 1] == '\t'))
		last--;
	policy->command_lines =
		mem_reserve(policy->command_lines, &policy->command_room, policy->command_count + 1,
			    sizeof(*policy->command_lines));
	policy->command_lines[policy->command_count++] = (struct command_line){
		.source = line->reader->source,
		.number = line->number,
		.line = line->offset + (uint32_t)first,
		.line_len = (uint32_t)(last - first),
		.action = (uint8_t)command_action_of(words),
		.is_program = words_is(&words->list[0], "program"),
		.is_unconfined = command_is_unconfined(words),
	};
}

/* As with `write`, a project's file may not allow a command to run outside the sandbox, even when
 * it is trusted. An untrusted file may not say which file a name means either. */
static bool command_counts(const struct policy *policy, const struct command_line *command)
{
	if (command->is_unconfined)
		return layers_may_set(policy, command->source);
	return layers_may_loosen(policy, command->source) ||
	       (!command->is_program && command->action != COMMAND_ALLOW);
}

size_t command_line_count_ignored(const struct policy *policy, uint32_t source)
{
	size_t count = 0;

	for (size_t i = 0; i < policy->command_count; i++)
		count += policy->command_lines[i].source == source &&
			 !command_counts(policy, &policy->command_lines[i]);
	return count;
}

void command_line_finish(struct policy *policy)
{
	auto_free struct words *words = mem_new(sizeof(*words));
	uint32_t rules = 0;

	command_rules_free(policy->commands);
	policy->commands = command_rules_new();
	for (size_t i = 0; i < policy->command_count; i++) {
		struct command_line *command = &policy->command_lines[i];
		const struct source *source = &policy->sources[command->source];
		const char *text = source->text + command->line;
		auto_free char *raw = mem_strndup(text, command->line_len);
		auto_free char *shown = text_visible_dup(raw);
		auto_free char *place = mem_printf("%s:%u", source->name, command->number);
		struct spot spot = { source->name, command->number, text, command->line_len, 0 };

		command->rule = 0;
		if (!command_counts(policy, command))
			continue;
		/* It was read without errors before; if that changes, a denial must not get
		 * lost. */
		if (words_split(text, command->line_len, words, NULL) < 0 || words->count == 0 ||
		    command_add(policy->commands, words, place, shown, NULL) < 0)
			problems_add(&policy->problems, &spot, NULL, "this line cannot be read");
		else if (!command->is_program)
			command->rule = ++rules;
	}
}

size_t policy_command_count(const struct policy *policy)
{
	return policy->command_count;
}

void policy_command_look(const struct policy *policy, size_t number, struct policy_rule_look *ret)
{
	const struct command_line *command = &policy->command_lines[number - 1];
	const struct source *source = &policy->sources[command->source];
	static const char *const words[] = {
		[COMMAND_DENY] = "command deny",
		[COMMAND_ASK] = "command ask",
		[COMMAND_ALLOW] = "command allow",
	};

	*ret = (struct policy_rule_look){
		.word = command->is_program ? "program" : words[command->action],
		.layer = (enum policy_layer)source->layer,
		.match = command_counts(policy, command) ? POLICY_MATCHES : POLICY_MATCH_UNTRUSTED,
	};
	auto_free char *raw = mem_strndup(source->text + command->line, command->line_len);
	auto_free char *shown = text_visible_dup(raw);

	(void)snprintf(ret->rule, sizeof(ret->rule), "%s:%u: %s", source->name, command->number,
		       shown);
}

const struct command_rules *policy_commands(const struct policy *policy)
{
	return policy->commands;
}

static enum policy_action command_action_with(enum command_action action,
					      enum policy_action otherwise)
{
	switch (action) {
	case COMMAND_ALLOW:
		return POLICY_ALLOW;
	case COMMAND_ASK:
		return POLICY_ASK;
	case COMMAND_UNMATCHED:
		return otherwise;
	case COMMAND_DENY:
	default:
		return POLICY_DENY;
	}
}

/* The decision: by the rules' verdict, otherwise by the default; a question that the policy
 * forbids is a denial. */
static enum policy_action command_settle(const struct policy *policy,
					 const struct command_verdict *verdict)
{
	const struct setting *setting;
	enum policy_action action = command_action_with(verdict->action, layers_otherwise(policy));
	enum policy_approvals_about about =
		verdict->number > 0 ? POLICY_ABOUT_RULES : POLICY_ABOUT_SANDBOX;

	return action == POLICY_ASK && agent_line_may_not_ask(policy, about, &setting) ? POLICY_DENY
										       : action;
}

enum policy_action policy_decide_command(const struct policy *policy,
					 const struct command_world *world, const char *const *argv,
					 struct command_verdict *ret, enum policy_layer *ret_layer)
{
	*ret = (struct command_verdict){ .action = COMMAND_DENY };
	*ret_layer = POLICY_PROJECT;
	if (policy->problems.count > 0 || !policy->commands)
		return POLICY_DENY;
	command_rules_decide(policy->commands, world, argv, ret);
	for (size_t i = 0; ret->number > 0 && i < policy->command_count; i++) {
		const struct command_line *command = &policy->command_lines[i];

		if (command->rule == ret->number)
			*ret_layer = (enum policy_layer)policy->sources[command->source].layer;
	}
	return command_settle(policy, ret);
}

enum policy_action policy_decide_program(const struct policy *policy,
					 const struct command_world *world,
					 const struct command_opened *program,
					 const char *const *argv, struct command_verdict *ret)
{
	*ret = (struct command_verdict){ .action = COMMAND_DENY };
	if (policy->problems.count > 0 || !policy->commands)
		return POLICY_DENY;
	command_program_decide(policy->commands, world, program, argv, ret);
	return command_settle(policy, ret);
}

/* The words of the command, without quotes and escapes: a list, returned owned. NULL: a word is
 * invalid, and @flaw says why. */
static char **command_expected(const struct words *words, struct flaw *flaw)
{
	auto_free_list char **argv = mem_new_array(WORDS_MAX + 1, sizeof(*argv));
	auto_free char *text = mem_new(POLICY_LINE_MAX + 1);

	for (size_t i = COMMAND_EXPECT_FIRST; i < words->count; i++) {
		const struct word *word = &words->list[i];

		if (word->is_quoted && words_unquote(word, text, POLICY_LINE_MAX + 1, flaw) < 0)
			return NULL;
		argv[i - COMMAND_EXPECT_FIRST] =
			word->is_quoted ? mem_strdup(text) : mem_strndup(word->text, word->len);
	}
	return take(argv);
}

void command_line_read_expect(struct line *line, enum policy_action action)
{
	struct policy *policy = line->reader->policy;
	const struct words *words = &line->words;
	struct flaw flaw = { 0 };

	if (words->count == COMMAND_EXPECT_FIRST) {
		struct spot spot = reader_spot(line, reader_end(line));

		problems_add(&policy->problems, &spot, "expect ask command git push",
			     "the command is missing");
		return;
	}
	auto_free_list char **argv = command_expected(words, &flaw);

	if (!argv) {
		struct spot spot = reader_spot(line, flaw.at);

		problems_add(&policy->problems, &spot, flaw.instead, "%s", flaw.words);
		return;
	}
	if (policy->sources[line->reader->source].is_preset)
		return;
	policy->expects = mem_reserve(policy->expects, &policy->expect_room,
				      policy->expect_count + 1, sizeof(*policy->expects));
	policy->expects[policy->expect_count++] = (struct expectation){
		.is_command = true,
		.action = (uint8_t)action,
		.source = line->reader->source,
		.number = line->number,
		.line = line->offset,
		.line_len = (uint32_t)line->len,
		.column = (uint32_t)words->list[1].at,
	};
}

void command_line_check(struct policy *policy, const struct expectation *expect)
{
	const struct source *source = &policy->sources[expect->source];
	const char *text = source->text + expect->line;
	struct spot spot = { source->name, expect->number, text, expect->line_len, expect->column };
	auto_free struct words *words = mem_new(sizeof(*words));
	enum policy_action otherwise = layers_otherwise(policy), action;
	struct command_verdict verdict;

	auto_free_list char **argv = words_split(text, expect->line_len, words, NULL) < 0
					     ? NULL
					     : command_expected(words, NULL);
	if (!argv) {
		problems_add(&policy->problems, &spot, NULL, "this line cannot be read");
		return;
	}
	/* An expectation in a file must not depend on the command line. */
	(void)policy_get_default(policy, &otherwise);
	command_rules_decide(policy->commands, NULL, (const char *const *)argv, &verdict);
	action = command_action_with(verdict.action, otherwise);
	if (action == expect->action)
		return;
	problems_add(
		&policy->problems, &spot, NULL, "this line expects %s, but the policy says %s: %s",
		policy_action_name((enum policy_action)expect->action), policy_action_name(action),
		verdict.rule[0]                       ? verdict.rule
		: verdict.why[0]                      ? verdict.why
		: verdict.action == COMMAND_UNMATCHED ? "no rule matches it"
						      : verdict.piece_text);
}
