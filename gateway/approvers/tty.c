#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/tty.h"
#include "gateway/approvers/tty_answer.h"

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
	event_del(self->resize_event);
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
	self->view = TTY_VIEW_NONE;
	loop_defer(self->loop, &self->task, tty_tell_gone, self);
}

static void tty_open_keys(void *arg)
{
	tty_enter(arg, TTY_OPEN);
}

static void tty_guard(void *arg)
{
	struct approver *self = arg;

	self->fences = 0; /* answered, or never to be */
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
	self->drawn = self->fences = 0;
	event_add(self->read_event, NULL);
	event_add(self->resize_event, NULL);
	return true;
}

/* Its text is the gateway's: it is read again with every drawing. */
static void tty_keep(struct approver *self, const struct approver_question *question)
{
	self->draft.has_program = question->program && question->program[0] != '\0';
	self->question = *question;
	self->question.command_count = 0;
	self->question.rule = self->question.because = self->question.warning = NULL;
	self->question.program = self->question.chain = NULL;
	memset(self->question.commands, 0, sizeof(self->question.commands));
}

/* Nothing typed until the question stood there can answer it: what the kernel holds is flushed,
 * what is on its way is behind the fence, and what a hand is about to type falls into the guard. */
static void tty_show(struct approver *self, enum tty_view view,
		     const struct approver_question *question)
{
	char note[TTY_NOTE_MAX];

	if (!tty_seize(self))
		return;
	if (self->state != TTY_BETWEEN && self->state != TTY_IDLE)
		tty_enter(self, TTY_BETWEEN); /* another takes its place */
	tty_enter(self, TTY_DRAWING);
	memcpy(note, self->draft.note, sizeof(note));
	self->draft = (struct tty_draft){ 0 };
	memcpy(self->draft.note, note, sizeof(note));
	self->view = view;
	self->wanted = TTY_VIEW_NONE;
	self->question.id[0] = '\0';
	if (view == TTY_VIEW_LIST) {
		tty_list_sync(self);
	} else {
		tty_keep(self, question);
		(void)tty_answer_cover(self, NULL); /* what cannot be said is not shown */
	}
	tty_draw(self);
	if (!self->look.has_escapes)
		return;
	(void)evbuffer_add(self->out, TTY_FENCE_TEXT, strlen(TTY_FENCE_TEXT));
	self->fences++;
}

/* What is open at the gateway. */
struct tty_round {
	const char *shown, *wanted; /* ids */
	unsigned int total;
	bool has_shown, has_wanted;
	struct approver_question next; /* the one wanted, else the oldest; its text is borrowed */
};

static void tty_count(const struct approver_question *question, void *arg)
{
	struct tty_round *round = arg;
	bool is_wanted = !round->has_wanted && strcmp(round->wanted, question->id) == 0;

	if (round->total++ == 0 || is_wanted)
		round->next = *question;
	round->has_wanted = round->has_wanted || is_wanted;
	round->has_shown = round->has_shown || strcmp(round->shown, question->id) == 0;
}

/* Nobody has typed into it: it may still become a list, behind a fence of its own. */
static bool tty_is_fresh(const struct approver *self)
{
	return self->state == TTY_DRAWING || self->state == TTY_FENCE || self->state == TTY_GUARD;
}

/* While output waits, what is shown goes stale instead of queueing up behind it. */
static void tty_refresh(struct approver *self)
{
	if (self->is_stale && self->view != TTY_VIEW_NONE && evbuffer_get_length(self->out) == 0)
		tty_draw(self);
}

static void tty_next_shown(struct approver *self, const struct tty_round *round)
{
	unsigned int others = round->total - round->has_shown;

	if (self->view == TTY_VIEW_ONE) {
		if (round->total >= TTY_LIST_LEAST && tty_is_fresh(self))
			return tty_show(self, TTY_VIEW_LIST, NULL);
		if (self->others != others)
			self->is_stale = self->look.has_escapes;
		self->others = others;
	} else {
		tty_list_sync(self);
		if (self->list.count == 0)
			return tty_settled(self, "  no question is left");
	}
	tty_refresh(self);
}

/* The gateway is the only queue: whatever is open there comes to the screen one after another,
 * oldest first, or as a list when it is much. */
