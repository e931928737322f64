#include "cli/approve/approve.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/policies_tools.h"

#define TEXT_COMMAND_MAX 4096

const char *approve_text_member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static long long text_number(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
}

char *approve_text_destination(const json_t *question)
{
	if (json_object_get(question, "lines")) /* it is not about a destination */
		return text_visible_once(approve_text_member(question, "kind"));
	const char *host = approve_text_member(question, "host");
	bool has_colon = strchr(host, ':') != NULL;
	auto_free char *text = mem_printf(
		"%s://%s%s%s:%lld", approve_text_member(question, "protocol"), has_colon ? "[" : "",
		host, has_colon ? "]" : "", text_number(question, "port"));

	return text_visible_once(text);
}

static void text_line(FILE *stream, const char *label, const char *text)
{
	auto_free char *shown = text_visible_once(text);

	if (text[0] != '\0')
		(void)fprintf(stream, "  %-9s %s\n", label, shown);
}

static char *text_duration(long long seconds)
{
	if (seconds >= 3600)
		return mem_printf("%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
	if (seconds >= 60)
		return mem_printf("%lldm%02llds", seconds / 60, seconds % 60);
	return mem_printf("%llds", seconds);
}

static const char *text_ordinal(long long number)
{
	static const char *const ends[] = { "th", "st", "nd", "rd" };
	long long last = number % 10;

	return last > 3 || (number % 100 > 10 && number % 100 < 14) ? "th" : ends[last];
}

/* True: nothing else is to be said of it. */
static bool text_is_new(const json_t *question)
{
	const json_t *risks = json_object_get(question, "risk");
	const char *risk = json_string_value(json_array_get(risks, 0));

	return json_array_size(risks) == 1 && risk && strcmp(risk, "first_seen") == 0;
}

/* A question that is not about a destination: the gate has chosen the lines. */
static void text_agent(FILE *stream, const json_t *question)
{
	const json_t *lines = json_object_get(question, "lines"),
		     *choices = json_object_get(question, "choices");
	auto_free char *id = text_visible_once(approve_text_member(question, "id"));
	auto_free char *kind = text_visible_once(approve_text_member(question, "kind"));
	auto_free char *left = text_duration(text_number(question, "left_s"));
	auto_free char *age = text_duration(text_number(question, "age_s"));

	(void)fprintf(stream, "%s  %s\n", id, kind);
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);
		const char *label = json_string_value(json_array_get(line, 0));
		const char *text = json_string_value(json_array_get(line, 1));
		auto_free char *shown = text_visible_once(label ? label : "");

		text_line(stream, shown, text ? text : "");
	}
	(void)fprintf(stream, "  %-9s", "offers");
	for (size_t i = 0; i < json_array_size(choices); i++) {
		const char *choice = json_string_value(json_array_get(choices, i));
		auto_free char *shown = text_visible_once(choice ? choice : "");

		(void)fprintf(stream, "%s %s", i == 0 ? "" : ",", shown);
	}
	(void)fprintf(stream, "\n  %-9s %s left, asked %s ago\n", "waiting", left, age);
	text_line(stream, "to type", approve_text_member(question, "typed"));
	text_line(stream, "session", approve_text_member(question, "session"));
}

