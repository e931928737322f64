#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/programs/subprocess.h"
#include "gateway/approvers/table.h"

#define NOTIFY_AFTER_MS  2000  /* a person at the terminal has usually answered by then */
#define NOTIFY_EVERY_MS  10000 /* between two notices */
#define NOTIFY_TEXT_MAX  160   /* of a destination, and of a command */
#define NOTIFY_WORDS_MAX 16

/* Shows a desktop notice when questions wait. It takes no answers, because any program of the
 * desktop can draw over a notice. */
struct approver {
	struct gateway *gw;
	struct loop *loop;
	const struct gateway_program *program;
	struct subprocess subprocess;
	struct loop_timer timer;
	int64_t told_ms;    /* time of the last notice */
	int64_t told_up_to; /* it covered the questions asked until this time */
};

/* What the next notice is about. */
struct notify_news {
	int64_t now_ms, after_ms, up_to_ms;
	unsigned int count;
	bool has_young; /* some are too new for a notice */
	char destination[POLICY_DESTINATION_TEXT_MAX];
	char command[NOTIFY_TEXT_MAX];
};

static void notify_collect(const struct approver_question *question, void *arg)
{
	struct notify_news *news = arg;
	int64_t asked_ms = news->now_ms - question->age_ms;

	if (asked_ms <= news->after_ms)
		return;
	if (question->age_ms < NOTIFY_AFTER_MS) {
		news->has_young = true;
		return;
	}
	if (asked_ms > news->up_to_ms)
		news->up_to_ms = asked_ms;
	if (news->count++ > 0)
		return;
	(void)policy_destination_text(&question->dst, news->destination);
	if (question->command_count > 0 && question->commands[0])
		(void)snprintf(news->command, sizeof(news->command), "%s", question->commands[0]);
}

/* Makes text visible, cuts it, and escapes markup, which desktops interpret. Returned owned. */
static char *notify_escape(const char *text)
{
	char shown[NOTIFY_TEXT_MAX];
	char *out = mem_new(sizeof(shown) * strlen("&amp;"));
	size_t len = 0;

	(void)text_visible(shown, sizeof(shown), text, strlen(text)); /* may be cut */
	for (const char *c = shown; *c != '\0'; c++) {
		const char *as = *c == '&'   ? "&amp;"
				 : *c == '<' ? "&lt;"
				 : *c == '>' ? "&gt;"
					     : NULL;

		if (!as) {
			out[len++] = *c;
			continue;
		}
		memcpy(out + len, as, strlen(as) + 1);
		len += strlen(as);
	}
	return out;
}

static char *notify_text(const struct notify_news *news)
{
	auto_free char *destination = notify_escape(news->destination);
	auto_free char *command = notify_escape(news->command);

	if (news->count > 1)
		return mem_printf("%u questions are waiting; the first: %s", news->count,
				  destination);
	return mem_printf("%s%s%s", destination, command[0] ? " for: " : "", command);
}

static void notify_timer(void *arg);

static void notify_later(struct approver *self)
{
	int64_t now_ms = loop_now_ms(self->loop);
	int64_t due_ms = self->told_ms + NOTIFY_EVERY_MS;

	if (due_ms < now_ms + NOTIFY_AFTER_MS)
		due_ms = now_ms + NOTIFY_AFTER_MS;
	if (!self->timer.is_armed)
		loop_timer_start(self->loop, &self->timer, due_ms - now_ms, notify_timer, self);
}

static void notify_done(void *arg)
{
	(void)arg; /* the result of a notice has no use */
}

static void notify_say(struct approver *self, const struct notify_news *news)
{
	auto_free char *text = notify_text(news);
	const char *argv[NOTIFY_WORDS_MAX + 3] = { NULL };
	size_t count = 0;

	while (count < NOTIFY_WORDS_MAX && self->program->argv[count]) {
		argv[count] = self->program->argv[count];
		count++;
	}
	argv[count++] = "sallyport asks";
	argv[count] = text;
	self->told_ms = news->now_ms;
	self->told_up_to = news->up_to_ms;
	(void)subprocess_run(&self->subprocess, self->loop, self->program, argv, "", notify_done,
			     self); /* only a notice; the failure was logged */
}

static void notify_timer(void *arg)
{
	struct approver *self = arg;
	struct notify_news news = { .now_ms = loop_now_ms(self->loop),
				    .after_ms = self->told_up_to,
				    .up_to_ms = self->told_up_to };

	if (subprocess_is_running(&self->subprocess))
		return notify_later(self);
	gateway_each_question(self->gw, notify_collect, &news);
	if (news.count > 0)
		notify_say(self, &news);
	if (news.has_young)
		notify_later(self);
}

static void notify_ask(struct approver *self, const struct approver_question *question)
{
	notify_later(self);
}

static void notify_changed(struct approver *self, const struct approver_question *question)
{
	(void)self; /* a notice was shown for it */
}

static void notify_retract(struct approver *self, const struct approver_end *end)
{
	(void)self; /* open questions are checked when the notice is due */
}

static bool notify_is_attached(const struct approver *self)
{
	(void)self;
	return false; /* it answers nothing */
}

static void notify_close(struct approver *self)
{
	if (!self)
		return;
	loop_timer_stop(&self->timer);
	subprocess_stop(&self->subprocess);
	free(self);
}

static struct approver *notify_open(struct gateway *gw, struct loop *loop,
				    const struct gateway_config *config, struct err *why)
{
	if (!config->helpers || !config->helpers->notify)
		return NULL;
	struct approver *self = mem_new(sizeof(*self));

	self->gw = gw;
	self->loop = loop;
	self->program = config->helpers->notify;
	self->subprocess = SUBPROCESS_NONE;
	self->told_ms = -NOTIFY_EVERY_MS;
	self->told_up_to = INT64_MIN;
	return self;
}

const struct approver_ops notify_approver = {
	.name = "notify",
	.open = notify_open,
	.is_attached = notify_is_attached,
	.ask = notify_ask,
	.changed = notify_changed,
	.retract = notify_retract,
	.close = notify_close,
};
