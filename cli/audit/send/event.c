#include "cli/audit/send/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/rows.h"
#include "gateway/gateway_audit.h"

enum event_severity event_severity(const struct gateway_logged *record)
{
	static const struct {
		const char *event;
		enum event_severity severity;
	} events[] = {
		{ "gap", EVENT_ERROR },          { "killed", EVENT_ERROR },
		{ "worker_ended", EVENT_ERROR }, { "refused", EVENT_NOTICE },
		{ "made", EVENT_NOTICE },        { "limit", EVENT_NOTICE },
		{ "late_answer", EVENT_NOTICE }, { "policy_reload_failed", EVENT_NOTICE },
	};

	if (strcmp(record->event, "decision") == 0 && strcmp(record->action, "allow") != 0)
		return EVENT_WARNING;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (strcmp(record->event, events[i].event) == 0)
			return events[i].severity;
	return EVENT_INFO;
}

char *event_sentence(const struct gateway_logged *record)
{
	/* The host of a start is this machine. */
	bool is_machine = record->host[0] && !record->protocol[0];
	auto_free char *what = is_machine ? mem_strdup("") : rows_what(record);
	auto_free char *text = mem_printf("%s:", record->event);

	if (record->action[0] && strcmp(record->event, "decision") == 0)
		mem_append(&text, " %s", record->action);
	if (what[0])
		mem_append(&text, " %s", what);
	if (record->reason[0])
		mem_append(&text, " (%s)", record->reason);
	return text_visible_once(text);
}

const char *event_machine(char out[EVENT_MACHINE_MAX])
{
	if (gethostname(out, EVENT_MACHINE_MAX) < 0)
		out[0] = '\0';
	out[EVENT_MACHINE_MAX - 1] = '\0';
	for (char *at = out; *at; at++)
		if (*at <= ' ' || *at > '~')
			*at = '_';
	if (out[0] == '\0')
		memcpy(out, "-", sizeof("-"));
	return out;
}
