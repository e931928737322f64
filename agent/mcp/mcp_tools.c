/* The tools: their names, their arguments, and the submissions that they become. */
#include <errno.h>
#include <string.h>

#include "agent/mcp/mcp_impl.h"
#include "base/mem.h"

static const struct {
	const char *name, *title, *words, *type;
	bool is_read_only;
} tools[MCP_TOOLS] = {
	[MCP_RUN] = { "run", "Run a command",
		      "Runs a command in a sandbox and returns its output and how it ended. The "
		      "command reaches the network only through a gate; if no rule of the "
		      "policy decides, a person is asked.",
		      "exec", false },
	[MCP_BACKGROUND] = { "background", "Start a command",
			     "Starts a command as run does, and returns its number in exec after a "
			     "second, while it continues; or its result, if it has ended before.",
			     "exec", false },
	[MCP_POLL] = { "poll", "Read the output of a command",
		       "Returns the output of a background command since the last poll, or, when "
		       "it has ended, its result, once.",
		       "poll", true },
	[MCP_KILL] = { "kill", "End a command",
		       "Ends a background command; poll then returns its result.", "cancel",
		       false },
	[MCP_LIST] = { "list", "List the commands",
		       "Lists the background commands whose result was not returned yet.", NULL,
		       true },
};

/* The arguments of a call; the other members of a submission are not the model's to set. */
#define STARTS (BIT(MCP_RUN) | BIT(MCP_BACKGROUND))
#define ACTS   (BIT(MCP_POLL) | BIT(MCP_KILL))

static const struct {
	unsigned int tools;
	const char *name, *member, *type, *words;
} arguments[] = {
	{ ACTS, "exec", "exec", "integer", "The number that background returned" },
	{ BIT(MCP_POLL), "wait_ms", "wait_ms", "integer",
	  "How long to wait for output or the end, in ms (default: 1000)" },
	{ STARTS, "command", "script", "string", "A command line, run by sh -c" },
	{ STARTS, "argv", "command", "array",
	  "The command as a list of words, run without a shell" },
	{ STARTS, "cwd", "cwd", "string", "The directory to run in" },
	{ STARTS, "timeout_ms", "timeout_ms", "integer",
	  "Limit on the running time in ms, without the time that questions take (default: ten "
	  "minutes)" },
	{ STARTS, "reason", "reason", "string",
	  "Why this is needed, in one sentence, for the person who is asked" },
	{ STARTS, "sandbox_permissions", "sandbox_permissions", "string",
	  "require_escalated: run without the sandbox; a person is asked" },
	{ STARTS, "additional_permissions", "additional_permissions", "object",
	  "With sandbox_permissions with_additional_permissions: the other access that the command "
	  "needs" },
};

static json_t *call_list_schema(const char *words)
{
	return json_pack("{s:s, s:s, s:{s:s}}", "type", "array", "description", words, "items",
			 "type", "string");
}

static void call_narrow(json_t *property, const char *name)
{
	const char *const paths = "Absolute paths";
	json_t *more = NULL;

	if (strcmp(name, "argv") == 0)
		more = json_pack("{s:{s:s}}", "items", "type", "string");
	else if (strcmp(name, "wait_ms") == 0)
		more = json_pack("{s:i, s:i}", "minimum", 0, "maximum", MCP_WAIT_MAX);
	else if (strcmp(name, "timeout_ms") == 0 || strcmp(name, "exec") == 0)
		more = json_pack("{s:i}", "minimum", 0);
	else if (strcmp(name, "sandbox_permissions") == 0)
		more = json_pack("{s:[s,s,s]}", "enum", "use_default",
				 "with_additional_permissions", "require_escalated");
	else if (strcmp(name, "additional_permissions") == 0)
		more = json_pack("{s:{s:o, s:o, s:o, s:o}, s:b}", "properties", "read",
				 call_list_schema(paths), "write", call_list_schema(paths),
				 "socket", call_list_schema(paths), "network",
				 call_list_schema("Destinations, such as https://example.org:443"),
				 "additionalProperties", 0);
	if (more)
		(void)json_object_update(property, more); /* fails only without memory */
	json_decref(more);
}

