#include "gateway/approvers/metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/metrics/metrics_text.h"
#include "gateway/approvers/table.h"
#include "gateway/audit/journal.h"
#include "gateway/gateway_metrics.h"
#include "gateway/link/link_server.h"
#include "gateway/state.h"

static void metrics_admit(int fd, uint16_t peer_port, void *arg)
{
	struct approver *self = arg;

	if (self->clients.count == METRICS_CLIENTS_MAX)
		fd_close(fd);
	else
		metrics_client_new(self, fd);
}

int metrics_write(const struct approver *self, struct evbuffer *out)
{
	struct gateway *gw = self->gw;
	struct metrics_now now = { .version = self->version,
				   .is_recording = !journal_has_failed(gw->journal) };
	const struct waiter *waiter;
	const struct grant *grant;

	journal_missing(gw->journal, &now.denied, &now.lost);
	TAILQ_FOREACH (waiter, &gw->live.open, entry)
		now.connections++;
	TAILQ_FOREACH (grant, &gw->grants.all, order)
		now.grants++;
	now.workers = link_server_count(gw);
	return metrics_text(out, &self->counts, &now);
}

static void metrics_close(struct approver *self)
{
	if (!self)
		return;
	served_all_done(&self->clients);
	listener_close(&self->listener);
	metrics_counts_done(&self->counts);
	free(self->version);
	free(self);
}

static struct approver *metrics_open(struct gateway *gw, struct loop *loop,
				     const struct gateway_config *config, struct err *why)
{
	if (!config->metrics || config->metrics->fd < 0)
		return NULL;

	struct approver *self = mem_new(sizeof(*self));

	self->gw = gw;
	self->loop = self->clients.loop = loop;
	self->is_local = config->metrics->is_local;
	self->version = mem_strdup(config->version ? config->version : "");
	int r = listener_open(&self->listener, loop, fd_take(&config->metrics->fd), metrics_admit,
			      self);

	if (r == 0)
		return self;
	(void)err_errno(why, -r, "cannot watch the socket of --metrics"); /* the caller gets NULL */
	metrics_close(self);
	return NULL;
}

static bool metrics_is_attached(const struct approver *self)
{
	(void)self;
	return false; /* it answers nothing */
}

static void metrics_ask(struct approver *self, const struct approver_question *question)
{
	metrics_counts_asked(&self->counts);
}

static void metrics_changed(struct approver *self, const struct approver_question *question)
{
	(void)self; /* it is the same question */
}

static void metrics_retract(struct approver *self, const struct approver_end *end)
{
	metrics_counts_ended(&self->counts, end);
}

static void metrics_heard(struct approver *self, const struct sink_record *record)
{
	metrics_counts_record(&self->counts, record);
}

const struct approver_ops metrics_approver = {
	.name = "metrics",
	.open = metrics_open,
	.is_attached = metrics_is_attached,
	.ask = metrics_ask,
	.changed = metrics_changed,
	.retract = metrics_retract,
	.heard = metrics_heard,
	.close = metrics_close,
};
