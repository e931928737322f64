#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/web/web.h"
#include "gateway/approvers/wire.h"

#define CLIENT_SEND_BYTES 65536 /* the kernel's buffer for a stream that does not read */

static void client_close(struct web_client *client)
{
	bool was_stream = client->state == WEB_STREAMING;

	if (client->state == WEB_CLOSED)
		return;
	client->state = WEB_CLOSED;
	event_del(client->read_event);
	event_del(client->write_event);
	loop_timer_stop(&client->deadline);
	if (was_stream)
		web_left(client->server);
	web_sweep(client->server);
}

static void client_expired(void *arg)
{
	client_close(arg);
}

static void client_wait(struct web_client *client, int64_t ms)
{
	loop_timer_start(client->server->loop, &client->deadline, ms, client_expired, client);
}

/* Everything was written. */
static void client_drained(struct web_client *client)
{
	event_del(client->write_event);
	if (client->state == WEB_STREAMING) {
		loop_timer_stop(&client->deadline);
		web_client_update(client);
	} else if (client->state == WEB_REPLYING) {
		/* If unread input were left, closing now would reset the connection and lose the
		 * answer. */
		client->state = WEB_LINGERING;
		(void)shutdown(client->fd, SHUT_WR); /* it may be closed already */
		client_wait(client, WEB_LINGER_MS);
	}
}

static void client_flush(struct web_client *client)
{
	if (client->state == WEB_CLOSED)
		return;
	int r = wire_send(client->fd, client->out);

	if (r == -EAGAIN)
		event_add(client->write_event, NULL);
	else if (r < 0)
		client_close(client);
	else
		client_drained(client);
}

/* Adds text to a stream with an empty queue, or to one that is being filled. */
static void client_queue(struct web_client *client, const char *text)
{
	if (evbuffer_get_length(client->out) + strlen(text) > WEB_QUEUE_MAX_BYTES ||
	    evbuffer_add(client->out, text, strlen(text)) < 0)
		client_close(client);
}

static void client_writable(evutil_socket_t fd, short what, void *arg)
{
	client_flush(arg);
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
		client->out,
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
	if (client->state != WEB_READING)
		return;
	client->state = WEB_REPLYING;
	client_wait(client, WEB_DRAIN_MS);
	if (client_add_head(client, status, type, fields) < 0 ||
	    evbuffer_add_printf(client->out, "Content-Length: %zu\r\n\r\n", len) < 0 ||
	    evbuffer_add(client->out, body, len) < 0)
		return client_close(client);
	client_flush(client);
}

void web_client_reply_json(struct web_client *client, int status, const char *fields,
			   const json_t *value)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (!text)
		return client_close(client);
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

	if (client->state != WEB_READING)
		return;
	(void)setsockopt(client->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)); /* a hint */
	client->state = WEB_STREAMING;
	loop_timer_stop(&client->deadline);
	web_joined(client->server);
	if (client_add_head(client, 200, "text/event-stream", "\r\n") < 0)
		return client_close(client);
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
	if (client->state != WEB_STREAMING || client->deadline.is_armed)
		return;
	for (size_t i = 0; i < WEB_TOPICS && client->state == WEB_STREAMING; i++) {
		if (!server->shown[i].text || client->versions[i] == server->shown[i].version)
			continue;
		client->versions[i] = server->shown[i].version;
		client_queue(client, server->shown[i].text);
	}
	if (client->state == WEB_STREAMING)
		client_queue_news(client, "events", &server->seen.events, &client->events_to);
	if (client->state == WEB_STREAMING)
		client_queue_news(client, "denials", &server->seen.denials, &client->denials_to);
	if (client->state != WEB_STREAMING || evbuffer_get_length(client->out) == 0)
		return;
	client_wait(client, WEB_DRAIN_MS);
	client_flush(client);
}

void web_client_ping(struct web_client *client)
{
	if (client->state != WEB_STREAMING || client->deadline.is_armed)
		return;
	client_queue(client, ": still here\n\n");
	if (client->state != WEB_STREAMING)
		return;
	client_wait(client, WEB_DRAIN_MS);
	client_flush(client);
}

void web_client_farewell(struct web_client *client)
{
	const struct approver *server = client->server;

	if (client->state != WEB_STREAMING || client->deadline.is_armed)
		return;
	client_queue(client, server->shown[WEB_TOTALS].text);
	client_queue_news(client, "events", &server->seen.events, &client->events_to);
	client_queue_news(client, "denials", &server->seen.denials, &client->denials_to);
	client_queue(client, "event: over\ndata: {}\n\n");
	client->state = WEB_REPLYING; /* nothing is added after it */
	client_flush(client);
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
	int r = web_head_parse(client->in, client->in_len, &head);

	if (r == -EAGAIN || (r == 0 && client->in_len < head.len + head.body_len))
		return;
	if (r < 0)
		return client_refuse_head(client, r);
	web_api_serve(client, &head, client->in + head.len);
}

static void client_again(void *arg)
{
	struct web_client *client = arg;

	if (client->state == WEB_READING)
		client_take_request(client);
}

void web_client_wait(struct web_client *client)
{
	client_wait(client, WEB_WRITE_MS);
	gateway_when_kept(client->server->gw, &client->kept, client_again, client);
}

static void client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct web_client *client = arg;
	bool is_reading = client->state == WEB_READING;
	char waste[4096];
	ssize_t got = recv(fd, is_reading ? client->in + client->in_len : waste,
			   is_reading ? sizeof(client->in) - client->in_len : sizeof(waste),
			   MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || client->state == WEB_STREAMING) /* a stream's client has nothing to send */
		return client_close(client);
	if (!is_reading)
		return;
	client->in_len += (size_t)got;
	if (!client->kept.is_waiting)
		client_take_request(client);
}

struct web_client *web_client_new(struct approver *server, int fd)
{
	struct event_base *base = loop_base(server->loop);
	struct web_client *client = mem_new(sizeof(*client));

	client->server = server;
	client->fd = fd;
	client->out = evbuffer_new();
	client->read_event = event_new(base, fd, EV_READ | EV_PERSIST, client_readable, client);
	client->write_event = event_new(base, fd, EV_WRITE, client_writable, client);
	if (!client->out || !client->read_event || !client->write_event)
		abort(); /* out of memory, as in base/mem */
	event_add(client->read_event, NULL);
	client_wait(client, WEB_REQUEST_MS);
	return client;
}

void web_client_free(struct web_client *client)
{
	if (!client)
		return;
	loop_timer_stop(&client->deadline);
	gateway_forget_kept(client->server->gw, &client->kept);
	event_free(client->read_event);
	event_free(client->write_event);
	evbuffer_free(client->out);
	fd_close(client->fd);
	free(client);
}