static json_t *call_schema(enum mcp_tool tool)
{
	json_t *properties = json_object(), *required = json_array();

	if (BIT(tool) & ACTS)
		(void)json_array_append_new(required, json_string("exec"));
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		if (!(arguments[i].tools & BIT(tool)))
			continue;
		json_t *property = json_pack("{s:s, s:s}", "type", arguments[i].type, "description",
					     arguments[i].words);

		call_narrow(property, arguments[i].name);
		(void)json_object_set_new(properties, arguments[i].name,
					  property); /* fails only without memory */
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
			 "required", required, "additionalProperties", 0);
}

static json_t *call_result_schema(void)
{
	return json_pack("{s:s, s:{s:{s:s}, s:{s:[s,s]}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, "
			 "s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}, "
			 "s:[s]}",
			 "type", "object", "properties", "status", "type", "string", "exit_code",
			 "type", "integer", "null", "stdout", "type", "string", "stderr", "type",
			 "string", "duration_ms", "type", "integer", "message", "type", "string",
			 "network", "type", "object", "evidence", "type", "array", "made", "type",
			 "array", "made_unknown", "type", "string", "exec", "type", "integer",
			 "commands", "type", "array", "required", "status");
}

json_t *mcp_tools_list(void)
{
	json_t *list = json_array();

	for (size_t tool = 0; tool < MCP_TOOLS; tool++) {
		json_t *one = json_pack(
			"{s:s, s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b}}", "name", tools[tool].name,
			"title", tools[tool].title, "description", tools[tool].words, "inputSchema",
			call_schema((enum mcp_tool)tool), "outputSchema", call_result_schema(),
			"annotations", "readOnlyHint", tools[tool].is_read_only ? 1 : 0,
			"destructiveHint", tools[tool].is_read_only ? 0 : 1, "openWorldHint",
			BIT(tool) & STARTS ? 1 : 0);

		(void)json_array_append_new(list, one); /* fails only without memory */
	}
	return list;
}

bool mcp_tools_find(const char *name, enum mcp_tool *ret)
{
	for (size_t tool = 0; name && tool < MCP_TOOLS; tool++) {
		if (strcmp(tools[tool].name, name) == 0) {
			*ret = (enum mcp_tool)tool;
			return true;
		}
	}
	return false;
}

static bool call_has_type(const json_t *value, const char *type)
{
	return strcmp(type, "string") == 0    ? json_is_string(value)
	       : strcmp(type, "integer") == 0 ? json_is_integer(value)
	       : strcmp(type, "array") == 0   ? json_is_array(value)
					      : json_is_object(value);
}

static int call_check(enum mcp_tool tool, const json_t *given, struct err *why)
{
	size_t known = 0;

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		json_t *value = json_object_get(given, arguments[i].name);

		if (!value || !(arguments[i].tools & BIT(tool)))
			continue;
		known++;
		if (!call_has_type(value, arguments[i].type))
			return err_set(why, -EINVAL, "`%s` must be of type %s", arguments[i].name,
				       arguments[i].type);
	}
	if (known != json_object_size(given))
		return err_set(why, -EINVAL, "an argument is unknown to this tool");
	if (BIT(tool) & STARTS &&
	    !json_object_get(given, "command") == !json_object_get(given, "argv"))
		return err_set(why, -EINVAL, "give either `command` or `argv`");
	if (BIT(tool) & ACTS && !json_object_get(given, "exec"))
		return err_set(why, -EINVAL, "give `exec`, the number of a command");
	return 0;
}

json_t *mcp_tools_submission(enum mcp_tool tool, const json_t *given, struct err *why)
{
	if (call_check(tool, given, why) < 0)
		return NULL;
	json_t *submission = json_pack("{s:s}", "session", MCP_SESSION);

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		json_t *value = json_object_get(given, arguments[i].name);

		if (value)
			(void)json_object_set(submission, arguments[i].member,
					      value); /* fails only without memory */
	}
	if (BIT(tool) & STARTS)
		(void)json_object_set_new(submission, "polled", json_true());
	if (tool == MCP_BACKGROUND)
		(void)json_object_set_new(submission, "mode", json_string("background"));
	if (tool == MCP_POLL && !json_object_get(submission, "wait_ms"))
		(void)json_object_set_new(submission, "wait_ms", json_integer(MCP_WAIT_MS));
	return submission;
}
