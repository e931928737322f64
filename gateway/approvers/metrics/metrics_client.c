#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/http1/http1.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/metrics/metrics.h"
#include "base/page/served.h"

#define METRICS_PATH "/metrics"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_client {
	struct served served;
	struct approver *server;
	char in[METRICS_HEAD_MAX_BYTES];
	size_t scanned;
};

/* Sends @body, which is emptied. @fields: additional header lines, each with CRLF, or "". */
static void client_reply(struct metrics_client *client, const char *status, const char *fields,
			 struct evbuffer *body)
{
	size_t len = evbuffer_get_length(body);

	if (len > METRICS_ANSWER_MAX ||
	    evbuffer_add_printf(client->served.out,
				"HTTP/1.1 %s\r\nContent-Type: " METRICS_TYPE "\r\n"
				"Content-Length: %zu\r\nConnection: close\r\n"
				"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
				"%s\r\n",
				status, len, fields) < 0 ||
	    evbuffer_add_buffer(client->served.out, body) < 0)
		return served_close(&client->served);
	served_reply(&client->served);
}

static void client_refuse(struct metrics_client *client, const char *status, const char *fields,
			  const char *words)
{
	struct evbuffer *body = evbuffer_new();

	if (body && evbuffer_add_printf(body, "%s\n", words) >= 0)
		client_reply(client, status, fields, body);
	else
		served_close(&client->served);
	if (body)
		evbuffer_free(body);
}

static void client_answer(struct metrics_client *client)
{
	struct evbuffer *body = evbuffer_new();

	if (body && metrics_write(client->server, body) == 0)
		client_reply(client, "200 OK", "", body);
	else
		served_close(&client->served);
	if (body)
		evbuffer_free(body);
}

static bool is_text(const struct http1_span *span, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(span->at, text, len) == 0;
}

/* A page of another origin could reach this port under a name of its own (DNS rebinding), but not
 * under an address. */
static bool is_name_known(const struct metrics_client *client, const struct http1_head *head)
{
	const struct http1_span *name = &head->host_field_name;
	struct addr addr;

	return client->server->is_local || head->host_field.len == 0 ||
	       addr_parse(name->at, name->len, &addr) == 0 ||
	       text_equal_nocase(name->at, name->len, "localhost");
}

static void client_serve(struct metrics_client *client, const struct http1_head *head)
{
	const char *query = head->path.len > 0 ? memchr(head->path.at, '?', head->path.len) : NULL;
	size_t len = query ? (size_t)(query - head->path.at) : head->path.len;

	if (head->form != HTTP1_ORIGIN || head->body == HTTP1_CHUNKED || head->length > 0)
		client_refuse(client, "400 Bad Request", "",
			      "this server takes only requests for " METRICS_PATH);
	else if (!is_name_known(client, head))
		client_refuse(client, "421 Misdirected Request", "",
			      "this server is reached by its address, or as localhost");
	else if (!is_text(&head->path, len, METRICS_PATH))
		client_refuse(client, "404 Not Found", "", "the numbers are at " METRICS_PATH);
	else if (!is_text(&head->method, head->method.len, "GET"))
		client_refuse(client, "405 Method Not Allowed", "Allow: GET\r\n",
			      "the numbers can only be read, with GET");
	else
		client_answer(client);
}

static void client_take_request(struct served *served)
{
	struct metrics_client *client = (struct metrics_client *)served;
	struct http1_head head;
	const char *cause;
	int r = http1_parse_request(client->in, served->in_len, &client->scanned, &head, &cause);

	if (r == 0)
		client_serve(client, &head);
	else if (r == -E2BIG || (r == -EAGAIN && served->in_len == served->in_max))
		client_refuse(client, "431 Request Header Fields Too Large", "",
			      "the request's head is too large");
	else if (r != -EAGAIN)
		client_refuse(client, "400 Bad Request", "", "this is not an HTTP request");
}

static void client_free(struct served *served)
{
	served_done(served);
	free(served);
}

static const struct served_calls calls = { .on_bytes = client_take_request, .free = client_free };

void metrics_client_new(struct approver *server, int fd)
{
	struct metrics_client *client = mem_new(sizeof(*client));

	client->server = server;
	served_init(&client->served, &calls, &server->clients, fd, client->in, sizeof(client->in));
}
