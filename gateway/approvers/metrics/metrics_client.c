/* One connection with one request. Closing marks it, and it is freed from the loop. */
#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/fd.h"
#include "base/http1/http1.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/metrics/metrics.h"
#include "gateway/approvers/wire.h"

#define METRICS_PATH "/metrics"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metrics_state {
	METRICS_READING,
	METRICS_REPLYING,
	METRICS_LINGERING, /* answered; further input is discarded */
	METRICS_CLOSED,
};

struct metrics_client {
	struct approver *server;
	int fd;
	enum metrics_state state;
	struct event *read_event, *write_event;
	struct loop_timer deadline;
	char in[METRICS_HEAD_MAX_BYTES];
	size_t in_len, scanned;
	struct evbuffer *out;
};

static void client_close(struct metrics_client *client)
{
	if (client->state == METRICS_CLOSED)
		return;
	client->state = METRICS_CLOSED;
	event_del(client->read_event);
	event_del(client->write_event);
	loop_timer_stop(&client->deadline);
	metrics_sweep(client->server);
}

static void client_expired(void *arg)
{
	client_close(arg);
}

static void client_wait(struct metrics_client *client, int64_t ms)
{
	loop_timer_start(client->server->loop, &client->deadline, ms, client_expired, client);
}

static void client_flush(struct metrics_client *client)
{
	int r = wire_send(client->fd, client->out);

	if (r == -EAGAIN) {
		event_add(client->write_event, NULL);
	} else if (r < 0) {
		client_close(client);
	} else {
		/* If unread input were left, closing now would reset the connection and lose the
		 * answer. */
		event_del(client->write_event);
		client->state = METRICS_LINGERING;
		(void)shutdown(client->fd, SHUT_WR); /* it may be closed already */
		client_wait(client, METRICS_LINGER_MS);
	}
}

static void client_writable(evutil_socket_t fd, short what, void *arg)
{
	client_flush(arg);
}

/* Sends @body, which is emptied. @fields: additional header lines, each with CRLF, or "". */
static void client_reply(struct metrics_client *client, const char *status, const char *fields,
			 struct evbuffer *body)
{
	size_t len = evbuffer_get_length(body);

	client->state = METRICS_REPLYING;
	client_wait(client, METRICS_DRAIN_MS);
	if (len > METRICS_ANSWER_MAX ||
	    evbuffer_add_printf(client->out,
				"HTTP/1.1 %s\r\nContent-Type: " METRICS_TYPE "\r\n"
				"Content-Length: %zu\r\nConnection: close\r\n"
				"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
				"%s\r\n",
				status, len, fields) < 0 ||
	    evbuffer_add_buffer(client->out, body) < 0)
		return client_close(client);
	client_flush(client);
}

static void client_refuse(struct metrics_client *client, const char *status, const char *fields,
			  const char *words)
{
	struct evbuffer *body = evbuffer_new();

	if (body && evbuffer_add_printf(body, "%s\n", words) >= 0)
		client_reply(client, status, fields, body);
	else
		client_close(client);
	if (body)
		evbuffer_free(body);
}

static void client_answer(struct metrics_client *client)
{
	struct evbuffer *body = evbuffer_new();

	if (body && metrics_write(client->server, body) == 0)
		client_reply(client, "200 OK", "", body);
	else
		client_close(client);
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

static void client_take_request(struct metrics_client *client)
{
	struct http1_head head;
	const char *cause;
	int r = http1_parse_request(client->in, client->in_len, &client->scanned, &head, &cause);

	if (r == 0)
		client_serve(client, &head);
	else if (r == -E2BIG || (r == -EAGAIN && client->in_len == sizeof(client->in)))
		client_refuse(client, "431 Request Header Fields Too Large", "",
			      "the request's head is too large");
	else if (r != -EAGAIN)
		client_refuse(client, "400 Bad Request", "", "this is not an HTTP request");
}

static void client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct metrics_client *client = arg;
	bool is_reading = client->state == METRICS_READING;
	char waste[4096];
	ssize_t got = recv(fd, is_reading ? client->in + client->in_len : waste,
			   is_reading ? sizeof(client->in) - client->in_len : sizeof(waste),
			   MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return client_close(client);
	if (!is_reading)
		return;
	client->in_len += (size_t)got;
	client_take_request(client);
}

struct metrics_client *metrics_client_new(struct approver *server, int fd)
{
	struct event_base *base = loop_base(server->loop);
	struct metrics_client *client = mem_new(sizeof(*client));

	client->server = server;
	client->fd = fd;
	client->out = evbuffer_new();
	client->read_event = event_new(base, fd, EV_READ | EV_PERSIST, client_readable, client);
	client->write_event = event_new(base, fd, EV_WRITE, client_writable, client);
	if (!client->out || !client->read_event || !client->write_event)
		abort(); /* out of memory, as in base/mem */
	event_add(client->read_event, NULL);
	client_wait(client, METRICS_REQUEST_MS);
	return client;
}

bool metrics_client_is_closed(const struct metrics_client *client)
{
	return client->state == METRICS_CLOSED;
}

void metrics_client_free(struct metrics_client *client)
{
	loop_timer_stop(&client->deadline);
	event_free(client->read_event);
	event_free(client->write_event);
	evbuffer_free(client->out);
	fd_close(client->fd);
	free(client);
}
