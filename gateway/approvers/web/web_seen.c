#include "gateway/approvers/web/web_seen.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/wire.h"
#include "gateway/audit/record.h"
#include "gateway/audit/sink_impl.h"
#include "policies/policies_gate.h"

struct web_event {
	enum sink_event event;
	char id[APPROVER_ID_MAX]; /* of a question that ended, in which case @cause says how */
	int64_t wall_ms;
	uint64_t exec;
	char command[160];
	int exit_status;
	struct policy_destination dst; /* host "": none */
	enum policy_action action;
	enum policy_reason reason;
	char rule[160], because[160], by[64], cause[160];
	char resolved[ADDR_TEXT_MAX];
	uint64_t bytes_up, bytes_down, duration_ms;
};

void web_seen_init(struct web_seen *seen)
{
	seen->events = (struct web_ring){ .size = WEB_SEEN_EVENTS };
	seen->denials = (struct web_ring){ .size = WEB_SEEN_DENIALS };
	seen->events.list = mem_new_array(seen->events.size, sizeof(*seen->events.list));
	seen->denials.list = mem_new_array(seen->denials.size, sizeof(*seen->denials.list));
}

void web_seen_done(struct web_seen *seen)
{
	free(seen->events.list);
	free(seen->denials.list);
}

static void seen_copy(char *out, size_t size, const char *text)
{
	size_t len = text ? strnlen(text, size - 1) : 0;

	memcpy(out, text ? text : "", len);
	out[len] = '\0';
}

static void policy_parts_fill(struct web_event *event, const struct sink_record *record)
{
	*event = (struct web_event){
		.event = record->event,
		.wall_ms = record->wall_us / 1000,
		.exec = record->exec,
		.exit_status = record->exit_status,
		.reason = record->reason,
		.bytes_up = record->bytes_up,
		.bytes_down = record->bytes_down,
		.duration_ms = record->duration_ms,
	};
	seen_copy(event->command, sizeof(event->command), record->command);
	seen_copy(event->cause, sizeof(event->cause), record->cause);
	if (record->facts)
		event->dst = record->facts->dst;
	if (record->resolved.family != 0)
		(void)addr_text(&record->resolved, event->resolved);
	if (record->late) {
		seen_copy(event->command, sizeof(event->command), record->late->said);
		seen_copy(event->by, sizeof(event->by), record->late->by);
	}
	if (!record->verdict)
		return;
	event->action = record->verdict->action;
	seen_copy(event->rule, sizeof(event->rule), record->verdict->rule);
	seen_copy(event->because, sizeof(event->because), record->verdict->because);
	seen_copy(event->by, sizeof(event->by), record->verdict->by);
}

static void ring_add(struct web_ring *ring, const struct web_event *event)
{
	ring->list[ring->count++ % ring->size] = *event;
}

void web_seen_add(struct web_seen *seen, const struct sink_record *record)
{
	struct web_event event;

	policy_parts_fill(&event, record);
	ring_add(&seen->events, &event);
	if (record->verdict && event.action != POLICY_ALLOW &&
	    !policy_reason_is_failure(event.reason))
		ring_add(&seen->denials, &event);
}

void web_seen_add_end(struct web_seen *seen, int64_t wall_ms, const struct approver_end *end)
{
	struct web_event event = { .wall_ms = wall_ms,
				   .action = end->action,
				   .reason = end->reason };

	seen_copy(event.id, sizeof(event.id), end->id);
	seen_copy(event.by, sizeof(event.by), end->by);
	seen_copy(event.cause, sizeof(event.cause), end->how);
	ring_add(&seen->events, &event);
}

static json_int_t seen_number(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (json_int_t)number;
}

static void seen_text(json_t *object, const char *name, const char *text)
{
	if (text[0] != '\0')
		(void)json_object_set_new(object, name, wire_text(text, POLICY_TEXT_MAX));
}

static json_t *seen_json(const struct web_event *event, uint64_t number)
{
	const char *name = event->id[0] != '\0' ? "settled" : record_event_name(event->event);
	char text[POLICY_DESTINATION_TEXT_MAX];
	json_t *object =
		json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I}", "n", seen_number(number), "event",
			  name, "at", (json_int_t)event->wall_ms, "exec", seen_number(event->exec),
			  "up", seen_number(event->bytes_up), "down",
			  seen_number(event->bytes_down), "ms", seen_number(event->duration_ms));

	if (!object)
		return NULL;
	if (event->dst.host[0] != '\0')
		seen_text(object, "to", policy_destination_text(&event->dst, text));
	if (event->dst.host[0] != '\0' || event->id[0] != '\0')
		seen_text(object, "action", policy_action_name(event->action));
	seen_text(object, "id", event->id);
	if (event->reason != POLICY_NONE) {
		seen_text(object, "reason", policy_reason_code(event->reason));
		seen_text(object, "sentence", policy_reason_sentence(event->reason));
		seen_text(object, "next", policy_reason_next(event->reason));
		(void)json_object_set_new(object, "failed",
					  json_boolean(policy_reason_is_failure(event->reason)));
	}
	auto_free char *line = event->dst.host[0] != '\0' && event->action == POLICY_DENY
				       ? policy_reason_line(event->reason, &event->dst, event->rule)
				       : NULL;

	seen_text(object, "line", line ? line : "");
	seen_text(object, "command", event->command);
	seen_text(object, "rule", event->rule);
	seen_text(object, "because", event->because);
	seen_text(object, "by", event->by);
	seen_text(object, event->id[0] ? "how" : "cause", event->cause);
	seen_text(object, "address", event->resolved);
	if (event->event == SINK_EXEC_END)
		(void)json_object_set_new(object, "status", json_integer(event->exit_status));
	return object;
}

json_t *web_seen_since(const struct web_ring *ring, uint64_t from)
{
	json_t *list = json_array();
	uint64_t first = ring->count > ring->size ? ring->count - ring->size : 0;

	/* jansson refuses NULL: out of memory, the list lacks one entry. */
	for (uint64_t i = from > first ? from : first; i < ring->count; i++)
		(void)json_array_append_new(list, seen_json(&ring->list[i % ring->size], i));
	return list;
}
