/* `sallyport hook` and `sallyport sh`: how an agent that runs outside has its commands run in the
 * sandbox. Whatever a hook cannot understand is denied. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/process/child.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"

#define HOOK_INPUT_MAX (1U << 20)

/* The whole of standard input, owned. NULL: it is too long, or cannot be read. */
static char *read_input(size_t *ret_len)
{
	auto_free char *text = mem_new(HOOK_INPUT_MAX + 1);
	size_t len = fread(text, 1, HOOK_INPUT_MAX + 1, stdin);

	if (ferror(stdin) || len > HOOK_INPUT_MAX)
		return NULL;
	*ret_len = len;
	return take(text);
}

/* "SALLYPORT sh [--join SESSION] -c COMMAND", for the agent's shell: by this program's own path,
 * because the shell's PATH may lead elsewhere. Owned; NULL: the path is not known. */
static char *confined(const char *command, const char *session)
{
	auto_free char *path = child_own_path();

	if (!path)
		return NULL;
	auto_free char *self = text_quoted(path), *word = text_quoted(command);
	auto_free char *name = session ? text_quoted(session) : NULL;

	return mem_printf("%s sh %s%s%s-c %s", self, name ? "--join " : "", name ? name : "",
			  name ? " " : "", word);
}

/* Takes @decision. An answer that cannot be written is a failure of the hook: the exit status 2
 * makes the agent refuse the call. */
static int reply(json_t *decision)
{
	json_t *answer = json_pack("{s:o}", "hookSpecificOutput", decision);
	bool is_written = answer && json_dumpf(answer, stdout, JSON_COMPACT) == 0 &&
			  putchar('\n') != EOF && fflush(stdout) == 0;

	json_decref(answer);
	return is_written ? CLI_OK : CLI_USAGE; /* main() has the message */
}

static int deny(const char *why)
{
	auto_free char *text =
		mem_printf("sallyport did not confine this command, so it must not run: %s", why);

	return reply(json_pack("{s:s, s:s, s:s}", "hookEventName", "PreToolUse",
			       "permissionDecision", "deny", "permissionDecisionReason", text));
}

/* Every member of the call stays as it is, but its command. */
static int confine(const json_t *input, const char *command, const char *session)
{
	auto_free char *line = confined(command, session);
	json_t *updated = json_copy((json_t *)(uintptr_t)input);

	if (!line || !updated || json_object_set_new(updated, "command", json_string(line)) < 0) {
		json_decref(updated);
		return deny("the command for the sandbox could not be made");
	}
	return reply(json_pack("{s:s, s:s, s:o}", "hookEventName", "PreToolUse",
			       "permissionDecision", "ask", "updatedInput", updated));
}

static int decide(const json_t *call, const char *session)
{
	const char *event = json_string_value(json_object_get(call, "hook_event_name"));
	const char *tool = json_string_value(json_object_get(call, "tool_name"));
	const json_t *input = json_object_get(call, "tool_input");
	const json_t *command = json_object_get(input, "command");

	if (!json_is_object(call))
		return deny("the hook's input is not one JSON object");
	if (!event || strcmp(event, "PreToolUse") != 0)
		return deny("the hook's input is not a PreToolUse event");
	if (!tool || (strcmp(tool, "Bash") != 0 && strcmp(tool, "Monitor") != 0))
		return deny("this hook is for the tools Bash and Monitor; set its matcher to "
			    "Bash|Monitor");
	if (json_object_get(input, "ws"))
		return deny("Monitor would open a WebSocket outside the sandbox");
	/* jansson refuses NUL in a string, so that the length needs no check. */
	if (!json_is_string(command) || json_string_length(command) == 0)
		return deny("the tool's input has no command");
	return confine(input, json_string_value(command), session);
}

int cli_hook(const struct options *options)
{
	size_t len = 0;

	if (strcmp(options->operands[0], "claude") != 0)
		return options_wrong(options->command,
				     "there is a hook for claude only, not for %s",
				     options->operands[0]);
	auto_free char *text = read_input(&len);
	json_t *call = text ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	int status = decide(call, options_get(options, OPT_JOIN));

	json_decref(call);
	return status;
}

int cli_sh(const struct options *options)
{
	char *command = options_get(options, OPT_SH_COMMAND);
	char *session = options_get(options, OPT_JOIN);
	struct options run;
	struct err why = { 0 };
	size_t count = 0;

	if (!command)
		return options_wrong(options->command, "give the command with -c");
	static char join[] = "--join", end[] = "--", shell[] = "/bin/sh", flag[] = "-c";
	auto_free char **words = mem_new_array(options->operand_count + 8, sizeof(*words));

	words[count++] = shell; /* in the place of the program's name */
	if (session) {
		words[count++] = join;
		words[count++] = session;
	}
	words[count++] = end;
	words[count++] = shell;
	words[count++] = flag;
	words[count++] = command;
	for (size_t i = 0; i < options->operand_count; i++)
		words[count++] = options->operands[i];
	int status = options_read(&run, CLI_RUN, (int)count, words, &why) < 0
			     ? options_wrong(options->command, "%s", why.text)
			     : cli_run(&run);

	options_done(&run);
	return status;
}
