#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/crypto/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/approvers/remote/answer_link.h"
#include "gateway/approvers/programs/subprocess.h"
#include "gateway/approvers/programs/reviewer_line.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/wire.h"
#include "gateway/audit/redact.h"
#include "gateway/gateway_tools.h"

#define WEBHOOK_QUEUE_MAX 32 /* questions that wait to be sent; further ones are not sent */

struct webhook_news {
	char *body;
	TAILQ_ENTRY(webhook_news) entry;
};
TAILQ_HEAD(webhook_queue, webhook_news);

/* Sends every question to a server, one at a time. The reply is ignored; if the page can be reached
 * from elsewhere, the message has a link to it, with which only that question can be answered. */
struct approver {
	struct loop *loop;
	const struct gateway_webhook *config;
	const char *run;               /* borrowed from the gateway */
	const struct gateway_web *web; /* NULL: there are no answer links */
	struct webhook_queue queue;
	unsigned int queued;
	struct subprocess subprocess;
	struct loop_timer next;
	uint64_t failed; /* not sent, or not accepted */
};

/* Escapes for a quoted value of curl's configuration. Returned owned. */
static char *webhook_quote(const char *text)
{
	char *out = mem_new(2 * strlen(text) + 1);
	size_t len = 0;

	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			out[len++] = '\\';
		out[len++] = *c;
	}
	return out;
}

/* The time is signed too, so that a copied message cannot be sent again later. */
static char *webhook_config(const struct approver *self, const char *body)
{
	long long now_s = (long long)(loop_wall_us(self->loop) / 1000000);
	auto_free char *text = mem_printf("%lld.%s", now_s, body);
	auto_free char *url = webhook_quote(self->config->url), *data = webhook_quote(body);
	char signature[DIGEST_TEXT_MAX];

	if (digest_hmac(self->config->key, strlen(self->config->key), text, strlen(text),
			signature) < 0)
		return NULL;
	return mem_printf("url = \"%s\"\n"
			  "proto = \"=http,https\"\n"
			  "max-time = 8\n"
			  "silent\n"
			  "output = \"/dev/null\"\n"
			  "write-out = \"%%{http_code}\"\n"
			  "header = \"content-type: application/json\"\n"
			  "header = \"x-sallyport-time: %lld\"\n"
			  "header = \"x-sallyport-signature: sha256=%s\"\n"
			  "data-raw = \"%s\"\n",
			  url, now_s, signature, data);
}

static void webhook_next(void *arg);

static void webhook_next_soon(struct approver *self)
{
	loop_defer(self->loop, &self->next, webhook_next, self);
}

static void webhook_failed(struct approver *self, const char *how)
{
	if (self->failed++ == 0)
		log_warn("cannot send a question to the webhook: %s", how);
	else
		log_info("cannot send a question to the webhook: %s", how);
}

static void webhook_done(void *arg)
{
	struct approver *self = arg;
	const char *said = self->subprocess.said; /* the HTTP status: three digits */

	if (strlen(said) != 3 || said[0] != '2') {
		auto_free char *how =
			mem_printf("its server sent %s",
				   said[0] && strcmp(said, "000") != 0 ? said : "no response");

		webhook_failed(self, how);
	}
	webhook_next_soon(self);
}

static void webhook_next(void *arg)
{
	static const char *const argv[] = { "curl", "-q", "--config", "-", NULL };
	struct approver *self = arg;
	struct webhook_news *news = TAILQ_FIRST(&self->queue);

	if (!news || subprocess_is_running(&self->subprocess))
		return;
	TAILQ_REMOVE(&self->queue, news, entry);
	self->queued--;
	auto_free char *body = news->body;
	auto_free char *config = webhook_config(self, body);

	free(news);
	if (!config || subprocess_run(&self->subprocess, self->loop, &self->config->curl, argv,
				      config, webhook_done, self) < 0) {
		webhook_failed(self, "curl cannot be started");
		webhook_next_soon(self);
	}
}

/* The link is in the fragment (after #), which browsers do not send, so that no server and no log
 * on the way receives it. */
