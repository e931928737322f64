/* `audit send`: sends the records of the log to a receiver, and goes on with new ones. The log
 * keeps what is not sent, so nothing here is on the way of a decision. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/watch.h"
#include "cli/audit/selection.h"
#include "cli/audit/send/place.h"
#include "cli/audit/send/receiver_impl.h"
#include "cli/audit/send/spool.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway_tools.h"

#define SEND_BACKOFF_MS 1000  /* after a failure; it doubles */
#define SEND_BACKOFF_TO 60000 /* at most */
#define SEND_TRIES      4     /* with --once */

struct send {
	struct selection selection;
	char *path, *dir; /* of the log, absolute; of its segments */
	const char *to;
	bool is_once;
	bool has_noted; /* that the log cannot be merged into */
	const struct receiver_ops *ops;
	struct receiver *receiver;
	struct place place;
	struct spool_place sent;
	uint64_t count, lost; /* of this process */
	/* While it waits. */
	struct loop *loop;
	struct loop_timer timer;
	unsigned int failures; /* in a row */
	int64_t backoff_ms;
	int status;
};

static void send_note(const char *text)
{
	auto_free char *shown = text_visible_once(text);

	(void)cli_fail(0, "%s", shown);
}

/* Puts the records of killed runs into the log. Says once that this cannot be done. */
static void send_merge(struct send *self)
{
	unsigned int live, killed;
	struct err why = { 0 };

	gateway_audit_left(self->path, self->dir, &live, &killed);
	int r = killed > 0 ? gateway_audit_merge(self->path, self->dir, &why) : 0;

	if (r < 0 && r != -EBUSY && !self->has_noted)
		send_note(why.text);
	self->has_noted = r < 0 && r != -EBUSY;
}

/* The receiver has the batch. */
static int send_keep(struct send *self, struct spool_batch *batch, uint64_t refused,
		     struct err *why)
{
	if (batch->missing > 0)
		(void)cli_fail(0,
			       "%" PRIu64 " of the records up to %" PRIu64
			       " are not in the log: they were pruned before they were sent, or "
			       "are damaged",
			       batch->missing, batch->end.seq);
	if (refused > batch->count)
		refused = batch->count;
	if (refused > 0)
		(void)cli_fail(0, "%s refused %" PRIu64 " of the records up to %" PRIu64, self->to,
			       refused, batch->end.seq);
	if (self->failures > 0)
		(void)cli_fail(0, "%s takes records again", self->to);
	self->failures = 0;
	self->backoff_ms = SEND_BACKOFF_MS;
	batch->end.lost += refused;
	self->sent = batch->end;
	self->count += batch->count - refused;
	self->lost += batch->missing + refused;
	return place_save(&self->place, &self->sent, why);
}

static int send_batches(struct send *self, struct spool *spool, struct err *why)
{
	int r = 0;

	for (bool has_more = true; r == 0 && has_more;) {
		struct spool_batch *batch = spool_next(spool);
		uint64_t refused = 0;

		has_more = batch->count > 0;
		if (has_more)
			r = self->ops->send(self->receiver, batch, &refused, why);
		if (has_more && r == 0) {
			r = send_keep(self, batch, refused, why);
			spool->place.lost = self->sent.lost;
		}
		spool_free_batch(batch);
	}
	return r;
}

/* All that the log has. */
static int send_all(struct send *self, struct err *why)
{
	struct spool spool;

	send_merge(self);
	int r = spool_open(&spool, self->path, &self->sent, send_note, why);

	if (r == -ENOENT && !self->is_once)
		r = 0; /* the first run will make it */
	else if (r == 0)
		r = send_batches(self, &spool, why);
	spool_close(&spool);
	return r;
}

static void send_turn(void *arg);

static void send_failed(struct send *self, const struct err *why)
{
	bool is_over = self->is_once && self->failures + 1 == SEND_TRIES;

	if (self->failures++ == 0 || is_over) {
		auto_free char *shown = text_visible_once(why->text);

		(void)cli_fail(0, "%s: %s; the log keeps what was not sent", self->to, shown);
	}
	if (is_over) {
		self->status = CLI_ERROR;
		loop_stop(self->loop);
		return;
	}
	loop_timer_start(self->loop, &self->timer, self->backoff_ms, send_turn, self);
	self->backoff_ms *= 2;
	if (self->backoff_ms > SEND_BACKOFF_TO)
		self->backoff_ms = SEND_BACKOFF_TO;
}

