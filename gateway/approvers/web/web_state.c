#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/approvers/web/web.h"
#include "gateway/approvers/wire.h"
#include "gateway/gateway_tools.h"

#define STATE_COMMAND_MAX 512

/* Makes one event of the stream. ASCII without line breaks, so that no text in it can begin another
 * event. */
char *web_state_event(const char *name, json_t *value)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(value);
	return text ? mem_printf("event: %s\ndata: %s\n\n", name, text) : NULL;
}

static json_int_t state_number(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (json_int_t)number;
}

static json_int_t state_now_ms(const struct approver *self)
{
	return (json_int_t)(loop_wall_us(self->loop) / 1000);
}

/* Up to WEB_SHOWN_MAX entries; the page shows the number of further ones. */
struct state_list {
	struct approver *server;
	json_t *list;
	size_t count;
	uint64_t last_answer; /* the answer that undo would revoke; 0: none */
	json_t *last;
};

/* Takes @value; jansson refuses NULL, and then the list lacks one entry. */
static void state_append(struct state_list *list, json_t *value)
{
	if (list->count++ < WEB_SHOWN_MAX)
		(void)json_array_append_new(list->list, value);
	else
		json_decref(value);
}

static json_t *state_close(struct state_list *list)
{
	return json_pack("{s:o, s:I}", "list", list->list, "count", (json_int_t)list->count);
}

static json_t *state_commands(const struct approver_question *question)
{
	json_t *commands = json_array();

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && i < question->command_count; i++) {
		if (question->commands[i])
			(void)json_array_append_new(
				commands, /* only out of memory */
				wire_text(question->commands[i], STATE_COMMAND_MAX));
	}
	return commands;
}

json_t *web_state_question(const struct approver_question *question)
{
	const struct policy_destination *dst = &question->dst;
	static const struct approver_answer once = { .action = POLICY_ALLOW };
	char to[POLICY_DESTINATION_TEXT_MAX];

	return json_pack(
		"{s:s, s:o, s:s, s:o, s:i, s:I, s:I, s:o, s:I, s:I, s:I, s:o, s:o, "
		"s:b, s:o, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o}",
		"id", question->id, "to", wire_text(policy_destination_text(dst, to), sizeof(to)),
		"protocol", policy_protocol_name(dst->protocol), "host",
		wire_text(dst->host, sizeof(dst->host)), "port", (int)dst->port, "times",
		(json_int_t)question->times, "waiting", (json_int_t)question->waiting, "commands",
		state_commands(question), "command_count", (json_int_t)question->command_count,
		"age_ms", (json_int_t)question->age_ms, "left_ms", (json_int_t)question->left_ms,
		"rule", wire_text(question->rule, POLICY_TEXT_MAX), "because",
		wire_text(question->because, POLICY_TEXT_MAX), "private",
		question->is_private ? 1 : 0, "risks", wire_risks(question->risk), "needs_typing",
		gateway_typed_because(question, &once) ? 1 : 0, "shared",
		question->is_shared ? 1 : 0, "touched", question->is_touched ? 1 : 0, "warning",
		wire_text(question->warning, POLICY_TEXT_MAX), "domain",
		wire_text(question->typed, sizeof(question->typed)), "program",
		wire_text(question->program, POLICY_TEXT_MAX), "chain",
		wire_text(question->chain, POLICY_TEXT_MAX), "plea",
		wire_text(question->plea, POLICY_TEXT_MAX));
}

json_t *web_state_agent(const struct approver_agent_question *question)
{
	json_t *shown = wire_agent(question);

	if (!shown || json_object_update_new(
			      shown, json_pack("{s:I, s:I}", "age_ms", (json_int_t)question->age_ms,
					       "left_ms", (json_int_t)question->left_ms)) == 0)
		return shown;
	json_decref(shown);
	return NULL;
}

static void state_add_agent(const struct approver_agent_question *question, void *arg)
{
	state_append(arg, web_state_agent(question));
}

static void state_add_question(const struct approver_question *question, void *arg)
{
	struct state_list *list = arg;

	if (list->count >= WEB_SHOWN_MAX)
		list->count++;
	else
		state_append(list, web_state_question(question));
}

static const char *const state_scopes[] = { "once", "exec", "session", "always" };

/* Notes the newest answer, whose grants are alike; it may be beyond those that are shown. */
static void state_note_last(struct state_list *list, const struct approver_grant *grant)
{
	if (grant->answer == 0 || grant->answer < list->last_answer)
		return;
	json_decref(list->last);
	list->last_answer = grant->answer;
	list->last =
		json_pack("{s:I, s:s, s:s, s:o}", "answer", state_number(grant->answer), "action",
			  policy_action_name(grant->action), "scope", state_scopes[grant->scope],
			  "text", wire_text(grant->text, APPROVER_KEY_MAX));
}

