/* Answers from the page. An answer includes the text that the person confirmed; if the gateway
 * would store another text, the answer is refused. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/web/web.h"
#include "gateway/approvers/wire.h"

#define ANSWER_WORDS_MAX 400
#define ANSWER_DAYS_MAX  3660 /* longest duration */

/* Borrowed from the request. */
struct answer_request {
	const char *question, *typed, *text;
	struct approver_answer answer;
};

static bool answer_read_action(const json_t *value, struct approver_answer *answer)
{
	const char *name = json_string_value(value);

	if (!name)
		return false;
	answer->is_abort = strcmp(name, "abort") == 0;
	answer->action = strcmp(name, "allow") == 0 ? POLICY_ALLOW : POLICY_DENY;
	return answer->action == POLICY_ALLOW || answer->is_abort || strcmp(name, "deny") == 0;
}

static bool answer_read_scope(const json_t *value, struct approver_answer *answer)
{
	static const char *const names[] = {
		[GATEWAY_ONCE] = "once",
		[GATEWAY_EXEC] = "exec",
		[GATEWAY_SESSION] = "session",
		[GATEWAY_ALWAYS] = "always",
	};
	const char *name = json_string_value(value);

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		answer->scope = (enum gateway_scope)i;
		return true;
	}
	return false;
}

static bool answer_read_number(const json_t *value, json_int_t max, json_int_t *ret)
{
	*ret = json_integer_value(value);
	return json_is_integer(value) && *ret >= 1 && *ret <= max;
}

/* An unknown member might narrow the answer, so it is refused, not ignored. */
static bool answer_read_width(json_t *object, struct approver_width *width)
{
	const char *key;
	json_t *value;
	json_int_t number;

	json_object_foreach(object, key, value)
	{
		bool is_true = json_is_true(value);

		if (strcmp(key, "domain") == 0 && json_is_boolean(value))
			width->is_domain = is_true;
		else if (strcmp(key, "every_port") == 0 && json_is_boolean(value))
			width->is_every_port = is_true;
		else if (strcmp(key, "program") == 0 && json_is_boolean(value))
			width->is_program = is_true;
		else if (strcmp(key, "for_s") == 0 &&
			 answer_read_number(value, ANSWER_DAYS_MAX * INT64_C(86400), &number))
			width->for_s = number;
		else if (strcmp(key, "upload") == 0 &&
			 answer_read_number(value, INT64_MAX, &number))
			width->upload_max = (uint64_t)number;
		else if (strcmp(key, "download") == 0 &&
			 answer_read_number(value, INT64_MAX, &number))
			width->download_max = (uint64_t)number;
		else if (strcmp(key, "connections") == 0 &&
			 answer_read_number(value, UINT32_MAX, &number))
			width->connections_max = (uint32_t)number;
		else
			return false;
	}
	return json_is_object(object);
}

static bool answer_read_words(const json_t *value, const char **ret)
{
	*ret = json_string_value(value);
	return *ret && json_string_length(value) <= ANSWER_WORDS_MAX;
}

/* False: some of it is invalid. */
static bool answer_read(const json_t *object, struct answer_request *request)
{
	struct approver_answer *answer = &request->answer;
	bool is_good = true, has_action = false;
	const char *key;
	json_t *value;

	*request = (struct answer_request){ .answer = { .scope = GATEWAY_ONCE } };
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		if (strcmp(key, "question") == 0)
			is_good &= answer_read_words(value, &request->question);
		else if (strcmp(key, "typed") == 0)
			is_good &= answer_read_words(value, &request->typed);
		else if (strcmp(key, "words") == 0)
			is_good &= answer_read_words(value, &answer->words);
		else if (strcmp(key, "text") == 0)
			is_good &= (request->text = json_string_value(value)) != NULL;
		else if (strcmp(key, "action") == 0)
			is_good &= has_action = answer_read_action(value, answer);
		else if (strcmp(key, "scope") == 0)
			is_good &= answer_read_scope(value, answer);
		else if (strcmp(key, "width") == 0)
			is_good &= answer_read_width(value, &answer->width);
		else
			return false;
	}
	return is_good && has_action && request->question;
}

static void answer_refuse(struct page_client *client, int r, const struct err *why)
{
	if (r == -ENOENT)
		web_client_refuse(client, 409, "finished", "this question is no longer open");
	else if (r == -EINVAL)
		web_client_refuse(client, 409, "refused",
				  why->text[0] ? why->text : "this answer is not possible here");
	else if (r == -EACCES)
		web_client_refuse(client, 409, "typed", why->text);
	else if (r == -ESTALE)
		web_client_refuse(client, 409, "changed", why->text);
	else
		web_client_refuse(client, 500, "failed", why->text[0] ? why->text : strerror(-r));
}

