#include "cli/approve.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/policies_tools.h"

char *approve_text_shown(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at < 0x20 || *at > 0x7e)
			return text_visible_dup(text);
	}
	return mem_strdup(text);
}

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
	const char *host = approve_text_member(question, "host");
	bool has_colon = strchr(host, ':') != NULL;
	auto_free char *text = mem_printf(
		"%s://%s%s%s:%lld", approve_text_member(question, "protocol"), has_colon ? "[" : "",
		host, has_colon ? "]" : "", text_number(question, "port"));

	return approve_text_shown(text);
}

static void text_line(FILE *stream, const char *label, const char *text)
{
	auto_free char *shown = approve_text_shown(text);

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

void approve_text_question(FILE *stream, const json_t *question)
{
	const json_t *commands = json_object_get(question, "commands");
	long long waiting = text_number(question, "waiting");
	long long hidden =
		text_number(question, "command_count") - (long long)json_array_size(commands);
	auto_free char *id = approve_text_shown(approve_text_member(question, "id"));
	auto_free char *destination = approve_text_destination(question);
	auto_free char *left = text_duration(text_number(question, "left_s"));
	struct policy_host_warning warning;
	auto_free char *age = text_duration(text_number(question, "age_s"));

	(void)fprintf(stream, "%s  %s\n", id, destination);
	if (json_is_true(json_object_get(question, "private")))
		text_line(stream, "private", "an address of your own network or machine");
	if (policy_host_warning(approve_text_member(question, "host"), &warning))
		text_line(stream, "careful", warning.text);
	for (size_t i = 0; i < json_array_size(commands); i++) {
		const char *command = json_string_value(json_array_get(commands, i));

		text_line(stream, i == 0 ? "asked by" : "", command ? command : "");
	}
	if (hidden > 0)
		(void)fprintf(stream, "  %-9s and %lld more command%s\n", "", hidden,
			      hidden == 1 ? "" : "s");
	(void)fprintf(stream, "  %-9s %lld connection%s, %s left, asked %s ago\n", "waiting",
		      waiting, waiting == 1 ? "" : "s", left, age);
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
