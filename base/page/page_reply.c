#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/page/page.h"

static const char *status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} known[] = {
		{ 200, "OK" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 410, "Gone" },
		{ 415, "Unsupported Media Type" },
		{ 421, "Misdirected Request" },
		{ 431, "Request Header Fields Too Large" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].status == status)
			return known[i].text;
	}
	return "Internal Server Error";
}

/* No header field permits access from another origin, and the browser stores no part of the
 * page. */
int page_reply_head(struct page_client *client, int status, const char *type, const char *fields)
{
	return evbuffer_add_printf(
		client->served.out,
		"HTTP/1.1 %d %s\r\n"
		"Content-Type: %s\r\n"
		"Connection: close\r\n"
		"Cache-Control: no-store\r\n"
		"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
		"require-trusted-types-for 'script'\r\n"
		"Cross-Origin-Opener-Policy: same-origin\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\n"
		"Referrer-Policy: no-referrer\r\n"
		"X-Content-Type-Options: nosniff\r\n"
		"X-Frame-Options: DENY\r\n"
		"%s",
		status, status_text(status), type, fields);
}

void page_reply(struct page_client *client, int status, const char *type, const char *fields,
		const void *body, size_t len)
{
	if (client->served.state != SERVED_READING)
		return;
	if (page_reply_head(client, status, type, fields) < 0 ||
	    evbuffer_add_printf(client->served.out, "Content-Length: %zu\r\n\r\n", len) < 0 ||
	    evbuffer_add(client->served.out, body, len) < 0)
		return served_close(&client->served);
	served_reply(&client->served);
}

void page_reply_json(struct page_client *client, int status, const char *fields,
		     const json_t *value)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (!text)
		return served_close(&client->served);
	page_reply(client, status, "application/json", fields, text, strlen(text));
}

void page_reply_error(struct page_client *client, int status, const char *code, json_t *text)
{
	json_t *value = json_pack("{s:s, s:o}", "code", code, "error", text);

	page_reply_json(client, status, "", value);
	json_decref(value);
}