static int webhook_add_link(const struct approver *self, const char *id, int64_t left_ms,
			    json_t *what)
{
	int64_t until_s = loop_wall_us(self->loop) / 1000000 + (left_ms + 999) / 1000;
	char link[ANSWER_LINK_MAX];

	if (!self->web)
		return 0;
	if (answer_link_make(self->web->link_key, id, until_s, link) < 0)
		return -EIO;
	return json_object_set_new(what, "answer_url",
				   json_sprintf("%s/once.html#%s", self->web->answer_origin, link));
}

/* Takes @what, which may be NULL. Returned owned; NULL: it cannot be written. */
static char *webhook_body(const struct approver *self, const char *id, int64_t left_ms,
			  json_t *what)
{
	char *body = NULL;

	if (what && json_object_set_new(what, "event", json_string("asked")) == 0 &&
	    json_object_set_new(what, "run", json_string(self->run)) == 0 &&
	    json_object_set_new(what, "id", json_string(id)) == 0 &&
	    json_object_set_new(what, "deadline_ms", json_integer(left_ms)) == 0 &&
	    webhook_add_link(self, id, left_ms, what) == 0)
		body = json_dumps(what, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(what);
	return body;
}

/* Takes @body. */
static void webhook_send(struct approver *self, char *body)
{
	if (!body)
		return webhook_failed(self, "the question cannot be written as JSON");
	struct webhook_news *news = mem_new(sizeof(*news));

	news->body = body;
	TAILQ_INSERT_TAIL(&self->queue, news, entry);
	self->queued++;
	webhook_next_soon(self);
}

static void webhook_ask(struct approver *self, const struct approver_question *question)
{
	if (self->queued >= WEBHOOK_QUEUE_MAX)
		return webhook_failed(self, "too many questions are waiting to be sent");
	webhook_send(self, webhook_body(self, question->id, question->left_ms,
					reviewer_line_describe(question)));
}

/* The question without recognisable secrets, because it leaves this machine. */
static json_t *webhook_describe_agent(const struct approver_agent_question *question)
{
	struct approver_agent_question shown = *question;
	struct gateway_agent_line *lines = mem_new_array(question->line_count + 1, sizeof(*lines));

	for (size_t i = 0; i < question->line_count; i++)
		lines[i] = (struct gateway_agent_line){ question->lines[i].label,
							redact_command(question->lines[i].text) };
	shown.lines = lines;
	json_t *what = wire_agent(&shown);

	for (size_t i = 0; i < question->line_count; i++)
		free((char *)(uintptr_t)lines[i].text); /* redact_command() made them */
	free(lines);
	return what;
}

static void webhook_agent_asked(struct approver *self,
				const struct approver_agent_question *question)
{
	if (self->queued >= WEBHOOK_QUEUE_MAX)
		return webhook_failed(self, "too many questions are waiting to be sent");
	webhook_send(self, webhook_body(self, question->id, question->left_ms,
					webhook_describe_agent(question)));
}

static void webhook_changed(struct approver *self, const struct approver_question *question)
{
	(void)self; /* the server was told already */
}

static void webhook_retract(struct approver *self, const struct approver_end *end)
{
	(void)self; /* as above; the message has the deadline */
}

static bool webhook_is_attached(const struct approver *self)
{
	return self->web != NULL; /* a person may open the link */
}

static void webhook_close(struct approver *self)
{
	struct webhook_news *news;

	if (!self)
		return;
	while ((news = TAILQ_FIRST(&self->queue))) {
		TAILQ_REMOVE(&self->queue, news, entry);
		free(news->body);
		free(news);
	}
	loop_timer_stop(&self->next);
	subprocess_stop(&self->subprocess);
	free(self);
}

static struct approver *webhook_open(struct gateway *gw, struct loop *loop,
				     const struct gateway_config *config, struct err *why)
{
	if (!config->helpers || !config->helpers->webhook)
		return NULL;
	struct approver *self = mem_new(sizeof(*self));

	self->loop = loop;
	self->config = config->helpers->webhook;
	self->run = config->run;
	self->web = config->web && config->web->answer_origin ? config->web : NULL;
	self->subprocess = SUBPROCESS_NONE;
	TAILQ_INIT(&self->queue);
	return self;
}

const struct approver_ops webhook_approver = {
	.name = "webhook",
	.open = webhook_open,
	.is_attached = webhook_is_attached,
	.ask = webhook_ask,
	.agent_asked = webhook_agent_asked,
	.changed = webhook_changed,
	.retract = webhook_retract,
	.close = webhook_close,
};
