/* Revokes grants, ends connections and asks again from the page. Every operation only restricts the
 * command, except forgetting a denial, after which the next request asks again. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/web/web.h"
#include "gateway/approvers/wire.h"
#include "gateway/gateway_agent.h"

/* Reads the id that is the only member of @object; 0: invalid. */
static uint64_t ledger_read_id(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_object_size(object) == 1 && json_is_integer(value) &&
			       json_integer_value(value) > 0
		       ? (uint64_t)json_integer_value(value)
		       : 0;
}

static void ledger_malformed(struct page_client *client)
{
	web_client_refuse(client, 400, "malformed", "this version does not support this request");
}

static void ledger_changed(struct page_client *client)
{
	web_stale(web_of(client), WEB_GRANTS);
	web_stale(web_of(client), WEB_LIVE);
}

static void ledger_refuse(struct page_client *client, int r, const struct err *why)
{
	if (r == -EINPROGRESS)
		web_client_wait(client);
	else if (r == -ENOENT)
		web_client_refuse(client, 409, "finished", "that has already ended");
	else if (r == -ESTALE)
		web_client_refuse(client, 409, "changed", why->text);
	else
		web_client_refuse(client, 500, "failed", why->text[0] ? why->text : strerror(-r));
}

/* @text: what was revoked, or "". */
static void ledger_reply(struct page_client *client, const char *text,
			 const struct approver_revoked *revoked)
{
	json_t *reply =
		json_pack("{s:o, s:I, s:I, s:I}", "text", wire_text(text, APPROVER_KEY_MAX), "cut",
			  (json_int_t)revoked->cut, "up", (json_int_t)revoked->bytes_up, "down",
			  (json_int_t)revoked->bytes_down);

	page_reply_json(client, 200, "", reply);
	json_decref(reply);
}

void web_ledger_revoke(struct page_client *client, const json_t *object)
{
	uint64_t grant = ledger_read_id(object, "grant");
	struct approver_revoked revoked = { 0 };
	char by[PERSON_TEXT_MAX];
	struct err why = { 0 };

	if (grant == 0)
		return ledger_malformed(client);
	int r = gateway_revoke(web_of(client)->gw, grant, person_text(geteuid(), "web", by),
			       &revoked, &why);
	ledger_changed(client);
	if (r < 0)
		return ledger_refuse(client, r, &why);
	ledger_reply(client, "", &revoked);
}

void web_ledger_undo(struct page_client *client, const json_t *object)
{
	uint64_t answer = ledger_read_id(object, "answer");
	struct approver_revoked revoked = { 0 };
	char by[PERSON_TEXT_MAX], text[APPROVER_KEY_MAX] = "";
	struct err why = { 0 };

	if (answer == 0)
		return ledger_malformed(client);
	int r = gateway_undo(web_of(client)->gw, answer, person_text(geteuid(), "web", by), text,
			     &revoked, &why);
	ledger_changed(client);
	if (r == -ENOENT)
		return web_client_refuse(client, 409, "finished", "no answer is remembered");
	if (r < 0)
		return ledger_refuse(client, r, &why);
	ledger_reply(client, text, &revoked);
}

void web_ledger_cut(struct page_client *client, const json_t *object)
{
	uint64_t live = ledger_read_id(object, "live");
	char by[PERSON_TEXT_MAX];
	struct err why = { 0 };

	if (live == 0)
		return ledger_malformed(client);
	int r = gateway_cut(web_of(client)->gw, live, person_text(geteuid(), "web", by), &why);

	ledger_changed(client);
	if (r < 0)
		return ledger_refuse(client, r, &why);
	ledger_reply(client, "", &(struct approver_revoked){ .cut = 1 });
}

static void ledger_proposed(const struct policy_verdict *verdict, void *arg)
{
	struct approver *server = arg;

	server->proposals--; /* the verdict was recorded, and the page shows records */
}

/* Nothing is granted here: policy decides as for a connection, and where it asks, the question is
 * answered as every other one. */
void web_ledger_propose(struct page_client *client, const json_t *object)
{
	struct approver *server = web_of(client);
	const char *to = json_string_value(json_object_get(object, "to"));
	const json_t *exec = json_object_get(object, "exec");
	struct err why = { 0 };

	if (json_object_size(object) != 2 || !to || !json_is_integer(exec) ||
	    json_integer_value(exec) < 0)
		return ledger_malformed(client);
	if (server->proposals == WEB_PROPOSALS_MAX)
		return web_client_refuse(client, 409, "overloaded",
					 "too many questions of this page are open; answer one");
	if (!gateway_propose(server->gw, (uint64_t)json_integer_value(exec), to,
			     "a person wants to answer it again, on the page", ledger_proposed,
			     server, &why))
		return web_client_refuse(client, 409, "refused", why.text);
	server->proposals++;
	json_t *reply = json_object();

	page_reply_json(client, 200, "", reply);
	json_decref(reply);
}
