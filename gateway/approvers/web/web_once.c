/* Answers by a link for one question, as a webhook sends it. Such an answer can deny the question,
 * or allow once the requests that wait; nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/remote/answer_link.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/approvers/web/web.h"
#include "gateway/approvers/wire.h"

static bool once_was_used(struct approver *self, const char *id, int64_t now_s)
{
	for (size_t i = 0; i < self->used_count;) {
		if (strcmp(self->used[i].id, id) == 0)
			return true;
		if (self->used[i].until_s > now_s)
			i++;
		else
			self->used[i] = self->used[--self->used_count]; /* expired */
	}
	/* The list is full: it cannot be known whether this link was used, so it counts as used. */
	return self->used_count == WEB_USED_MAX;
}

static void once_use(struct approver *self, const char *id, int64_t until_s)
{
	struct answer_link_used *used = &self->used[self->used_count++];

	(void)snprintf(used->id, sizeof(used->id), "%s", id);
	used->until_s = until_s;
}

/* Finds the question of the request's link. False: the request was refused. */
static bool once_admit(struct page_client *client, const json_t *object, char id[APPROVER_ID_MAX],
		       int64_t *ret_until_s)
{
	struct approver *self = web_of(client);
	const json_t *given = json_object_get(object, "link");
	const char *link = json_string_value(given);
	int64_t now_s = loop_wall_us(self->loop) / 1000000;
	int r = link && strlen(link) == json_string_length(given)
			? answer_link_read(self->link_key, link, now_s, id, ret_until_s)
			: -EBADMSG;

	if (r == -ETIME)
		web_client_refuse(client, 410, "over", "the time to answer this question is over");
	else if (r < 0)
		web_client_refuse(client, 401, "link", "this link belongs to another run");
	else if (once_was_used(self, id, now_s))
		web_client_refuse(client, 410, "used",
				  "this link was already used; it works only once");
	else
		return true;
	return false;
}

struct once_search {
	const char *id;
	json_t *question;
};

static void once_look(const struct approver_question *question, void *arg)
{
	struct once_search *search = arg;

	if (strcmp(question->id, search->id) == 0)
		search->question = web_state_question(question);
}

static void once_look_agent(const struct approver_agent_question *question, void *arg)
{
	struct once_search *search = arg;

	if (strcmp(question->id, search->id) == 0)
		search->question = web_state_agent(question);
}

/* Takes @reply. */
static void once_reply(struct page_client *client, json_t *reply)
{
	page_reply_json(client, 200, "", reply);
	json_decref(reply);
}

void web_once_look(struct page_client *client, const json_t *object)
{
	const struct approver_answer allow = { .action = POLICY_ALLOW, .scope = GATEWAY_ONCE };
	char id[APPROVER_ID_MAX], text[APPROVER_KEY_MAX];
	struct once_search search = { .id = id };
	struct err why = { 0 };
	int64_t until_s;

	if (json_object_size(object) != 1)
		return web_client_refuse(client, 400, "malformed",
					 "the request must contain only the link");
	if (!once_admit(client, object, id, &until_s))
		return;
	gateway_each_agent_question(web_of(client)->gw, once_look_agent, &search);
	if (search.question)
		return once_reply(client, json_pack("{s:o}", "agent", search.question));
	gateway_each_question(web_of(client)->gw, once_look, &search);
	if (!search.question ||
	    gateway_answer_text(web_of(client)->gw, id, &allow, text, &why) < 0) {
		json_decref(search.question);
		return web_client_refuse(client, 410, "finished",
					 "this question is no longer open");
	}
	once_reply(client, json_pack("{s:o, s:o}", "question", search.question, "text",
				     wire_text(text, sizeof(text))));
}

void web_once_answer(struct page_client *client, const json_t *object)
{
	static const char *const members[] = { "action", "typed", "text", "words" };
	char id[APPROVER_ID_MAX];
	size_t known = 1;
	int64_t until_s;

	if (!once_admit(client, object, id, &until_s))
		return;
	json_t *answer = json_pack("{s:s}", "question", id);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *value = json_object_get(object, members[i]);

		if (!value)
			continue;
		known++;
		(void)json_object_set(answer, members[i], value); /* without it, refused */
	}
	if (json_object_size(object) != known)
		web_client_refuse(client, 400, "malformed",
				  "a link can only answer its own question, and only once");
	else if (web_answer_take(client, answer, "an answer link"))
		once_use(web_of(client), id, until_s);
	json_decref(answer);
}
