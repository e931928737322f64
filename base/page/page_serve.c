/* Serves one whole request: a file, the stream, or a step with one object. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/page/page.h"
#include "base/text.h"

static void refuse(struct page_client *client, int status, const char *code, const char *text)
{
	page_reply_error(client, status, code, json_string(text));
}

/* The address was opened: the page gets a cookie and a key in place of the capability in the
 * address. No script can read the cookie, no other origin can read the key, and both are needed. */
static void serve_enter(struct page_client *client, const json_t *object)
{
	const struct page *page = client->page;
	const json_t *given = json_object_get(object, "capability");
	char cookie[256];

	if (json_object_size(object) != 1 || !json_is_string(given) ||
	    !text_is_secret(page->capability, json_string_value(given), json_string_length(given)))
		return refuse(client, 401, "capability",
			      "this is not the address of this page; open the address that was "
			      "printed when it began");
	(void)snprintf(cookie, sizeof(cookie),
		       "Set-Cookie: %s=%s; Path=/api/; HttpOnly; SameSite=Strict\r\n",
		       page->cookie_name, page->cookie); /* fits */
	json_t *reply = json_pack("{s:s}", "key", page->key);

	page_reply_json(client, 200, cookie, reply);
	json_decref(reply);
}

static const struct page_step enter = { "/api/enter", serve_enter };

static void serve_step(struct page_client *client, const struct page_step *step,
		       const struct page_head *head, const char *body)
{
	json_t *object = json_loadb(body, head->body_len, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(object))
		step->serve(client, object);
	else
		refuse(client, 400, "malformed", "the body is not a JSON object");
	json_decref(object);
}

static void refuse_method(struct page_client *client, const char *allowed)
{
	page_reply(client, 405, "text/plain", allowed, "", 0);
}

static void serve_file(struct page_client *client, const struct page_head *head)
{
	const struct page_config *config = client->page->config;
	const struct page_file *file = NULL;

	for (size_t i = 0; i < config->file_count && !file; i++) {
		if (page_head_is(&head->path, config->files[i].path))
			file = &config->files[i];
	}
	if (!file)
		refuse(client, 404, "unknown", "this address has no page");
	else if (head->method != PAGE_GET)
		refuse_method(client, "Allow: GET\r\n");
	else
		page_reply(client, 200, file->type, "", file->bytes, file->len);
}

static const struct page_step *find_step(const struct page_config *config,
					 const struct page_head *head)
{
	if (page_head_is(&head->path, enter.path))
		return &enter;
	for (size_t i = 0; i < config->step_count; i++) {
		if (page_head_is(&head->path, config->steps[i].path))
			return &config->steps[i];
	}
	return NULL;
}

static void serve(struct page_client *client, const struct page_head *head, const char *body)
{
	const struct page_config *config = client->page->config;
	const struct page_step *step = find_step(config, head);
	bool is_stream = config->stream && page_head_is(&head->path, "/api/events");
	const char *why = "";
	int status = page_guard_check(client->page, head, step == &enter, &why);

	if (status != 0)
		refuse(client, status, "refused", why);
	else if (is_stream && head->method == PAGE_GET)
		config->stream(client);
	else if (is_stream)
		refuse_method(client, "Allow: GET\r\n");
	else if (step && head->method == PAGE_POST)
		serve_step(client, step, head, body);
	else if (step)
		refuse_method(client, "Allow: POST\r\n");
	else
		serve_file(client, head);
}

static void refuse_head(struct page_client *client, int r)
{
	if (r == -E2BIG)
		refuse(client, 431, "malformed", "the request's head is too large");
	else if (r == -EMSGSIZE)
		refuse(client, 413, "malformed", "the request's body is too large");
	else if (r == -EPROTONOSUPPORT)
		refuse(client, 505, "malformed", "this server supports only HTTP/1.1");
	else
		refuse(client, 400, "malformed", "this is not an HTTP request");
}

void page_serve(struct served *served)
{
	struct page_client *client = (struct page_client *)served;
	struct page_head head;
	int r = page_head_parse(client->in, served->in_len, &head);

	if (r == -EAGAIN || (r == 0 && served->in_len < head.len + head.body_len))
		return;
	if (r < 0)
		return refuse_head(client, r);
	serve(client, &head, client->in + head.len);
}