static void tty_next(void *arg)
{
	struct approver *self = arg;
	struct tty_round round = { .shown = self->question.id, .wanted = self->wanted_id };

	if (self->state == TTY_GONE)
		return;
	gateway_each_question(self->gw, tty_count, &round);
	if (self->view != TTY_VIEW_NONE) {
		tty_next_shown(self, &round);
	} else if (round.total > 0) {
		bool is_list = self->wanted == TTY_VIEW_LIST ||
			       (!round.has_wanted && round.total >= TTY_LIST_LEAST);

		self->others = round.total - 1;
		tty_show(self, is_list ? TTY_VIEW_LIST : TTY_VIEW_ONE, &round.next);
	} else if (self->state == TTY_BETWEEN && self->drawn > 0) {
		tty_settled(self, "  no question is left");
	} else if (self->state == TTY_BETWEEN && evbuffer_get_length(self->out) == 0) {
		self->draft.note[0] = '\0';
		tty_release(self);
		return tty_enter(self, TTY_IDLE);
	}
	tty_flush(self);
}

static void tty_hide(struct approver *self)
{
	self->question.id[0] = self->wanted_id[0] = '\0';
	self->view = self->wanted = TTY_VIEW_NONE;
	self->is_stale = false;
	tty_list_done(&self->list);
}

void tty_settled(struct approver *self, const char *line)
{
	tty_hide(self);
	self->draft = (struct tty_draft){ 0 };
	if (!tty_is_held(self))
		return;
	if (self->state != TTY_BETWEEN)
		tty_enter(self, TTY_BETWEEN);
	(void)evbuffer_add_printf(self->out, "\r\n%s\r\n", line); /* only out of memory */
	tty_draw_end(self);
	self->drawn = 0;
	tty_flush(self);
}

void tty_switch(struct approver *self, const char *id)
{
	tty_hide(self);
	self->wanted = id ? TTY_VIEW_ONE : TTY_VIEW_LIST;
	(void)snprintf(self->wanted_id, sizeof(self->wanted_id), "%s", id ? id : "");
	tty_enter(self, TTY_BETWEEN);
	tty_later(self);
}

void tty_note(struct approver *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(self->draft.note, sizeof(self->draft.note), format, args); /* cut is fine */
	va_end(args);
	self->is_stale = true;
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
	if (event == TTY_READY && self->fences > 0)
		self->fences--;
	if (self->state == TTY_FENCE && event == TTY_READY && self->fences == 0)
		tty_guard(self);
	else if (self->state == TTY_GUARD)
		tty_guarded(self, event);
	else if (self->state == TTY_OPEN && event == TTY_KEY)
		tty_keys_press(self, byte);
	else if (self->state == TTY_OPEN && (event == TTY_UP || event == TTY_DOWN))
		tty_list_keys_move(self, event == TTY_UP ? -1 : 1);
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
	tty_refresh(self);
	tty_flush(self);
}

/* Lines that have wrapped are more than we go up: a piece of the old page stays above then. */
static void tty_resized(evutil_socket_t signal, short what, void *arg)
{
	struct approver *self = arg;

	self->is_stale = self->view != TTY_VIEW_NONE && self->look.has_escapes;
	tty_later(self);
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
		if (self->view != TTY_VIEW_NONE)
			(void)evbuffer_add(self->out, "\r\n", 2);
		tty_draw_end(self);
		(void)tty_terminal_flush(self); /* what does not fit now is lost */
		tty_release(self);
	}
	loop_timer_stop(&self->timer);
	loop_timer_stop(&self->task);
	if (self->read_event)
		event_free(self->read_event);
	if (self->write_event)
		event_free(self->write_event);
	if (self->resize_event)
		event_free(self->resize_event);
	if (self->out)
		evbuffer_free(self->out);
	tty_list_done(&self->list);
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
	self->fd = self->keeper.socket = -1;
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
	self->resize_event =
		event_new(loop_base(loop), SIGWINCH, EV_SIGNAL | EV_PERSIST, tty_resized, self);
	if (!self->out || !self->read_event || !self->write_event || !self->resize_event)
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
	if (self->view != TTY_VIEW_LIST && strcmp(self->question.id, question->id) != 0)
		return;
	self->is_stale = self->is_stale || self->look.has_escapes;
	tty_later(self);
}

static void tty_retract(struct approver *self, const struct approver_end *end)
{
	if (self->state == TTY_GONE)
		return;
	tty_list_forget(&self->list, end->id);
	if (self->question.id[0] == '\0' || strcmp(self->question.id, end->id) != 0)
		return tty_later(self); /* one less waits */

	auto_free char *shown = text_visible_dup(end->how ? end->how : "finished");
	auto_free char *line = mem_printf("  %s", shown);
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
