#include "gateway/approvers/control/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/wire.h"

#define CLIENT_READ_BYTES 16384

static void client_close(struct control_client *client)
{
	if (client->is_closed)
		return;
	client->is_closed = true;
	event_del(client->read_event);
	event_del(client->write_event);
	loop_timer_stop(&client->idle);
	control_sweep(client->server);
}

static void client_expired(void *arg)
{
	client_close(arg);
}

static void client_rest(struct control_client *client)
{
	if (!client->is_watcher && !client->is_closed)
		loop_timer_start(client->server->loop, &client->idle, CONTROL_IDLE_MS,
				 client_expired, client);
}

static void client_flush(struct control_client *client)
{
	if (client->is_closed)
		return;
	int r = fd_send_queued(client->fd, client->out);

	if (r == -EAGAIN) {
		event_add(client->write_event, NULL);
		/* A watcher that stops reading cannot answer: its timeout starts. */
		if (client->is_watcher && !client->idle.is_armed)
			loop_timer_start(client->server->loop, &client->idle, CONTROL_IDLE_MS,
					 client_expired, client);
	} else if (r < 0) {
		client_close(client);
	} else if (client->is_behind) {
		event_add(client->write_event, NULL); /* the rest is sent from the loop */
	}
}

void control_client_send(struct control_client *client, const json_t *message)
{
	if (client->is_closed)
		return;

	/* ASCII only: no byte of it can move a cursor, however the client prints it. */
	auto_free char *text =
		message ? json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (!text || evbuffer_add(client->out, text, strlen(text)) < 0 ||
	    evbuffer_add(client->out, "\n", 1) < 0)
		return client_close(client);
	client_flush(client);
	if (evbuffer_get_length(client->out) > CONTROL_QUEUE_MAX_BYTES)
		client_close(client);
}

bool control_client_is_full(const struct control_client *client)
{
	return evbuffer_get_length(client->out) > CONTROL_AHEAD_BYTES;
}

static void client_serve(struct control_client *client);

static void client_go_on(void *arg)
{
	struct control_client *client = arg;

	if (client->is_closed)
		return;
	event_add(client->read_event, NULL);
	client_serve(client);
}

/* The request needs a file that is being written: it is served again afterwards, and later requests
 * after it. */
static void client_wait(struct control_client *client, const char *line)
{
	client->must_wait = false;
	if (evbuffer_prepend(client->in, "\n", 1) < 0 ||
	    evbuffer_prepend(client->in, line, strlen(line)) < 0)
		return client_close(client);
	event_del(client->read_event);
	gateway_when_kept(client->server->gw, &client->kept, client_go_on, client);
}

/* Serves every complete line. */
static void client_serve(struct control_client *client)
{
	while (!client->is_closed) {
		size_t len;
		auto_free char *line = evbuffer_readln(client->in, &len, EVBUFFER_EOL_LF);

		if (!line)
			break;
		if (len > CONTROL_LINE_MAX_BYTES || control_request_serve(client, line, len) < 0)
			return client_close(client);
		if (client->must_wait)
			return client_wait(client, line);
	}
	if (evbuffer_get_length(client->in) > CONTROL_LINE_MAX_BYTES)
		return client_close(client);
	client_rest(client);
}

static void client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct control_client *client = arg;
	int got = evbuffer_read(client->in, fd, CLIENT_READ_BYTES);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return client_close(client);
	client_serve(client);
}

static void client_writable(evutil_socket_t fd, short what, void *arg)
{
	struct control_client *client = arg;

	if (client->is_watcher)
		loop_timer_stop(&client->idle);
	client_flush(client);
	if (client->is_behind && !client->is_closed && !control_client_is_full(client))
		control_questions_catch_up(client);
}

void control_client_watch(struct control_client *client)
{
	client->is_watcher = true;
	loop_timer_stop(&client->idle);
	control_watched(client->server, client);
}

struct control_client *control_client_new(struct approver *server, int fd, const struct peer *peer)
{
	struct event_base *base = loop_base(server->loop);
	struct control_client *client = mem_new(sizeof(*client));

	client->server = server;
	client->peer = *peer;
	client->fd = fd;
	client->in = evbuffer_new();
	client->out = evbuffer_new();
	client->read_event = event_new(base, fd, EV_READ | EV_PERSIST, client_readable, client);
	client->write_event = event_new(base, fd, EV_WRITE, client_writable, client);
	if (!client->in || !client->out || !client->read_event || !client->write_event)
		abort(); /* out of memory, as in base/mem */
	event_add(client->read_event, NULL);
	client_rest(client);
	return client;
}

void control_client_free(struct control_client *client)
{
	if (!client)
		return;
	loop_timer_stop(&client->idle);
	gateway_forget_kept(client->server->gw, &client->kept);
	event_free(client->read_event);
	event_free(client->write_event);
	evbuffer_free(client->in);
	evbuffer_free(client->out);
	fd_close(client->fd);
	free(client);
}