static void state_add_grant(const struct approver_grant *grant, void *arg)
{
	struct state_list *list = arg;

	state_note_last(list, grant);
	if (list->count >= WEB_SHOWN_MAX) {
		list->count++;
		return;
	}
	state_append(list,
		     json_pack("{s:I, s:s, s:s, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			       "id", state_number(grant->id), "action",
			       policy_action_name(grant->action), "scope",
			       state_scopes[grant->scope], "exec", state_number(grant->exec),
			       "text", wire_text(grant->text, APPROVER_KEY_MAX), "by",
			       wire_text(grant->by, POLICY_TEXT_MAX), "since_s",
			       (json_int_t)grant->since_s, "until_s", (json_int_t)grant->until_s,
			       "up", state_number(grant->bytes_up), "down",
			       state_number(grant->bytes_down), "connections",
			       (json_int_t)grant->connections, "live", (json_int_t)grant->live,
			       "from", wire_text(grant->from, POLICY_TEXT_MAX)));
}

static void state_add_live(const struct approver_live *live, void *arg)
{
	struct state_list *list = arg;
	char to[POLICY_DESTINATION_TEXT_MAX];

	state_append(
		list,
		json_pack("{s:I, s:I, s:I, s:o, s:s, s:o, s:I}", "id", state_number(live->id),
			  "grant", state_number(live->grant), "exec", state_number(live->exec),
			  "to",
			  wire_text(policy_destination_text(&live->facts->dst, to), sizeof(to)),
			  "way", policy_way_name(live->facts->way), "rule",
			  wire_text(live->rule, POLICY_TEXT_MAX), "since_s",
			  (state_now_ms(list->server) - (json_int_t)live->age_ms) / 1000));
}

static json_t *state_trip(const struct gateway_trip *trip)
{
	char to[POLICY_DESTINATION_TEXT_MAX] = "";

	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "to",
			 trip->dst.host[0] == '\0'
				 ? json_null()
				 : wire_text(policy_destination_text(&trip->dst, to), sizeof(to)),
			 "allowed", state_number(trip->allowed), "denied",
			 state_number(trip->denied), "failed", state_number(trip->failed),
			 "unanswered", state_number(trip->unanswered), "connections",
			 state_number(trip->connections), "up", state_number(trip->bytes_up),
			 "down", state_number(trip->bytes_down));
}

/* The newest destinations, which are stored in the order of their first request, and the sum of
 * all. */
static json_t *state_totals(struct approver *self)
{
	size_t count, first;
	const struct gateway_trip *trips = gateway_trips(self->gw, &count);
	const struct gateway_trip *others = gateway_trips_others(self->gw);
	struct state_list list = { .server = self, .list = json_array() };
	struct gateway_trip sum = *others;

	for (size_t i = 0; i < count; i++)
		gateway_trip_add(&sum, &trips[i]);
	first = count > WEB_SHOWN_MAX ? count - WEB_SHOWN_MAX : 0;
	for (size_t i = first; i < count; i++)
		state_append(&list, state_trip(&trips[i]));
	list.count = count;
	return json_pack("{s:o, s:I, s:o, s:o}", "list", list.list, "count", (json_int_t)list.count,
			 "others", state_trip(others), "sum", state_trip(&sum));
}

static char *state_render_topic(struct approver *self, enum web_topic topic)
{
	struct state_list list = { .server = self };

	switch (topic) {
	case WEB_HELLO:
		return web_state_event(
			"hello", json_pack("{s:s, s:o, s:b, s:I}", "run", self->run, "session",
					   wire_text(self->session, POLICY_TEXT_MAX), "may_always",
					   self->may_always ? 1 : 0, "now_ms", state_now_ms(self)));
	case WEB_QUESTIONS:
		list.list = json_array();
		gateway_each_question(self->gw, state_add_question, &list);
		self->is_crowded = list.count > WEB_SHOWN_MAX;
		return web_state_event("questions", state_close(&list));
	case WEB_TASK:
		list.list = json_array();
		gateway_each_agent_question(self->gw, state_add_agent, &list);
		return web_state_event("agents", state_close(&list));
	case WEB_GRANTS:
		list.list = json_array();
		gateway_each_grant(self->gw, state_add_grant, &list);
		return web_state_event("grants",
				       json_pack("{s:o, s:I, s:o?}", "list", list.list, "count",
						 (json_int_t)list.count, "last", list.last));
	case WEB_LIVE:
		list.list = json_array();
		list.count = gateway_each_live(self->gw, WEB_SHOWN_MAX, state_add_live, &list);
		return web_state_event("live", state_close(&list));
	case WEB_TOTALS:
		return web_state_event("totals", state_totals(self));
	case WEB_TOPICS:
	default:
		return NULL;
	}
}

void web_state_render(struct approver *self)
{
	for (size_t i = 0; i < WEB_TOPICS; i++) {
		struct web_shown *shown = &self->shown[i];

		if (!shown->is_stale)
			continue;
		auto_free char *text = state_render_topic(self, (enum web_topic)i);

		/* Out of memory, the topic keeps its old text and stays stale. */
		if (!text)
			continue;
		shown->is_stale = false;
		if (shown->text && strcmp(shown->text, text) == 0)
			continue;
		free(shown->text);
		shown->text = take(text);
		shown->version++;
	}
}
