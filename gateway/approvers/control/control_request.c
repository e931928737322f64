#include "gateway/approvers/control/control.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/wire.h"

static json_t *request_commands(const struct approver_question *question)
{
	json_t *commands = json_array();

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && i < question->command_count; i++) {
		if (question->commands[i])
			(void)json_array_append_new(
				commands, /* only out of memory */
				wire_text(question->commands[i], CONTROL_COMMAND_MAX));
	}
	return commands;
}

static json_t *request_text(const char *text)
{
	return wire_text(text ? text : "", POLICY_TEXT_MAX);
}

json_t *control_request_question(const struct approver *server,
				 const struct approver_question *question)
{
	const struct policy_destination *dst = &question->dst;
	json_t *shown = json_pack(
		"{s:s, s:s, s:o, s:i, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:b, s:o, s:s}", "id",
		question->id, "protocol", policy_protocol_name(dst->protocol), "host",
		wire_text(dst->host, sizeof(dst->host)), "port", (int)dst->port, "waiting",
		(json_int_t)question->waiting, "commands", request_commands(question),
		"command_count", (json_int_t)question->command_count, "age_s",
		(json_int_t)(question->age_ms / 1000), "left_s",
		(json_int_t)((question->left_ms + 999) / 1000), "rule",
		request_text(question->rule), "because", request_text(question->because), "private",
		question->is_private ? 1 : 0, "session", request_text(server->session), "run",
		server->run);
	json_t *more = json_pack(
		"{s:b, s:b, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "touched",
		question->is_touched ? 1 : 0, "shared", question->is_shared ? 1 : 0, "risk",
		wire_risks(question->risk), "warning", request_text(question->warning), "typed",
		wire_text(question->typed, sizeof(question->typed)), "times",
		(json_int_t)question->times, "program", request_text(question->program), "chain",
		request_text(question->chain), "plea", request_text(question->plea));

	if (json_object_update(shown, more) < 0) { /* out of memory */
		json_decref(shown);
		shown = NULL;
	}
	json_decref(more);
	return shown;
}

static void request_send(struct control_client *client, json_t *message)
{
	control_client_send(client, message);
	json_decref(message);
}

void control_request_ok(const struct control_request *request, json_t *more)
{
	json_t *reply = json_pack("{s:I, s:b}", "id", request->id, "ok", 1);

	if (more && json_object_update(reply, more) < 0) { /* out of memory: hang up */
		json_decref(reply);
		reply = NULL;
	}
	json_decref(more);
	request_send(request->client, reply);
}

void control_request_refuse(const struct control_request *request, const char *code,
			    const char *text)
{
	json_t *id = request->id < 0 ? json_null() : json_integer(request->id);

	request_send(request->client, json_pack("{s:o, s:b, s:o, s:s}", "id", id, "ok", 0, "error",
						wire_text(text, ERR_MAX_BYTES), "code", code));
}

void control_request_wait(const struct control_request *request)
{
	request->client->must_wait = true;
}

void control_request_fail(const struct control_request *request, int r, const char *text)
{
	if (r == -EINVAL)
		return control_request_refuse(request, "refused",
					      text[0] ? text : "this answer is not possible here");
	if (r == -ESTALE)
		return control_request_refuse(request, "changed", text);
	control_request_refuse(request, "failed", text[0] ? text : strerror(-r));
}

/* The members that an op accepts, besides its id. */
enum {
	TAKES_QUESTION = 1 << 0,
	TAKES_SCOPE = 1 << 1,
	TAKES_WORDS = 1 << 2,
	TAKES_WIDTH = 1 << 3,
	TAKES_ACTION = 1 << 4,
	TAKES_GRANT = 1 << 5,
	TAKES_LIVE = 1 << 6,
	TAKES_CONFIRM = 1 << 7,
	TAKES_AFTER = 1 << 8,
	TAKES_TEXT = 1 << 9,
};

static const struct {
	const char *name;
	void (*serve)(const struct control_request *request);
	unsigned int takes;
} request_ops[] = {
	{ "list", control_questions_list, TAKES_AFTER },
	{ "watch", control_questions_watch, 0 },
	{ "allow", control_answer_serve,
	  TAKES_QUESTION | TAKES_SCOPE | TAKES_WORDS | TAKES_WIDTH | TAKES_CONFIRM | TAKES_TEXT },
	{ "deny", control_answer_serve,
	  TAKES_QUESTION | TAKES_SCOPE | TAKES_WORDS | TAKES_WIDTH | TAKES_TEXT },
	{ "abort", control_answer_serve, TAKES_QUESTION | TAKES_WORDS },
	{ "preview", control_answer_preview,
	  TAKES_QUESTION | TAKES_ACTION | TAKES_SCOPE | TAKES_WIDTH },
	{ "touch", control_answer_touch, TAKES_QUESTION },
	{ "grants", control_ledger_grants, 0 },
	{ "copy", control_ledger_copy, TAKES_AFTER },
	{ "live", control_ledger_live, 0 },
	{ "totals", control_ledger_totals, 0 },
	{ "revoke", control_ledger_revoke, TAKES_GRANT },
	{ "undo", control_ledger_undo, 0 },
	{ "cut", control_ledger_cut, TAKES_LIVE },
};

