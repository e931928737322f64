#include "gateway/approvers/web/web.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_tools.h"

#define WEB_BACKLOG 32

static void web_flush(void *arg)
{
	struct approver *self = arg;

	web_state_render(self);
	for (size_t i = 0; i < self->clients.count; i++)
		web_client_update((struct web_client *)self->clients.list[i]);
}

static void web_flush_soon(struct approver *self)
{
	if (self->stream_count > 0 && !self->flush.is_armed)
		loop_timer_start(self->loop, &self->flush,
				 self->is_crowded ? WEB_CROWD_MS : WEB_FLUSH_MS, web_flush, self);
}

void web_stale(struct approver *self, enum web_topic topic)
{
	self->shown[topic].is_stale = true;
	web_flush_soon(self);
}

/* There is no event for transferred bytes or for expired answers, so they are checked regularly. */
static void web_tick(void *arg)
{
	struct approver *self = arg;

	web_stale(self, WEB_GRANTS);
	web_stale(self, WEB_LIVE);
	web_stale(self, WEB_TOTALS);
	for (size_t i = 0;
	     ++self->ticks % (WEB_PING_MS / WEB_TICK_MS) == 0 && i < self->clients.count; i++)
		web_client_ping((struct web_client *)self->clients.list[i]);
	loop_timer_start(self->loop, &self->tick, WEB_TICK_MS, web_tick, self);
}

void web_joined(struct approver *self)
{
	self->stream_count++;
	self->was_opened = true;
	loop_timer_stop(&self->grace);
	for (size_t i = 0; i < WEB_TOPICS; i++)
		self->shown[i].is_stale = true;
	web_state_render(self);
	if (self->stream_count == 1) {
		loop_timer_start(self->loop, &self->tick, WEB_TICK_MS, web_tick, self);
		gateway_approvers_changed(self->gw);
	}
}

static void web_grace_over(void *arg)
{
	struct approver *self = arg;

	gateway_approvers_changed(self->gw);
}

void web_left(struct approver *self)
{
	if (--self->stream_count > 0)
		return;
	loop_timer_stop(&self->flush);
	loop_timer_stop(&self->tick);
	loop_timer_start(self->loop, &self->grace, WEB_GRACE_MS, web_grace_over, self);
}

static void web_admit(int fd, uint16_t peer_port, void *arg)
{
	struct approver *self = arg;

	if (self->clients.count == SERVED_MAX || !web_peer_is_ours(fd))
		fd_close(fd);
	else
		web_client_new(self, fd);
}

static int web_listen(struct approver *self, uint16_t port, struct err *why)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	int on = 1;

	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(why, errno, "cannot make a socket for the page");
	/* A fixed port can be used again at once; no other process can be listening on it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, WEB_BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return err_errno(why, errno, "cannot serve the page on port %u of 127.0.0.1", port);
	self->port = ntohs(address.sin_port);
	int r = listener_open(&self->listener, self->loop, fd_take(&fd), web_admit, self);

	return r < 0 ? err_errno(why, -r, "cannot watch the socket of the page") : 0;
}

/* The run ends: the page keeps showing the last state. */
static void web_bid_farewell(struct approver *self)
{
	if (self->stream_count == 0)
		return;
	for (size_t i = 0; i < WEB_TOPICS; i++)
		self->shown[i].is_stale = i == WEB_TOTALS;
	web_state_render(self);
	for (size_t i = 0; i < self->clients.count; i++)
		web_client_farewell((struct web_client *)self->clients.list[i]);
}

static void web_close(struct approver *self)
{
	if (!self)
		return;
	web_bid_farewell(self);
	served_all_done(&self->clients);
	for (size_t i = 0; i < WEB_TOPICS; i++)
		free(self->shown[i].text);
	loop_timer_stop(&self->flush);
	loop_timer_stop(&self->tick);
	loop_timer_stop(&self->grace);
	listener_close(&self->listener);
	web_seen_done(&self->seen);
	free(self->run);
	free(self->session);
	mem_free_secret(self, sizeof(*self));
}

static void web_close_local(struct approver **self)
{
	web_close(*self);
}

static struct approver *web_open(struct gateway *gw, struct loop *loop,
				 const struct gateway_config *config, struct err *why)
{
	if (!config->web)
		return NULL;

	__attribute__((cleanup(web_close_local))) struct approver *self =
		mem_new_secret(sizeof(*self));

	if (!self) {
		(void)err_set(why, -ENOSYS,
			      "this kernel cannot keep the page's keys from other processes "
			      "(MADV_WIPEONFORK); use Linux 4.14 or newer");
		return NULL;
	}
	self->gw = gw;
	self->loop = self->clients.loop = loop;
	self->run = mem_strdup(config->run ? config->run : "");
	self->session = mem_strdup(config->session ? config->session : "");
	self->may_always = config->answers_path != NULL;
	web_seen_init(&self->seen);
	if (web_guard_draw(self, config->web->answer_origin, why) < 0 ||
	    web_listen(self, config->web->port, why) < 0)
		return NULL;
	/* The port is part of the cookie's name, because a browser sends cookies to every port of a
	 * host. */
	(void)snprintf(self->cookie_name, sizeof(self->cookie_name), "sallyport-%u", self->port);
	config->web->port = self->port;
	(void)snprintf(self->url, sizeof(self->url), "http://127.0.0.1:%u/#%s", self->port,
		       self->capability);
	config->web->url = self->url;
	config->web->link_key = self->link_key;
	return take(self);
}

/* A person who asked for a page will open it: until then, questions wait for it, up to their
 * deadline. After the page was open once, it has to be open. */
static bool web_is_attached(const struct approver *self)
{
	return self->stream_count > 0 || self->grace.is_armed || !self->was_opened;
}

static void web_ask(struct approver *self, const struct approver_question *question)
{
	web_stale(self, WEB_QUESTIONS);
}

static void web_agent_asked(struct approver *self, const struct approver_agent_question *question)
{
	web_stale(self, WEB_TASK);
}

static void web_retract(struct approver *self, const struct approver_end *end)
{
	web_seen_add_end(&self->seen, loop_wall_us(self->loop) / 1000, end);
	web_stale(self, WEB_QUESTIONS);
	web_stale(self, WEB_TASK);
	web_stale(self, WEB_GRANTS);
}

static void web_heard(struct approver *self, const struct sink_record *record)
{
	web_seen_add(&self->seen, record);
	web_stale(self, WEB_TOTALS);
}

const struct approver_ops web_approver = {
	.name = "web",
	.open = web_open,
	.is_attached = web_is_attached,
	.ask = web_ask,
	.agent_asked = web_agent_asked,
	.changed = web_ask,
	.retract = web_retract,
	.heard = web_heard,
	.close = web_close,
};
