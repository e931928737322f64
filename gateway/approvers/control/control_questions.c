/* Sends the open questions, at most as many at once as a client reads. */
#include "gateway/approvers/control/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/wire.h"

struct question_page {
	struct control_client *client;
	json_t *questions;
	size_t bytes;
	uint64_t last; /* serial */
};

static size_t question_size(const json_t *question)
{
	auto_free char *text =
		question ? json_dumps(question, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	return text ? strlen(text) : 0;
}

static bool question_collect(const struct approver_question *question, void *arg)
{
	struct question_page *page = arg;
	json_t *shown = control_request_question(page->client->server, question);

	page->bytes += question_size(shown);
	page->last = question->serial;
	/* jansson refuses NULL; then the list lacks one question, which is still denied at its
	 * deadline. */
	(void)json_array_append_new(page->questions, shown);
	return page->bytes < CONTROL_AHEAD_BYTES;
}

/* NULL: out of memory. */
static json_t *question_of_agent(const struct approver *server,
				 const struct approver_agent_question *question)
{
	json_t *shown = wire_agent(question);

	if (!shown ||
	    json_object_update_new(shown,
				   json_pack("{s:I, s:I, s:o, s:s}", "age_s",
					     (json_int_t)(question->age_ms / 1000), "left_s",
					     (json_int_t)((question->left_ms + 999) / 1000),
					     "session", wire_text(server->session, POLICY_TEXT_MAX),
					     "run", server->run)) == 0)
		return shown;
	json_decref(shown);
	return NULL;
}

static void question_collect_agent(const struct approver_agent_question *question, void *arg)
{
	struct question_page *page = arg;

	/* jansson refuses NULL; then the list lacks one question, which is still denied at its
	 * deadline. */
	(void)json_array_append_new(page->questions,
				    question_of_agent(page->client->server, question));
}

void control_questions_agent_asked(struct control_client *client,
				   const struct approver_agent_question *question)
{
	json_t *message = json_pack("{s:s, s:o}", "event", "agent_asked", "question",
				    question_of_agent(client->server, question));

	control_client_send(client, message);
	json_decref(message);
}

/* They are few: all of them are in the first page. */
static void questions_add_agent(struct control_client *client, json_t *reply)
{
	struct question_page page = { .client = client, .questions = json_array() };

	gateway_each_agent_question(client->server->gw, question_collect_agent, &page);
	(void)json_object_set_new(reply, "agent_questions", page.questions); /* OOM only */
}

/* Returns the number of questions that follow. */
static size_t questions_reply(const struct control_request *request, uint64_t after,
			      uint64_t *ret_last)
{
	struct control_client *client = request->client;
	struct question_page page = { .client = client, .questions = json_array(), .last = after };
	size_t left = gateway_questions_after(client->server->gw, after, question_collect, &page);
	json_t *reply = json_pack("{s:o}", "questions", page.questions);

	if (left > 0) {
		json_t *rest = json_pack("{s:I, s:I}", "more", (json_int_t)left, "after",
					 (json_int_t)page.last);

		(void)json_object_update(reply, rest); /* OOM only */
		json_decref(rest);
	}
	if (after == 0)
		questions_add_agent(client, reply);
	*ret_last = page.last;
	control_request_ok(request, reply);
	return left;
}

void control_questions_list(const struct control_request *request)
{
	uint64_t last;

	(void)questions_reply(request, request->after > 0 ? (uint64_t)request->after : 0, &last);
}

/* The reply holds the questions that are open now; further ones and every change follow as
 * events. */
void control_questions_watch(const struct control_request *request)
{
	struct control_client *client = request->client;

	client->is_behind = questions_reply(request, 0, &client->told) > 0;
	if (client->is_behind && !client->is_closed)
		event_add(client->write_event, NULL);
	if (!client->is_closed && !client->is_watcher)
		control_client_watch(client);
}

static void questions_send(struct control_client *client, const char *event,
			   const struct approver_question *question)
{
	json_t *message = json_pack("{s:s, s:o}", "event", event, "question",
				    control_request_question(client->server, question));

	control_client_send(client, message);
	json_decref(message);
}

void control_questions_asked(struct control_client *client,
			     const struct approver_question *question)
{
	if (control_client_is_full(client))
		client->is_behind = true;
	if (client->is_behind)
		return;
	client->told = question->serial;
	questions_send(client, "asked", question);
}

void control_questions_changed(struct control_client *client,
			       const struct approver_question *question)
{
	if (question->serial > client->told)
		return; /* its current state is sent then */
	if (!client->is_behind && !control_client_is_full(client))
		return questions_send(client, "changed", question);
	if (!client->is_stale || question->serial <= client->again)
		client->again = question->serial > 0 ? question->serial - 1 : 0;
	client->is_stale = true;
	client->is_behind = true;
}

static bool questions_tell_new(const struct approver_question *question, void *arg)
{
	struct control_client *client = arg;

	client->told = question->serial;
	questions_send(client, "asked", question);
	return !client->is_closed && !control_client_is_full(client);
}

static bool questions_tell_again(const struct approver_question *question, void *arg)
{
	struct control_client *client = arg;

	if (question->serial > client->told)
		return false;
	client->again = question->serial;
	questions_send(client, "changed", question);
	return !client->is_closed && !control_client_is_full(client);
}

/* New questions come first, because changes of known ones may never end. */
void control_questions_catch_up(struct control_client *client)
{
	struct gateway *gw = client->server->gw;

	if (gateway_questions_after(gw, client->told, questions_tell_new, client) > 0 ||
	    client->is_closed)
		return;
	if (client->is_stale &&
	    gateway_questions_after(gw, client->again, questions_tell_again, client) > 0)
		return;
	client->is_behind = client->is_stale = false;
}
