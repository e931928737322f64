#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/tty.h"

#define TTY_FENCE_TEXT "\x1b[5n" /* DSR, answered in order with everything asked before it */
#define TTY_READ_BYTES 1024

static const unsigned int tty_may_enter[] = {
	[TTY_IDLE] = BIT(TTY_DRAWING) | BIT(TTY_GONE),
	[TTY_DRAWING] = BIT(TTY_FENCE) | BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_FENCE] = BIT(TTY_GUARD) | BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_GUARD] = BIT(TTY_OPEN) | BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_OPEN] = BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_BETWEEN] = BIT(TTY_DRAWING) | BIT(TTY_IDLE) | BIT(TTY_GONE),
	[TTY_GONE] = 0,
};

static void tty_next(void *arg);

static void tty_enter(struct approver *self, enum tty_state next)
{
	assert(tty_may_enter[self->state] & BIT(next));
	loop_timer_stop(&self->timer);
	self->state = next;
}

static bool tty_is_held(const struct approver *self)
{
	return self->state != TTY_IDLE && self->state != TTY_GONE;
}

static void tty_later(struct approver *self)
{
	loop_defer(self->loop, &self->task, tty_next, self);
}

static void tty_release(struct approver *self)
{
	event_del(self->read_event);
	event_del(self->write_event);
	tty_terminal_restore(self);
	if (self->terminal->release)
		self->terminal->release(self->terminal->arg);
}

static void tty_tell_gone(void *arg)
{
	struct approver *self = arg;

	gateway_approvers_changed(self->gw);
}

static void tty_gone(struct approver *self)
{
	if (self->state == TTY_GONE)
		return;
	if (tty_is_held(self))
		tty_release(self);
	tty_enter(self, TTY_GONE);
	self->question.id[0] = '\0';
	loop_defer(self->loop, &self->task, tty_tell_gone, self);
}

static void tty_open_keys(void *arg)
{
	tty_enter(arg, TTY_OPEN);
}

static void tty_guard(void *arg)
{
	struct approver *self = arg;

	tty_enter(self, TTY_GUARD);
	self->guard_since_ms = loop_now_ms(self->loop);
	loop_timer_start(self->loop, &self->timer, TTY_GUARD_MS, tty_open_keys, self);
}

/* Only what stands on the screen can be answered: the fence begins here, not when the question was
 * sent. */
static void tty_drained(struct approver *self)
{
	if (self->state == TTY_DRAWING) {
		tty_enter(self, TTY_FENCE);
		loop_timer_start(self->loop, &self->timer, TTY_FENCE_MS, tty_guard, self);
	}
	if (self->state == TTY_BETWEEN || self->is_stale)
		tty_later(self);
}

static void tty_flush(struct approver *self)
{
	int r;

	if (!tty_is_held(self))
		return;
	/* A terminal that takes nothing shows nothing: no question is open on it. */
	if (evbuffer_get_length(self->out) > TTY_QUEUE_MAX_BYTES)
		return tty_gone(self);
	r = tty_terminal_flush(self);
	if (r == -EAGAIN)
		event_add(self->write_event, NULL);
	else if (r < 0)
		return tty_gone(self);
	else
		tty_drained(self);
}

/* Holds the command and takes the terminal. False: not now. */
static bool tty_seize(struct approver *self)
{
	if (tty_is_held(self))
		return true;
	if (tty_terminal_is_elsewhere(self)) {
		loop_timer_start(self->loop, &self->timer, TTY_RECHECK_MS, tty_next, self);
		return false;
	}
	if (self->terminal->hold)
		self->terminal->hold(self->terminal->arg);
	if (tty_terminal_seize(self) < 0) {
		if (self->terminal->release)
			self->terminal->release(self->terminal->arg);
		tty_gone(self);
		return false;
	}
	self->input = (struct tty_input){ 0 };
	event_add(self->read_event, NULL);
	return true;
}

static void tty_keep(struct approver *self, const struct approver_question *question)
{
	self->question = *question;
	self->question.command_count = 0;
	self->question.rule = self->question.because = NULL;
	memset(self->question.commands, 0, sizeof(self->question.commands));
}

/* Nothing typed until the question stood there can answer it: what the kernel holds is flushed,
 * what is on its way is behind the fence, and what a hand is about to type falls into the guard. */
static void tty_show(struct approver *self, const struct approver_question *question)
{
	if (!tty_seize(self))
		return;
	tty_enter(self, TTY_DRAWING);
	tty_keep(self, question);
	self->look.width = tty_terminal_width(self);
	self->letter = 0;
	self->empty_count = 0;
	self->count_lines = tty_prompt_draw(self->out, &self->look, question, self->others);
	if (self->look.has_escapes)
		(void)evbuffer_add(self->out, TTY_FENCE_TEXT, strlen(TTY_FENCE_TEXT));
}

struct tty_round {
	struct approver *self;
	unsigned int others;
	bool is_shown;
};

static void tty_count_other(const struct approver_question *question, void *arg)
{
	struct tty_round *round = arg;

	if (strcmp(round->self->question.id, question->id) != 0)
		round->others++;
}

static void tty_show_first(const struct approver_question *question, void *arg)
{
	struct tty_round *round = arg;

	if (round->is_shown)
		return;
	round->is_shown = true;
	round->self->others = round->others - 1;
	tty_show(round->self, question);
}

/* While output waits, the count goes stale instead of queueing up behind it. */
static void tty_recount(struct approver *self, unsigned int others)
{
	if (self->others != others)
		self->is_stale = true;
	self->others = others;
	if (!self->is_stale || evbuffer_get_length(self->out) > 0)
		return;
	self->is_stale = false;
	tty_prompt_recount(self->out, &self->look, self->count_lines, self->letter != 0,
			   &self->question, others);
}