static const struct {
	const char *name;
	size_t offset;
	bool is_number;
	unsigned int kind;
} request_members[] = {
	{ "question", offsetof(struct control_request, question), false, TAKES_QUESTION },
	{ "scope", offsetof(struct control_request, scope), false, TAKES_SCOPE },
	{ "words", offsetof(struct control_request, words), false, TAKES_WORDS },
	{ "confirm", offsetof(struct control_request, confirm), false, TAKES_CONFIRM },
	{ "text", offsetof(struct control_request, text), false, TAKES_TEXT },
	{ "action", offsetof(struct control_request, action), false, TAKES_ACTION },
	{ "host", offsetof(struct control_request, host), false, TAKES_WIDTH },
	{ "ports", offsetof(struct control_request, ports), false, TAKES_WIDTH },
	{ "program", offsetof(struct control_request, program), false, TAKES_WIDTH },
	{ "for", offsetof(struct control_request, duration), false, TAKES_WIDTH },
	{ "upload", offsetof(struct control_request, upload), true, TAKES_WIDTH },
	{ "download", offsetof(struct control_request, download), true, TAKES_WIDTH },
	{ "connections", offsetof(struct control_request, connections), true, TAKES_WIDTH },
	{ "grant", offsetof(struct control_request, grant), true, TAKES_GRANT },
	{ "live", offsetof(struct control_request, live), true, TAKES_LIVE },
	{ "after", offsetof(struct control_request, after), true, TAKES_AFTER },
};

static void request_dispatch(const struct control_request *request, unsigned int given)
{
	for (size_t i = 0; i < ARRAY_SIZE(request_ops); i++) {
		if (strcmp(request_ops[i].name, request->op) != 0)
			continue;
		if (given & ~request_ops[i].takes)
			return control_request_refuse(
				request, "malformed",
				"this \"op\" does not have all of these members");
		return request_ops[i].serve(request);
	}
	control_request_refuse(
		request, "unknown_op",
		"\"op\" is list, watch, allow, deny, abort, preview, touch, grants, copy, "
		"live, revoke, undo or cut");
}

/* Returns the error, or NULL. */
static const char *request_take(struct control_request *request, const char *name,
				const json_t *value, unsigned int *given)
{
	for (size_t i = 0; i < ARRAY_SIZE(request_members); i++) {
		void *place = (char *)request + request_members[i].offset;

		if (strcmp(request_members[i].name, name) != 0)
			continue;
		*given |= request_members[i].kind;
		if (!request_members[i].is_number) {
			*(const char **)place = json_string_value(value);
			return json_is_string(value) ? NULL
						     : "a member that must be a string is not";
		}
		*(json_int_t *)place = json_integer_value(value);
		return json_is_integer(value) && json_integer_value(value) >= 0
			       ? NULL
			       : "a member that must be a whole number is not";
	}
	return "a member is unknown";
}

/* An unknown member might narrow the request, so it is refused, not ignored. NULL: all are
 * known. */
static const char *request_read(json_t *object, struct control_request *request,
				unsigned int *ret_given)
{
	const json_t *id = json_object_get(object, "id"), *op = json_object_get(object, "op");
	const char *key;
	json_t *value;

	if (!json_is_integer(id) || json_integer_value(id) < 0)
		return "\"id\" is missing, or not a whole number of 0 or more";
	request->id = json_integer_value(id);
	if (!json_is_string(op))
		return "\"op\" is missing, or it is not a string";
	request->op = json_string_value(op);
	json_object_foreach(object, key, value)
	{
		const char *wrong = strcmp(key, "id") == 0 || strcmp(key, "op") == 0
					    ? NULL
					    : request_take(request, key, value, ret_given);

		if (wrong)
			return wrong;
	}
	return NULL;
}

int control_request_serve(struct control_client *client, const char *line, size_t len)
{
	struct control_request request = { .client = client,
					   .id = -1,
					   .upload = -1,
					   .download = -1,
					   .connections = -1,
					   .grant = -1,
					   .live = -1,
					   .after = -1 };
	unsigned int given = 0;
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *wrong;

	if (!object)
		return -EBADMSG;
	wrong = json_is_object(object) ? request_read(object, &request, &given)
				       : "a request must be a JSON object";
	if (wrong)
		control_request_refuse(&request, "malformed", wrong);
	else
		request_dispatch(&request, given);
	json_decref(object);
	return 0;
}
