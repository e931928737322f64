#include "gateway/approvers/control.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/person.h"

struct request {
	struct control_client *client;
	json_int_t id;
	const char *op, *question, *scope; /* NULL: not given */
};

json_t *control_request_text(const char *text, size_t max_bytes)
{
	size_t len = strnlen(text, max_bytes);
	json_t *value = json_stringn(text, len);

	if (value)
		return value;

	auto_free char *cut = mem_strndup(text, len);
	auto_free char *shown = text_visible_dup(cut);
	return json_string(shown);
}

static json_t *request_commands(const struct approver_question *question)
{
	json_t *commands = json_array();

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && i < question->command_count; i++) {
		if (question->commands[i])
			(void)json_array_append_new(
				commands, /* only out of memory */
				control_request_text(question->commands[i], CONTROL_COMMAND_MAX));
	}
	return commands;
}

json_t *control_request_question(const struct approver *server,
				 const struct approver_question *question)
{
	const struct policy_destination *dst = &question->dst;

	return json_pack(
		"{s:s, s:s, s:o, s:i, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:b, s:o, s:s}", "id",
		question->id, "protocol", policy_protocol_name(dst->protocol), "host",
		control_request_text(dst->host, sizeof(dst->host)), "port", (int)dst->port,
		"waiting", (json_int_t)question->waiting, "commands", request_commands(question),
		"command_count", (json_int_t)question->command_count, "age_s",
		(json_int_t)(question->age_ms / 1000), "left_s",
		(json_int_t)((question->left_ms + 999) / 1000), "rule",
		control_request_text(question->rule ? question->rule : "", POLICY_TEXT_MAX),
		"because",
		control_request_text(question->because ? question->because : "", POLICY_TEXT_MAX),
		"private", question->is_private ? 1 : 0, "session",
		control_request_text(server->session, POLICY_TEXT_MAX), "run", server->run);
}

struct question_list {
	const struct approver *server;
	json_t *questions;
};

static void request_collect(const struct approver_question *question, void *arg)
{
	struct question_list *list = arg;

	/* NULL is refused by jansson; the list is then one short, and the gateway still denies at
	 * the deadline. */
	(void)json_array_append_new(list->questions,
				    control_request_question(list->server, question));
}

static void request_send(struct control_client *client, json_t *message)
{
	control_client_send(client, message);
	json_decref(message);
}

static void request_refuse(struct request *request, const char *code, const char *text)
{
	json_t *id = request->id < 0 ? json_null() : json_integer(request->id);

	request_send(request->client,
		     json_pack("{s:o, s:b, s:o, s:s}", "id", id, "ok", 0, "error",
			       control_request_text(text, ERR_MAX_BYTES), "code", code));
}

static void request_list(struct request *request)
{
	struct approver *server = request->client->server;
	struct question_list list = { .server = server, .questions = json_array() };

	gateway_each_question(server->gw, request_collect, &list);
	request_send(request->client, json_pack("{s:I, s:b, s:o}", "id", request->id, "ok", 1,
						"questions", list.questions));
}

/* The reply holds the questions open now; every later change arrives as an event. */
static void request_watch(struct request *request)
{
	request_list(request);
	if (!request->client->is_closed && !request->client->is_watcher)
		control_client_watch(request->client);
}

static void request_settle(struct request *request, struct approver_answer *answer)
{
	char by[PERSON_TEXT_MAX];
	struct err why = { 0 };
	int r;

	answer->by = person_text(request->client->peer.uid, "approve", by);
	r = gateway_answer(request->client->server->gw, request->question, answer, &why);
	if (r == 0)
		return request_send(request->client,
				    json_pack("{s:I, s:b}", "id", request->id, "ok", 1));
	if (r == -ENOENT)
		return request_refuse(request, "finished", "that question is not open (any more)");
	if (r == -EINVAL)
		return request_refuse(request, "refused",
				      why.text[0] ? why.text : "that answer cannot be given");
	request_refuse(request, "failed", why.text[0] ? why.text : strerror(-r));
}

static bool request_scope(const char *name, enum gateway_scope *ret_scope)
{
	static const char *const names[] = {
		[GATEWAY_ONCE] = "once",
		[GATEWAY_EXEC] = "exec",
		[GATEWAY_SESSION] = "session",
		[GATEWAY_ALWAYS] = "always",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret_scope = (enum gateway_scope)i;
		return true;
	}
	return false;
}

static void request_answer(struct request *request)
{
	bool is_abort = strcmp(request->op, "abort") == 0;
	struct approver_answer answer = { .action = POLICY_DENY, .scope = GATEWAY_ONCE };

	if (strcmp(request->op, "allow") == 0)
		answer.action = POLICY_ALLOW;
	answer.is_abort = is_abort;
	if (!request->question)
		return request_refuse(request, "malformed", "\"question\" is missing");
	if (is_abort && request->scope)
		return request_refuse(request, "malformed", "abort has no scope");
	if (request->scope && !request_scope(request->scope, &answer.scope))
		return request_refuse(request, "malformed",
				      "\"scope\" is once, exec, session or always");
	request_settle(request, &answer);
}

static const struct {
	const char *name;
	void (*serve)(struct request *request);
	bool takes_question;
} request_ops[] = {
	{ "list", request_list, false },   { "watch", request_watch, false },
	{ "allow", request_answer, true }, { "deny", request_answer, true },
	{ "abort", request_answer, true },
};

static void request_dispatch(struct request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(request_ops); i++) {
		if (strcmp(request_ops[i].name, request->op) != 0)
			continue;
		if (!request_ops[i].takes_question && (request->question || request->scope))
			return request_refuse(request, "malformed",
					      "that op takes no question and no scope");
		return request_ops[i].serve(request);
	}
	request_refuse(request, "unknown_op", "\"op\" is list, watch, allow, deny or abort");
}

static const char *request_read_id(json_t *object, struct request *request)
{
	json_t *id = json_object_get(object, "id");

	if (!json_is_integer(id) || json_integer_value(id) < 0)
		return "\"id\" is missing, or not a whole number of 0 or more";
	request->id = json_integer_value(id);
	return NULL;
}

/* A member this version does not know might have narrowed the request: it is refused, not ignored.
 * NULL: all known. */
static const char *request_read(json_t *object, struct request *request)
{
	const char *wrong = request_read_id(object, request), *key;
	json_t *value;

	if (wrong)
		return wrong;
	json_object_foreach(object, key, value)
	{
		const char *text = json_string_value(value); /* NULL: not a string */

		if (strcmp(key, "id") == 0)
			continue;
		if (!text)
			return "\"op\", \"question\" and \"scope\" are text, and nothing else is "
			       "known";
		if (strcmp(key, "op") == 0)
			request->op = text;
		else if (strcmp(key, "question") == 0)
			request->question = text;
		else if (strcmp(key, "scope") == 0)
			request->scope = text;
		else
			return "only id, op, question and scope are known";
	}
	return request->op ? NULL : "\"op\" is missing";
}

int control_request_serve(struct control_client *client, const char *line, size_t len)
{
	struct request request = { .client = client, .id = -1 };
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *wrong;

	if (!object)
		return -EBADMSG;
	wrong = json_is_object(object) ? request_read(object, &request) : "a request is an object";
	if (wrong)
		request_refuse(&request, "malformed", wrong);
	else
		request_dispatch(&request);
	json_decref(object);
	return 0;
}
