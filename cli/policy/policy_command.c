#include "cli/policy/policy_command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/agent/command_world.h"

struct explanation {
	char command[COMMAND_TEXT_MAX];
	enum policy_action action;
	struct command_verdict verdict;
	const char *layer; /* of the rule; "": no rule */
	bool is_safe, is_dangerous;
	const char *danger;
	struct command_proposal proposal;
};

static void explain(const struct policy *policy, const char *const *argv, struct explanation *ret)
{
	auto_free char *cwd = getcwd(NULL, 0);
	char *const writable[] = { cwd, NULL };
	struct command_world_places places = { cwd ? cwd : "/", getenv("PATH"), writable };
	struct command_world world;
	enum policy_layer layer;

	command_world_init(&world, &places);
	auto_free char *command = text_command_line(argv, sizeof(ret->command) - 1);

	*ret = (struct explanation){ .danger = "" };
	(void)snprintf(ret->command, sizeof(ret->command), "%s", command);
	ret->action = policy_decide_command(policy, &world, argv, &ret->verdict, &layer);
	ret->layer = ret->verdict.number > 0 ? policy_layer_name(layer) : "";
	ret->is_safe = command_is_safe(argv);
	ret->is_dangerous = command_is_dangerous(argv, &ret->danger);
	command_proposal(policy_commands(policy), &world, argv, &ret->proposal);
}

/* Explains the verdict in one sentence. */
static const char *reason(const struct explanation *explanation)
{
	const struct command_verdict *verdict = &explanation->verdict;

	if (verdict->rule[0] && verdict->is_understood)
		return "a rule matches";
	if (verdict->rule[0])
		return "a rule matches a part of it; the rest was not understood";
	if (!verdict->is_understood)
		return "a command that is not understood is never allowed";
	if (verdict->action == COMMAND_ASK)
		return "a rule may match, but some words of the command are unknown";
	return "no rule matches, so the default applies";
}

static void print_row(const char *name, const char *text)
{
	auto_free char *shown = text_visible_dup(text);

	if (text[0])
		(void)printf("  %-8s %s\n", name, shown);
}

/* @text is one of our own strings, or printable already. */
static void print_plain(const char *name, const char *text)
{
	if (text[0])
		(void)printf("  %-8s %s\n", name, text);
}

static void print_text(const struct explanation *explanation)
{
	const struct command_verdict *verdict = &explanation->verdict;

	(void)printf("%s command %s\n", policy_action_name(explanation->action),
		     explanation->command);
	print_plain("why", reason(explanation));
	print_row("", verdict->why);
	if (strcmp(verdict->piece_text, explanation->command) != 0)
		print_plain("piece", verdict->piece_text);
	print_plain("rule", verdict->rule);
	print_plain("layer", explanation->layer);
	print_row("because", verdict->because);
	print_row("program", verdict->program.path);
	if (verdict->is_unconfined)
		print_plain("runs", "still in the sandbox under `sallyport run`");
	if (explanation->is_dangerous)
		print_row("danger", explanation->danger);
	else if (explanation->is_safe)
		print_plain("safe", "the command only reads");
	for (size_t i = 0; i < explanation->proposal.count; i++)
		print_row(i == 0 ? "always" : "", explanation->proposal.lines[i]);
}

static json_t *proposals(const struct explanation *explanation)
{
	json_t *list = json_array();

	for (size_t i = 0; i < explanation->proposal.count; i++) {
		auto_free char *shown = text_visible_dup(explanation->proposal.lines[i]);

		(void)json_array_append_new(list, json_string(shown)); /* NULL shows in the dump */
	}
	return list;
}

static int print_json(const struct explanation *explanation)
{
	const struct command_verdict *verdict = &explanation->verdict;
	auto_free char *because = text_visible_dup(verdict->because);
	auto_free char *why = text_visible_dup(verdict->why);
	auto_free char *program = text_visible_dup(verdict->program.path);
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:s, s:o}",
		"command", explanation->command, "action", policy_action_name(explanation->action),
		"by_rules", command_action_name(verdict->action), "sentence", reason(explanation),
		"why", why, "piece", verdict->piece_text, "rule", verdict->rule, "layer",
		explanation->layer, "because", because, "program", program, "understood",
		(int)verdict->is_understood, "unconfined", (int)verdict->is_unconfined, "safe",
		(int)explanation->is_safe, "dangerous", (int)explanation->is_dangerous, "danger",
		explanation->danger, "always", proposals(explanation));
	int r = object ? json_dumpf(object, stdout, JSON_INDENT(2)) : -1;

	json_decref(object);
	if (r < 0 || putchar('\n') == EOF)
		return cli_fail(CLI_ERROR, "cannot write JSON");
	return CLI_OK;
}

int policy_command_explain(const struct policy *policy, const char *const *argv, bool is_json)
{
	static const int statuses[] = {
		[POLICY_DENY] = CLI_DENIED,
		[POLICY_ASK] = CLI_ASK,
		[POLICY_ALLOW] = CLI_OK,
	};
	struct explanation explanation;

	explain(policy, argv, &explanation);
	if (!is_json)
		print_text(&explanation);
	else if (print_json(&explanation) != CLI_OK)
		return CLI_ERROR;
	return statuses[explanation.action];
}