/* The gateway is the only queue: whatever is open there comes to the screen one after another,
 * oldest first. */
static void tty_next(void *arg)
{
	struct approver *self = arg;
	struct tty_round round = { .self = self };

	if (self->state == TTY_GONE)
		return;
	gateway_each_question(self->gw, tty_count_other, &round);
	if (self->question.id[0] != '\0') {
		tty_recount(self, round.others);
	} else if (round.others > 0) {
		gateway_each_question(self->gw, tty_show_first, &round);
	} else if (self->state == TTY_BETWEEN && evbuffer_get_length(self->out) == 0) {
		tty_release(self);
		return tty_enter(self, TTY_IDLE);
	}
	tty_flush(self);
}

void tty_settled(struct approver *self, const char *line)
{
	self->question.id[0] = '\0';
	if (!tty_is_held(self))
		return;
	tty_enter(self, TTY_BETWEEN);
	self->is_stale = false;
	(void)evbuffer_add_printf(self->out, "%s\r\n", line); /* only out of memory */
	tty_flush(self);
}

/* A report in the guard may be the last of a flood that the command provoked, so silence is waited
 * for however long it takes; a person who goes on typing is not kept for ever. */
static void tty_guarded(struct approver *self, enum tty_event event)
{
	int64_t spent_ms = loop_now_ms(self->loop) - self->guard_since_ms;

	if (event == TTY_KEY && spent_ms >= TTY_GUARD_MOST_MS)
		return;
	loop_timer_start(self->loop, &self->timer, TTY_GUARD_MS, tty_open_keys, self);
}

static void tty_byte(struct approver *self, unsigned char byte)
{
	enum tty_event event = tty_input_feed(&self->input, byte);

	if (event == TTY_NOTHING)
		return;
	if (self->state == TTY_FENCE && event == TTY_READY)
		tty_guard(self);
	else if (self->state == TTY_GUARD)
		tty_guarded(self, event);
	else if (self->state == TTY_OPEN && event == TTY_KEY)
		tty_keys_press(self, byte);
}

static void tty_readable(evutil_socket_t fd, short what, void *arg)
{
	struct approver *self = arg;
	unsigned char bytes[TTY_READ_BYTES];
	ssize_t got = tty_terminal_read(self, bytes, sizeof(bytes));

	if (got < 0)
		return tty_gone(self);
	for (ssize_t i = 0; i < got; i++)
		tty_byte(self, bytes[i]);
	tty_flush(self);
}

static void tty_writable(evutil_socket_t fd, short what, void *arg)
{
	tty_flush(arg);
}

static void tty_close(struct approver *self)
{
	if (!self)
		return;
	if (tty_is_held(self)) {
		if (self->question.id[0] != '\0')
			(void)evbuffer_add(self->out, "\r\n", 2);
		(void)tty_terminal_flush(self); /* what does not fit now is lost */
		tty_release(self);
	}
	loop_timer_stop(&self->timer);
	loop_timer_stop(&self->task);
	if (self->read_event)
		event_free(self->read_event);
	if (self->write_event)
		event_free(self->write_event);
	if (self->out)
		evbuffer_free(self->out);
	tty_terminal_close(self);
	free(self);
}

static struct approver *tty_open(struct gateway *gw, struct loop *loop,
				 const struct gateway_config *config, struct err *why)
{
	struct approver *self;

	if (!config->terminal)
		return NULL;
	self = mem_new(sizeof(*self));
	self->gw = gw;
	self->loop = loop;
	self->terminal = config->terminal;
	self->fd = -1;
	if (tty_terminal_open(self, config->terminal->fd, why) < 0) {
		tty_close(self);
		return NULL;
	}
	tty_prompt_look(&self->look);
	self->look.may_always = config->answers_path != NULL;
	self->out = evbuffer_new();
	self->read_event =
		event_new(loop_base(loop), self->fd, EV_READ | EV_PERSIST, tty_readable, self);
	self->write_event = event_new(loop_base(loop), self->fd, EV_WRITE, tty_writable, self);
	if (!self->out || !self->read_event || !self->write_event)
		abort(); /* out of memory, as in base/mem */
	return self;
}

static bool tty_is_attached(const struct approver *self)
{
	return self->state != TTY_GONE && !tty_terminal_is_hung_up(self) &&
	       !tty_terminal_is_elsewhere(self);
}

static void tty_ask(struct approver *self, const struct approver_question *question)
{
	if (self->state != TTY_GONE)
		tty_later(self);
}

static void tty_changed(struct approver *self, const struct approver_question *question)
{
	if (strcmp(self->question.id, question->id) != 0)
		return;
	self->question.waiting = question->waiting;
	self->question.left_ms = question->left_ms;
	self->is_stale = true;
	tty_later(self);
}

static void tty_retract(struct approver *self, const struct approver_end *end)
{
	if (self->state == TTY_GONE)
		return;
	if (strcmp(self->question.id, end->id) != 0)
		return tty_later(self); /* one less waits */

	auto_free char *shown = text_visible_dup(end->how ? end->how : "finished");
	auto_free char *line = mem_printf("\r\n  %s", shown);
	tty_settled(self, line);
}

const struct approver_ops tty_approver = {
	.name = "tty",
	.open = tty_open,
	.is_attached = tty_is_attached,
	.ask = tty_ask,
	.changed = tty_changed,
	.retract = tty_retract,
	.close = tty_close,
};
