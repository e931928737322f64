#include "gateway/approvers/web/web.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_tools.h"

static void web_flush(void *arg)
{
	struct approver *self = arg;

	web_state_render(self);
	for (size_t i = 0; i < self->page.clients.count; i++)
		web_client_update((struct web_client *)self->page.clients.list[i]);
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
	     ++self->ticks % (WEB_PING_MS / WEB_TICK_MS) == 0 && i < self->page.clients.count; i++)
		web_client_ping((struct web_client *)self->page.clients.list[i]);
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

/* The run ends: the page keeps showing the last state. */
static void web_bid_farewell(struct approver *self)
{
	if (self->stream_count == 0)
		return;
	for (size_t i = 0; i < WEB_TOPICS; i++)
		self->shown[i].is_stale = i == WEB_TOTALS;
	web_state_render(self);
	for (size_t i = 0; i < self->page.clients.count; i++)
		web_client_farewell((struct web_client *)self->page.clients.list[i]);
}

static void web_close(struct approver *self)
{
	if (!self)
		return;
	web_bid_farewell(self);
	page_close(&self->page);
	for (size_t i = 0; i < WEB_TOPICS; i++)
		free(self->shown[i].text);
	loop_timer_stop(&self->flush);
	loop_timer_stop(&self->tick);
	loop_timer_stop(&self->grace);
	web_seen_done(&self->seen);
	free(self->run);
	free(self->session);
	mem_free_secret(self, sizeof(*self));
}

static void web_close_local(struct approver **self)
{
	web_close(*self);
}

static const struct page_step web_steps[] = {
	{ "/api/text", web_answer_text },        { "/api/answer", web_answer_give },
	{ "/api/revoke", web_ledger_revoke },    { "/api/undo", web_ledger_undo },
	{ "/api/cut", web_ledger_cut },          { "/api/propose", web_ledger_propose },
	{ "/api/touch", web_answer_touch },      { "/api/once/look", web_once_look },
	{ "/api/once/answer", web_once_answer },
};
static const char *const web_link_paths[] = { "/once.html",     "/once.js",         "/dom.js",
					      "/shown.js",      "/refused.js",      "/app.css",
					      "/api/once/look", "/api/once/answer", NULL };

static int web_serve(struct approver *self, const struct gateway_web *settings, struct err *why)
{
	self->config = (struct page_config){ .admit = web_client_new,
					     .stream = web_client_stream,
					     .steps = web_steps,
					     .step_count = ARRAY_SIZE(web_steps),
					     .link_paths = web_link_paths };
	self->config.files = web_files(&self->config.file_count);
	if (page_draw(self->link_key) < 0)
		return err_set(why, -EIO, "no random numbers for the page");
	if (settings->answer_origin)
		(void)snprintf(self->page.link_origin, sizeof(self->page.link_origin), "%s",
			       settings->answer_origin);
	return page_open(&self->page, self->loop, &self->config, settings->port, self, why);
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
	self->loop = loop;
	self->run = mem_strdup(config->run ? config->run : "");
	self->session = mem_strdup(config->session ? config->session : "");
	self->may_always = config->answers_path != NULL;
	web_seen_init(&self->seen);
	if (web_serve(self, config->web, why) < 0)
		return NULL;
	config->web->port = self->page.port;
	config->web->url = self->page.url;
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
