#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "gateway/approvers/web/web.h"
#include "gateway/approvers/wire.h"

#define CLIENT_SEND_BYTES 65536 /* the kernel's buffer for a stream that does not read */

static void client_left(struct served *served)
{
	web_left(((struct web_client *)served)->server);
}

static void client_sent(struct served *served)
{
	web_client_update((struct web_client *)served);
}

/* Adds text to a stream with an empty queue, or to one that is being filled. */
static void client_queue(struct web_client *client, const char *text)
{
	if (evbuffer_get_length(client->served.out) + strlen(text) > WEB_QUEUE_MAX_BYTES ||
	    evbuffer_add(client->served.out, text, strlen(text)) < 0)
		served_close(&client->served);
}

static const char *client_status_text(int status)
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
static int client_add_head(struct web_client *client, int status, const char *type,
			   const char *fields)
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
		status, client_status_text(status), type, fields);
}

void web_client_reply(struct web_client *client, int status, const char *type, const char *fields,
		      const void *body, size_t len)
{
	if (client->served.state != SERVED_READING)
		return;
	if (client_add_head(client, status, type, fields) < 0 ||
	    evbuffer_add_printf(client->served.out, "Content-Length: %zu\r\n\r\n", len) < 0 ||
	    evbuffer_add(client->served.out, body, len) < 0)
		return served_close(&client->served);
	served_reply(&client->served);
}

void web_client_reply_json(struct web_client *client, int status, const char *fields,
			   const json_t *value)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (!text)
		return served_close(&client->served);
	web_client_reply(client, status, "application/json", fields, text, strlen(text));
}

void web_client_refuse(struct web_client *client, int status, const char *code, const char *text)
{
	json_t *value =
		json_pack("{s:s, s:o}", "code", code, "error", wire_text(text, POLICY_TEXT_MAX));

	web_client_reply_json(client, status, "", value);
	json_decref(value);
}

void web_client_stream(struct web_client *client)
{
	int bytes = CLIENT_SEND_BYTES;

	if (client->served.state != SERVED_READING)
		return;
	(void)setsockopt(client->served.fd, SOL_SOCKET, SO_SNDBUF, &bytes,
			 sizeof(bytes)); /* a hint */
	client->served.state = SERVED_STREAMING;
	loop_timer_stop(&client->served.deadline);
	web_joined(client->server);
	if (client_add_head(client, 200, "text/event-stream", "\r\n") < 0)
		return served_close(&client->served);
	web_client_update(client);
}

static void client_queue_news(struct web_client *client, const char *name,
			      const struct web_ring *ring, uint64_t *told)
{
	if (*told == ring->count)
		return;
	auto_free char *text = web_state_event(name, web_seen_since(ring, *told));

	*told = ring->count;
	if (text)
		client_queue(client, text);
}

void web_client_update(struct web_client *client)
{
	const struct approver *server = client->server;

	/* The head may still be queued; an update waits until the previous one is sent. */
	if (client->served.state != SERVED_STREAMING || client->served.deadline.is_armed)
		return;
	for (size_t i = 0; i < WEB_TOPICS && client->served.state == SERVED_STREAMING; i++) {
		if (!server->shown[i].text || client->versions[i] == server->shown[i].version)
			continue;
		client->versions[i] = server->shown[i].version;
		client_queue(client, server->shown[i].text);
	}
	if (client->served.state == SERVED_STREAMING)
		client_queue_news(client, "events", &server->seen.events, &client->events_to);
	if (client->served.state == SERVED_STREAMING)
		client_queue_news(client, "denials", &server->seen.denials, &client->denials_to);
	if (client->served.state != SERVED_STREAMING ||
	    evbuffer_get_length(client->served.out) == 0)
		return;
	served_wait(&client->served, SERVED_DRAIN_MS);
	served_flush(&client->served);
}

void web_client_ping(struct web_client *client)
{
	if (client->served.state != SERVED_STREAMING || client->served.deadline.is_armed)
		return;
	client_queue(client, ": still here\n\n");
	if (client->served.state != SERVED_STREAMING)
		return;
	served_wait(&client->served, SERVED_DRAIN_MS);
	served_flush(&client->served);
}

void web_client_farewell(struct web_client *client)
{
	const struct approver *server = client->server;

	if (client->served.state != SERVED_STREAMING || client->served.deadline.is_armed)
		return;
	client_queue(client, server->shown[WEB_TOTALS].text);
	client_queue_news(client, "events", &server->seen.events, &client->events_to);
	client_queue_news(client, "denials", &server->seen.denials, &client->denials_to);
	client_queue(client, "event: over\ndata: {}\n\n");
	client->served.state = SERVED_REPLYING; /* nothing is added after it */
	served_flush(&client->served);
}

static void client_refuse_head(struct web_client *client, int r)
{
	if (r == -E2BIG)
		web_client_refuse(client, 431, "malformed", "the request's head is too large");
	else if (r == -EMSGSIZE)
		web_client_refuse(client, 413, "malformed", "the request's body is too large");
	else if (r == -EPROTONOSUPPORT)
		web_client_refuse(client, 505, "malformed", "this server supports only HTTP/1.1");
	else
		web_client_refuse(client, 400, "malformed", "this is not an HTTP request");
}

/* Input after the one request is never parsed. */
static void client_take_request(struct web_client *client)
{
	struct web_head head;
	int r = web_head_parse(client->in, client->served.in_len, &head);

	if (r == -EAGAIN || (r == 0 && client->served.in_len < head.len + head.body_len))
		return;
	if (r < 0)
		return client_refuse_head(client, r);
	web_api_serve(client, &head, client->in + head.len);
}

static void client_again(void *arg)
{
	struct web_client *client = arg;

	if (client->served.state == SERVED_READING)
		client_take_request(client);
}

void web_client_wait(struct web_client *client)
{
	served_wait(&client->served, WEB_WRITE_MS);
	gateway_when_kept(client->server->gw, &client->kept, client_again, client);
}

static void client_hears(struct served *served)
{
	struct web_client *client = (struct web_client *)served;

	if (!client->kept.is_waiting)
		client_take_request(client);
}

static void client_free(struct served *served)
{
	struct web_client *client = (struct web_client *)served;

	gateway_forget_kept(client->server->gw, &client->kept);
	served_done(served);
	free(client);
}

static const struct served_calls calls = {
	.on_bytes = client_hears,
	.free = client_free,
	.on_sent = client_sent,
	.on_left = client_left,
};

void web_client_new(struct approver *server, int fd)
{
	struct web_client *client = mem_new(sizeof(*client));

	client->server = server;
	served_init(&client->served, &calls, &server->clients, fd, client->in, sizeof(client->in));
}