static void send_turn(void *arg)
{
	struct send *self = arg;
	struct err why = { 0 };

	if (send_all(self, &why) < 0)
		send_failed(self, &why);
	else if (self->is_once)
		loop_stop(self->loop);
}

/* After a failure the timer runs. */
static void send_changed(void *arg)
{
	struct send *self = arg;

	if (self->failures == 0)
		send_turn(self);
}

static int send_run(struct send *self)
{
	char *const paths[] = { self->path, NULL };

	self->loop = loop_new();
	self->backoff_ms = SEND_BACKOFF_MS;
	struct watch *watch = watch_new(self->loop, true, send_changed, self);

	if (!self->is_once)
		watch_set(watch, paths, self->selection.now_us);
	loop_defer(self->loop, &self->timer, send_turn, self);
	if (loop_run(self->loop) < 0)
		self->status = cli_fail(CLI_ERROR, "cannot wait for new records");
	watch_free(watch);
	loop_timer_stop(&self->timer);
	loop_free(self->loop);
	if (self->status != CLI_OK)
		return self->status;
	(void)printf("%s: sent %" PRIu64 " record%s", self->to, self->count,
		     self->count == 1 ? "" : "s");
	if (self->lost > 0)
		(void)printf(", %" PRIu64 " lost", self->lost);
	(void)printf("\n");
	return self->lost > 0 ? CLI_DENIED : CLI_OK;
}

static int send_open(struct send *self, const struct options *options)
{
	const char *headers = options_get(options, OPT_HEADERS), *colon = strstr(self->to, "://");
	auto_free char *file = headers ? realpath(headers, NULL) : NULL;
	const struct receiver_config config = { self->to, file };
	struct err why = { 0 };

	if (headers && !file)
		return cli_fail(CLI_ERROR, "cannot open %s: %s", headers, strerror(errno));
	for (size_t i = 0; colon && receiver_table[i] && !self->ops; i++) {
		size_t len = strlen(receiver_table[i]->scheme);

		if (len == (size_t)(colon - self->to) &&
		    strncmp(receiver_table[i]->scheme, self->to, len) == 0)
			self->ops = receiver_table[i];
	}
	auto_free char *shown = text_visible_dup(self->to);

	if (!self->ops)
		return options_wrong(options->command,
				     "`%s` is not otlp+http://HOST:PORT, otlp+https://HOST:PORT, "
				     "postgresql://... or syslog+tls://HOST:PORT",
				     shown);
	int r = self->ops->open(&config, &self->receiver, &why);

	if (r == 0)
		return CLI_OK;
	auto_free char *words = text_visible_once(why.text);

	return r == -EINVAL ? options_wrong(options->command, "%s", words)
			    : cli_fail(CLI_ERROR, "cannot send to %s: %s", shown, words);
}

static int send_find_place(struct send *self)
{
	struct err why = { 0 };

	self->dir = cli_audit_dir();
	if (!self->dir)
		return cli_fail(CLI_ERROR,
				"there is no state folder to remember what was sent; set HOME");
	int r = cli_make_dirs(self->dir);

	if (r < 0)
		return cli_fail(CLI_ERROR, "cannot make the folder %s: %s", self->dir,
				strerror(-r));
	self->path = realpath(self->selection.path, NULL);
	if (!self->path && (self->is_once || self->selection.path[0] != '/'))
		return cli_fail(CLI_ERROR, "cannot open %s: %s", self->selection.path,
				strerror(errno));
	if (!self->path)
		self->path = mem_strdup(self->selection.path);
	r = place_open(&self->place, self->dir, self->path, self->to, &self->sent, &why);
	return r < 0 ? cli_fail(CLI_ERROR, "%s", why.text) : CLI_OK;
}

int cli_audit_send(const struct options *options)
{
	struct send self = { .to = options->operands[0],
			     .is_once = options_has(options, OPT_ONCE),
			     .place = { .folder = -1, .lock = -1 } };
	int status = selection_take(&self.selection, options, SELECTION_ALL);

	if (status == CLI_OK)
		status = send_open(&self, options);
	if (status == CLI_OK)
		status = send_find_place(&self);
	if (status == CLI_OK)
		status = send_run(&self);
	if (self.receiver)
		self.ops->close(self.receiver);
	place_close(&self.place);
	free(self.path);
	free(self.dir);
	selection_done(&self.selection);
	return status;
}
