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
	web_left(web_of((struct page_client *)served));
}

static void client_sent(struct served *served)
{
	web_client_update((struct web_client *)served);
}

/* Adds text to a stream with an empty queue, or to one that is being filled. */
static void client_queue(struct web_client *client, const char *text)
{
	if (evbuffer_get_length(client->page.served.out) + strlen(text) > WEB_QUEUE_MAX_BYTES ||
	    evbuffer_add(client->page.served.out, text, strlen(text)) < 0)
		served_close(&client->page.served);
}

void web_client_refuse(struct page_client *client, int status, const char *code, const char *text)
{
	page_reply_error(client, status, code, wire_text(text, POLICY_TEXT_MAX));
}

void web_client_stream(struct page_client *client)
{
	int bytes = CLIENT_SEND_BYTES;

	if (web_of(client)->stream_count >= WEB_STREAMS_MAX)
		return web_client_refuse(client, 503, "overloaded", "too many pages are open");
	if (client->served.state != SERVED_READING)
		return;
	(void)setsockopt(client->served.fd, SOL_SOCKET, SO_SNDBUF, &bytes,
			 sizeof(bytes)); /* a hint */
	client->served.state = SERVED_STREAMING;
	loop_timer_stop(&client->served.deadline);
	web_joined(web_of(client));
	if (page_reply_head(client, 200, "text/event-stream", "\r\n") < 0)
		return served_close(&client->served);
	web_client_update((struct web_client *)client);
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
	const struct approver *server = web_of(&client->page);

	/* The head may still be queued; an update waits until the previous one is sent. */
	if (client->page.served.state != SERVED_STREAMING || client->page.served.deadline.is_armed)
		return;
	for (size_t i = 0; i < WEB_TOPICS && client->page.served.state == SERVED_STREAMING; i++) {
		if (!server->shown[i].text || client->versions[i] == server->shown[i].version)
			continue;
		client->versions[i] = server->shown[i].version;
		client_queue(client, server->shown[i].text);
	}
	if (client->page.served.state == SERVED_STREAMING)
		client_queue_news(client, "events", &server->seen.events, &client->events_to);
	if (client->page.served.state == SERVED_STREAMING)
		client_queue_news(client, "denials", &server->seen.denials, &client->denials_to);
	if (client->page.served.state != SERVED_STREAMING ||
	    evbuffer_get_length(client->page.served.out) == 0)
		return;
	served_wait(&client->page.served, SERVED_DRAIN_MS);
	served_flush(&client->page.served);
}

void web_client_ping(struct web_client *client)
{
	if (client->page.served.state != SERVED_STREAMING || client->page.served.deadline.is_armed)
		return;
	client_queue(client, ": still here\n\n");
	if (client->page.served.state != SERVED_STREAMING)
		return;
	served_wait(&client->page.served, SERVED_DRAIN_MS);
	served_flush(&client->page.served);
}

void web_client_farewell(struct web_client *client)
{
	const struct approver *server = web_of(&client->page);

	if (client->page.served.state != SERVED_STREAMING || client->page.served.deadline.is_armed)
		return;
	client_queue(client, server->shown[WEB_TOTALS].text);
	client_queue_news(client, "events", &server->seen.events, &client->events_to);
	client_queue_news(client, "denials", &server->seen.denials, &client->denials_to);
	client_queue(client, "event: over\ndata: {}\n\n");
	client->page.served.state = SERVED_REPLYING; /* nothing is added after it */
	served_flush(&client->page.served);
}

static void client_again(void *arg)
{
	struct served *served = arg;

	if (served->state == SERVED_READING)
		page_serve(served);
}

void web_client_wait(struct page_client *client)
{
	served_wait(&client->served, WEB_WRITE_MS);
	gateway_when_kept(web_of(client)->gw, &((struct web_client *)client)->kept, client_again,
			  client);
}

static void client_hears(struct served *served)
{
	struct web_client *client = (struct web_client *)served;

	if (!client->kept.is_waiting)
		page_serve(served);
}

static void client_free(struct served *served)
{
	struct web_client *client = (struct web_client *)served;

	gateway_forget_kept(web_of(&client->page)->gw, &client->kept);
	served_done(served);
	free(client);
}

static const struct served_calls calls = {
	.on_bytes = client_hears,
	.free = client_free,
	.on_sent = client_sent,
	.on_left = client_left,
};

void web_client_new(struct page *page, int fd)
{
	struct web_client *client = mem_new(sizeof(*client));

	page_client_init(&client->page, &calls, page, fd);
}
