#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/web/web.h"

/* The address was opened: the page gets a cookie and a key in place of the capability in the
 * address. No script can read the cookie, no other origin can read the key, and both are needed. */
static void api_enter(struct web_client *client, const json_t *object)
{
	const struct approver *server = client->server;
	const json_t *given = json_object_get(object, "capability");
	char cookie[256];

	if (json_object_size(object) != 1 || !json_is_string(given) ||
	    !web_guard_is_capability(server, json_string_value(given), json_string_length(given)))
		return web_client_refuse(client, 401, "capability",
					 "this is not the address of this run; open the address "
					 "that was printed when the run began");
	(void)snprintf(cookie, sizeof(cookie),
		       "Set-Cookie: %s=%s; Path=/api/; HttpOnly; SameSite=Strict\r\n",
		       server->cookie_name, server->cookie); /* fits */
	json_t *reply = json_pack("{s:s}", "key", server->key);

	web_client_reply_json(client, 200, cookie, reply);
	json_decref(reply);
}

static void api_events(struct web_client *client)
{
	if (client->server->stream_count >= WEB_STREAMS_MAX)
		web_client_refuse(client, 503, "overloaded", "too many pages are open");
	else
		web_client_stream(client);
}

static const struct api_step {
	const char *path;
	void (*serve)(struct web_client *client, const json_t *object);
} api_steps[] = {
	{ "/api/enter", api_enter },
	{ "/api/text", web_answer_text },
	{ "/api/answer", web_answer_give },
	{ "/api/revoke", web_ledger_revoke },
	{ "/api/undo", web_ledger_undo },
	{ "/api/cut", web_ledger_cut },
	{ "/api/propose", web_ledger_propose },
	{ "/api/touch", web_answer_touch },
	{ "/api/once/look", web_once_look },
	{ "/api/once/answer", web_once_answer },
};

static void api_post(struct web_client *client, const struct api_step *step,
		     const struct web_head *head, const char *body)
{
	json_t *object = json_loadb(body, head->body_len, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(object))
		step->serve(client, object);
	else
		web_client_refuse(client, 400, "malformed", "the body is not a JSON object");
	json_decref(object);
}

static void api_refuse_method(struct web_client *client, const char *allowed)
{
	web_client_reply(client, 405, "text/plain", allowed, "", 0);
}

static void api_file(struct web_client *client, const struct web_head *head)
{
	const char *type = NULL;
	size_t len = 0;
	const char *text = web_files_find(&head->path, &type, &len);

	if (!text)
		web_client_refuse(client, 404, "unknown", "this address has no page");
	else if (head->method != WEB_GET)
		api_refuse_method(client, "Allow: GET\r\n");
	else
		web_client_reply(client, 200, type, "", text, len);
}

void web_api_serve(struct web_client *client, const struct web_head *head, const char *body)
{
	bool is_events = web_head_is(&head->path, "/api/events");
	const struct api_step *step = NULL;
	const char *why = "";
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(api_steps); i++) {
		if (web_head_is(&head->path, api_steps[i].path))
			step = &api_steps[i];
	}
	status = web_guard_check(client->server, head, step && step->serve == api_enter, &why);
	if (status != 0)
		web_client_refuse(client, status, "refused", why);
	else if (is_events && head->method == WEB_GET)
		api_events(client);
	else if (is_events)
		api_refuse_method(client, "Allow: GET\r\n");
	else if (step && head->method == WEB_POST)
		api_post(client, step, head, body);
	else if (step)
		api_refuse_method(client, "Allow: POST\r\n");
	else
		api_file(client, head);
}
