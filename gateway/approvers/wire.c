#include "gateway/approvers/wire.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/approver_impl.h"

json_t *wire_text(const char *text, size_t max_bytes)
{
	const char *from = text ? text : "";
	size_t len = strnlen(from, max_bytes);
	json_t *value = json_stringn(from, len);

	if (value)
		return value;

	auto_free char *cut = mem_strndup(from, len);
	auto_free char *shown = text_visible_dup(cut);
	return json_string(shown);
}

static const struct {
	enum approver_risk bit;
	const char *name;
} risk_names[] = {
	{ APPROVER_FIRST_SEEN, "first_seen" }, { APPROVER_LOOKALIKE, "lookalike" },
	{ APPROVER_LITERAL, "literal" },       { APPROVER_RAW_TCP, "raw_tcp" },
	{ APPROVER_LISTED, "listed" },
};

json_t *wire_risks(unsigned int risk)
{
	json_t *risks = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(risk_names); i++) {
		if (risk & risk_names[i].bit)
			(void)json_array_append_new(risks,
						    json_string(risk_names[i].name)); /* OOM */
	}
	return risks;
}

static unsigned int risk_of_name(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(risk_names); i++) {
		if (strcmp(risk_names[i].name, name) == 0)
			return risk_names[i].bit;
	}
	return APPROVER_LISTED;
}

unsigned int wire_risks_read(const json_t *risks)
{
	unsigned int risk = 0;

	for (size_t i = 0; i < json_array_size(risks); i++)
		risk |= risk_of_name(json_string_value(json_array_get(risks, i)));
	return risk;
}

static const struct {
	enum gateway_agent_choice bit;
	const char *name;
} choice_names[] = {
	{ GATEWAY_AGENT_ONCE, "allow once" },     { GATEWAY_AGENT_SESSION, "allow session" },
	{ GATEWAY_AGENT_ALWAYS, "allow always" }, { GATEWAY_AGENT_DENY_ALWAYS, "deny always" },
	{ GATEWAY_AGENT_ABORT, "abort" },
};

static json_t *wire_choices(unsigned int choices)
{
	json_t *list = json_array();

	(void)json_array_append_new(list, json_string("deny once")); /* fails only without memory */
	for (size_t i = 0; i < ARRAY_SIZE(choice_names); i++) {
		if (choices & choice_names[i].bit)
			(void)json_array_append_new(list,
						    json_string(choice_names[i].name)); /* OOM */
	}
	return list;
}

static json_t *wire_lines(const struct approver_agent_question *question)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < question->line_count; i++) {
		const struct gateway_agent_line *line = &question->lines[i];

		/* The last line that is lost would be one that was granted unseen. */
		if (json_array_append_new(lines, json_pack("[s, s]", line->label, line->text)) <
		    0) {
			json_decref(lines);
			return NULL;
		}
	}
	return lines;
}

json_t *wire_agent(const struct approver_agent_question *question)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s}", "id", question->id, "kind", question->kind,
			 "lines", wire_lines(question), "choices", wire_choices(question->choices),
			 "typed", question->typed);
}

unsigned int wire_choices_read(const json_t *choices)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < json_array_size(choices); i++) {
		const char *name = json_string_value(json_array_get(choices, i));

		for (size_t j = 0; name && j < ARRAY_SIZE(choice_names); j++) {
			if (strcmp(choice_names[j].name, name) == 0)
				bits |= choice_names[j].bit;
		}
	}
	return bits;
}