void approve_text_question(FILE *stream, const json_t *question)
{
	if (json_object_get(question, "lines"))
		return text_agent(stream, question);
	const json_t *commands = json_object_get(question, "commands");
	long long waiting = text_number(question, "waiting");
	long long hidden =
		text_number(question, "command_count") - (long long)json_array_size(commands);
	auto_free char *id = text_visible_once(approve_text_member(question, "id"));
	auto_free char *destination = approve_text_destination(question);
	auto_free char *left = text_duration(text_number(question, "left_s"));
	const char *told = approve_text_member(question, "warning");
	struct policy_host_warning warning;
	auto_free char *age = text_duration(text_number(question, "age_s"));

	(void)fprintf(stream, "%s  %s\n", id, destination);
	if (json_is_true(json_object_get(question, "private")))
		text_line(stream, "private", "an address of your own network or machine");
	/* The gate's own warnings already contain this one, unless the domain was allowed before.
	 */
	if (policy_host_warning(approve_text_member(question, "host"), &warning) &&
	    !strstr(told, warning.text))
		text_line(stream, "warning", warning.text);
	text_line(stream, text_is_new(question) ? "NEW" : "warning", told);
	for (size_t i = 0; i < json_array_size(commands); i++) {
		const char *command = json_string_value(json_array_get(commands, i));

		text_line(stream, i == 0 ? "command" : "", command ? command : "");
	}
	if (hidden > 0)
		(void)fprintf(stream, "  %-9s and %lld more command%s\n", "", hidden,
			      hidden == 1 ? "" : "s");
	(void)fprintf(stream, "  %-9s %lld connection%s, %s left%s, asked %s ago\n", "waiting",
		      waiting, waiting == 1 ? "" : "s", left,
		      json_is_true(json_object_get(question, "touched")) ? " (being answered)" : "",
		      age);
	if (text_number(question, "times") > 1)
		(void)fprintf(stream, "  %-9s the %lld%s time, never answered before\n", "asked",
			      text_number(question, "times"),
			      text_ordinal(text_number(question, "times")));
	text_line(stream, "program", approve_text_member(question, "program"));
	text_line(stream, "started by", approve_text_member(question, "chain"));
	text_line(stream, "it says", approve_text_member(question, "plea"));
	text_line(stream, "because", approve_text_member(question, "because"));
	text_line(stream, "rule", approve_text_member(question, "rule"));
	text_line(stream, "session", approve_text_member(question, "session"));
}

char *approve_text_answer(const struct approve_answer *answer)
{
	static const struct {
		const char *scope, *words;
	} scopes[] = {
		{ "once", "once, for those now waiting" },
		{ "exec", "for this command" },
		{ "session", "for this session" },
		{ "always", "always" },
	};
	const char *scope = answer->scope ? answer->scope : "once";

	if (strcmp(answer->op, "abort") == 0)
		return mem_strdup("aborted");
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		if (strcmp(scopes[i].scope, scope) == 0)
			return mem_printf("%s %s",
					  strcmp(answer->op, "allow") == 0 ? "allowed" : "denied",
					  scopes[i].words);
	}
	return mem_strdup(answer->op);
}

/* Words of a person may contain any character, so they are quoted for a shell. */
char *approve_text_command(const struct approve_answer *answer, const char *typed)
{
	const struct approve_width *width = &answer->width;
	const char *argv[24] = { "sallyport", "approve", answer->op, answer->id };
	auto_free char *upload = mem_printf("%lld", (long long)width->upload);
	auto_free char *download = mem_printf("%lld", (long long)width->download);
	auto_free char *connections = mem_printf("%lld", (long long)width->connections);
	const struct {
		const char *name, *value; /* value NULL: none; name NULL: not given */
	} options[] = {
		{ answer->scope ? "--scope" : NULL, answer->scope },
		{ width->is_domain ? "--domain" : NULL, NULL },
		{ width->is_every_port ? "--all-ports" : NULL, NULL },
		{ width->is_program ? "--program" : NULL, NULL },
		{ width->duration[0] ? "--for" : NULL, width->duration },
		{ width->upload ? "--upload" : NULL, upload },
		{ width->download ? "--download" : NULL, download },
		{ width->connections ? "--connections" : NULL, connections },
		{ answer->words[0] ? "--words" : NULL, answer->words },
		{ "--confirm", typed },
	};
	size_t count = 4;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!options[i].name)
			continue;
		argv[count++] = options[i].name;
		if (options[i].value)
			argv[count++] = options[i].value;
	}
	return text_command_line(argv, TEXT_COMMAND_MAX);
}