static void answer_malformed(struct page_client *client)
{
	web_client_refuse(client, 400, "malformed", "this version does not support this answer");
}

void web_answer_text(struct page_client *client, const json_t *object)
{
	struct answer_request request;
	char text[APPROVER_KEY_MAX];
	struct err why = { 0 };

	if (!answer_read(object, &request) || request.text || request.typed)
		return answer_malformed(client);
	int r = gateway_answer_text(web_of(client)->gw, request.question, &request.answer, text,
				    &why);
	if (r < 0)
		return answer_refuse(client, r, &why);
	json_t *reply = json_pack("{s:o}", "text", wire_text(text, sizeof(text)));

	page_reply_json(client, 200, "", reply);
	json_decref(reply);
}

void web_answer_touch(struct page_client *client, const json_t *object)
{
	const char *id = json_string_value(json_object_get(object, "question"));

	if (!id || json_object_size(object) != 1)
		return answer_malformed(client);
	int r = gateway_touch(web_of(client)->gw, id);

	if (r < 0)
		return answer_refuse(client, r, &(struct err){ 0 });
	json_t *reply = json_object();

	page_reply_json(client, 200, "", reply);
	json_decref(reply);
}

struct answer_search {
	const char *id;
	const struct approver_answer *answer;
	bool is_risky;
	char typed[POLICY_HOST_MAX];
};

static void answer_look(const struct approver_question *question, void *arg)
{
	struct answer_search *search = arg;

	if (strcmp(question->id, search->id) != 0)
		return;
	search->is_risky = gateway_typed_because(question, search->answer) != NULL;
	memcpy(search->typed, question->typed, sizeof(search->typed));
}

/* An allow, and an answer that is remembered, must include the text that was shown; the gateway
 * compares it. */
static bool answer_has_text(const struct answer_request *request)
{
	return request->text || request->answer.is_abort ||
	       (request->answer.action == POLICY_DENY && request->answer.scope == GATEWAY_ONCE);
}

/* The page checks both as well, but only this check is binding. True: the answer may be given. */
static bool answer_is_meant(struct page_client *client, const struct answer_request *request)
{
	struct answer_search search = { .id = request->question, .answer = &request->answer };

	gateway_each_question(web_of(client)->gw, answer_look, &search);
	if (search.is_risky &&
	    (!request->typed ||
	     !text_equal_nocase(request->typed, strlen(request->typed), search.typed))) {
		web_client_refuse(client, 409, "typed", "type the domain to allow this");
		return false;
	}
	if (!answer_has_text(request)) {
		web_client_refuse(client, 409, "changed",
				  "the answer differs from what was shown; look at it again");
		return false;
	}
	return true;
}

/* A question that is not about a destination: its lines never change, so an answer contains no
 * text. The gateway compares what was typed. */
static int answer_give_agent(struct gateway *gw, const struct answer_request *request,
			     struct err *why)
{
	if (request->text)
		return err_set(why, -EINVAL, "an answer to an agent has no text");
	return gateway_answer_agent(gw, request->question, &request->answer, "web", why);
}

bool web_answer_take(struct page_client *client, const json_t *object, const char *by)
{
	struct answer_request request;
	struct err why = { 0 };

	if (!answer_read(object, &request)) {
		answer_malformed(client);
		return false;
	}
	struct gateway *gw = web_of(client)->gw;
	bool is_agent = gateway_has_agent_question(gw, request.question);

	if (!is_agent && !answer_is_meant(client, &request))
		return false;
	request.answer.by = by;
	request.answer.shown = request.text;
	request.answer.typed = request.typed;
	int r = is_agent ? answer_give_agent(gw, &request, &why)
			 : gateway_answer(gw, request.question, &request.answer, &why);

	if (r == -EINPROGRESS) {
		web_client_wait(client);
		return false;
	}
	if (r < 0) {
		answer_refuse(client, r, &why);
		return false;
	}
	json_t *reply = json_object();

	page_reply_json(client, 200, "", reply);
	json_decref(reply);
	return true;
}

void web_answer_give(struct page_client *client, const json_t *object)
{
	char by[PERSON_TEXT_MAX];

	(void)web_answer_take(client, object, person_text(geteuid(), "web", by));
}
