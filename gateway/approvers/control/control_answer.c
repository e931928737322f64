#include "gateway/approvers/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/wire.h"

/* Sets one of two words; the first is the default. NULL: @said is valid. */
static const char *answer_choice(const char *said, const char *narrow, const char *wide,
				 bool *ret_is_wide, const char *wrong)
{
	*ret_is_wide = said && strcmp(said, wide) == 0;
	return !said || *ret_is_wide || strcmp(said, narrow) == 0 ? NULL : wrong;
}

static const char *answer_amount(json_int_t said, uint64_t *ret)
{
	if (said == 0)
		return "\"upload\", \"download\" and \"connections\" are 1 or more";
	*ret = said > 0 ? (uint64_t)said : 0;
	return NULL;
}

static const char *answer_width(const struct control_request *request, struct approver_width *ret)
{
	const char *wrong = answer_choice(request->host, "this", "domain", &ret->is_domain,
					  "\"host\" is this or domain");
	uint64_t connections = 0;
	int64_t ms = 0;

	if (!wrong)
		wrong = answer_choice(request->ports, "this", "all", &ret->is_every_port,
				      "\"ports\" is this or all");
	if (!wrong)
		wrong = answer_choice(request->program, "any", "this", &ret->is_program,
				      "\"program\" is any or this");
	if (!wrong && request->duration &&
	    (text_to_duration_ms(request->duration, &ms) < 0 || ms < 1000))
		wrong = "\"for\" is a duration, such as 30m";
	if (!wrong)
		wrong = answer_amount(request->upload, &ret->upload_max);
	if (!wrong)
		wrong = answer_amount(request->download, &ret->download_max);
	if (!wrong)
		wrong = answer_amount(request->connections, &connections);
	if (!wrong && connections > UINT16_MAX)
		wrong = "\"connections\" is at most 65535";
	ret->for_s = ms / 1000;
	ret->connections_max = (uint32_t)connections;
	return wrong;
}

static bool answer_scope(const char *name, enum gateway_scope *ret_scope)
{
	static const enum gateway_scope all[] = { GATEWAY_ONCE, GATEWAY_EXEC, GATEWAY_SESSION,
						  GATEWAY_ALWAYS };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strcmp(gateway_scope_name(all[i]), name) != 0)
			continue;
		*ret_scope = all[i];
		return true;
	}
	return false;
}

/* False: the answer was invalid, and refused. */
static bool answer_read(const struct control_request *request, struct approver_answer *ret)
{
	const char *action = request->action ? request->action : request->op;
	const char *wrong = request->question ? NULL : "\"question\" is missing";

	*ret = (struct approver_answer){
		.action = strcmp(action, "allow") == 0 ? POLICY_ALLOW : POLICY_DENY,
		.scope = GATEWAY_ONCE,
		.is_abort = strcmp(action, "abort") == 0,
		.words = request->words,
		.shown = request->text,
		.typed = request->confirm,
	};
	if (!wrong && ret->action == POLICY_DENY && strcmp(action, "deny") != 0 && !ret->is_abort)
		wrong = "\"action\" is allow or deny";
	if (!wrong && request->scope && !answer_scope(request->scope, &ret->scope))
		wrong = "\"scope\" is once, exec, session or always";
	if (!wrong)
		wrong = answer_width(request, &ret->width);
	if (wrong)
		control_request_refuse(request, "malformed", wrong);
	return !wrong;
}

static void answer_failed(const struct control_request *request, int r, const struct err *why)
{
	if (r == -ENOENT)
		return control_request_refuse(request, "finished",
					      "there is no such question, or it has ended");
	control_request_fail(request, r, why->text);
}

static void answer_reply(const struct control_request *request, const char *text)
{
	control_request_ok(request, json_pack("{s:o}", "text", wire_text(text, APPROVER_KEY_MAX)));
}

/* Finds what has to be typed before an allow of @id. */
struct answer_friction {
	const char *id;
	const struct approver_answer *answer;
	char typed[POLICY_HOST_MAX], because[2 * POLICY_TEXT_MAX]; /* "": nothing */
};

static void answer_find(const struct approver_question *question, void *arg)
{
	struct answer_friction *friction = arg;
	const char *because;

	if (strcmp(question->id, friction->id) != 0)
		return;
	because = gateway_typed_because(question, friction->answer);
	memcpy(friction->typed, question->typed, sizeof(friction->typed));
	(void)snprintf(friction->because, sizeof(friction->because), "%s", because ? because : "");
}

/* A client that sends `confirm` acts for a person. False: refused. */
static bool answer_is_confirmed(const struct control_request *request,
				const struct approver_answer *answer)
{
	struct answer_friction friction = { .id = request->question, .answer = answer };
	char text[POLICY_HOST_MAX + 2 * POLICY_TEXT_MAX + 64];

	if (!request->confirm || !request->question)
		return true;
	gateway_each_question(request->client->server->gw, answer_find, &friction);
	if (friction.because[0] == '\0' || strcmp(request->confirm, friction.typed) == 0)
		return true;
	(void)snprintf(text, sizeof(text), "%s: to allow it, type %s as well", friction.because,
		       friction.typed);
	control_request_refuse(request, "confirm", text);
	return false;
}

/* An answer to a question that is not about a destination. */
static void answer_agent(const struct control_request *request,
			 const struct approver_answer *answer)
{
	struct err why = { 0 };
	int r = gateway_answer_agent(request->client->server->gw, request->question, answer,
				     "approve", &why);

	if (r == -EACCES)
		return control_request_refuse(request, "confirm", why.text);
	if (r < 0)
		return answer_failed(request, r, &why);
	control_request_ok(request, NULL);
}

void control_answer_serve(const struct control_request *request)
{
	struct gateway *gw = request->client->server->gw;
	struct approver_answer answer;
	char by[PERSON_TEXT_MAX], text[APPROVER_KEY_MAX];
	struct err why = { 0 };

	if (!answer_read(request, &answer))
		return;
	answer.by = person_text(request->client->peer.uid, "approve", by);
	if (gateway_has_agent_question(gw, request->question))
		return answer_agent(request, &answer);
	if (!answer_is_confirmed(request, &answer))
		return;
	int r = gateway_answer_text(gw, request->question, &answer, text, &why);

	if (r == 0 || r == -ENOENT) /* late answers are recorded too */
		r = gateway_answer(gw, request->question, &answer, &why);
	if (r == -EINPROGRESS)
		return control_request_wait(request);
	if (r < 0)
		return answer_failed(request, r, &why);
	if (answer.is_abort)
		return control_request_ok(request, NULL);
	answer_reply(request, text);
}

/* Settles nothing. */
void control_answer_preview(const struct control_request *request)
{
	struct control_request asked = *request;
	struct approver_answer answer;
	char text[APPROVER_KEY_MAX];
	struct err why = { 0 };

	if (!asked.action)
		asked.action = "allow";
	if (strcmp(asked.action, "abort") == 0)
		return control_request_refuse(request, "malformed", "\"action\" is allow or deny");
	if (!answer_read(&asked, &answer))
		return;
	int r = gateway_answer_text(request->client->server->gw, request->question, &answer, text,
				    &why);

	if (r < 0)
		return answer_failed(request, r, &why);
	answer_reply(request, text);
}

void control_answer_touch(const struct control_request *request)
{
	if (!request->question)
		return control_request_refuse(request, "malformed", "\"question\" is missing");
	int r = gateway_touch(request->client->server->gw, request->question);

	if (r < 0)
		return answer_failed(request, r, &(struct err){ 0 });
	control_request_ok(request, NULL);
}
