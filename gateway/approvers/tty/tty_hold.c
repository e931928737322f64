#include "gateway/approvers/tty/tty_hold.h"

#include <errno.h>
#include <event2/buffer.h>

#include "base/mem.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_draw.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_terminal.h"
#include "gateway/approvers/screen/tty_window.h"
#include "gateway/approvers/screen/tty_words.h"

/* Returns to the terminal itself, and returns that to the command. */
static void hold_let_go(struct approver *self)
{
	tty_terminal_yield(self);
	if (self->is_in_window)
		tty_window_close(self);
	else if (self->terminal->release)
		self->terminal->release(self->terminal->arg);
	self->has_no_window = false;
}

void tty_hold_release(struct approver *self)
{
	event_del(self->read_event);
	event_del(self->write_event);
	event_del(self->resize_event);
	tty_terminal_restore(self);
	hold_let_go(self);
}

static void hold_tell_gone(void *arg)
{
	struct approver *self = arg;

	self->source->gone(self->of);
}

void tty_hold_leave(struct approver *self)
{
	if (!tty_self_is_held(self))
		return;
	/* The person may continue typing elsewhere; that input is not an answer. */
	self->is_late |= tty_words_is_typing(&self->draft);
	tty_shown_hide(self);
	if (self->state != TTY_BETWEEN)
		tty_self_enter(self, TTY_BETWEEN);
	if (self->source->status) {
		tty_draw_line(self, "");
		tty_draw_end(self);
		(void)tty_terminal_flush(self); /* what does not fit now is lost */
	}
	tty_hold_release(self);
	tty_self_enter(self, TTY_IDLE);
	(void)evbuffer_drain(self->out, evbuffer_get_length(self->out));
	tty_self_later(self);
}

/* The window was closed, by a person or with tmux: the question moves to the terminal behind it. */
static void hold_window_lost(struct approver *self)
{
	tty_hold_leave(self);
	self->has_no_window = true;
}

void tty_hold_lost(struct approver *self)
{
	if (self->state == TTY_GONE)
		return;
	if (self->is_in_window)
		return hold_window_lost(self);
	if (tty_self_is_held(self))
		tty_hold_release(self);
	tty_self_enter(self, TTY_GONE);
	self->question.id[0] = '\0';
	self->view = TTY_VIEW_NONE;
	loop_defer(self->loop, &self->task, hold_tell_gone, self);
}

/* From now on keys have an effect, and the label says so. */
static void hold_open_keys(void *arg)
{
	struct approver *self = arg;

	tty_self_enter(self, TTY_OPEN);
	self->is_stale = self->look.has_escapes;
	tty_self_later(self);
}

void tty_hold_guard(struct approver *self)
{
	self->fences = 0; /* answered, or no longer expected */
	tty_self_enter(self, TTY_GUARD);
	self->guard_since_ms = loop_now_ms(self->loop);
	loop_timer_start(self->loop, &self->timer, TTY_GUARD_MS, hold_open_keys, self);
}

static void hold_fence_due(void *arg)
{
	tty_hold_guard(arg);
}

/* Only what is on the screen can be answered: the fence begins after the drawing was written
 * out. */
static void hold_drained(struct approver *self)
{
	if (self->state == TTY_DRAWING) {
		tty_self_enter(self, TTY_FENCE);
		loop_timer_start(self->loop, &self->timer, TTY_FENCE_MS, hold_fence_due, self);
	}
	if (self->state == TTY_BETWEEN || self->is_stale)
		tty_self_later(self);
}

void tty_hold_flush(struct approver *self)
{
	int r;

	if (!tty_self_is_held(self))
		return;
	/* A terminal that accepts no output shows no question, so none is open on it. */
	if (evbuffer_get_length(self->out) > TTY_QUEUE_MAX_BYTES)
		return tty_hold_lost(self);
	r = tty_terminal_flush(self);
	if (r == -EAGAIN)
		event_add(self->write_event, NULL);
	else if (r < 0)
		return tty_hold_lost(self);
	else
		hold_drained(self);
}

bool tty_hold_seize(struct approver *self)
{
	if (tty_self_is_held(self))
		return true;
	if (tty_terminal_is_elsewhere(self)) {
		loop_timer_start(self->loop, &self->timer, TTY_RECHECK_MS, self->next, self);
		return false;
	}
	if (!self->is_in_window && tty_window_open(self))
		return false;
	if (!tty_terminal_claim(self)) {
		loop_timer_start(self->loop, &self->timer, TTY_CLAIM_MS, self->next, self);
		return false;
	}
	if (!self->is_in_window && self->terminal->hold)
		self->terminal->hold(self->terminal->arg);
	if (tty_terminal_seize(self) < 0) {
		hold_let_go(self);
		tty_hold_lost(self);
		return false;
	}
	self->input = (struct tty_input){ 0 };
	self->drawn = self->fences = 0;
	event_add(self->read_event, NULL);
	event_add(self->resize_event, NULL);
	return true;
}

/* A report during the guard may belong to a flood that the command provoked, so the guard ends only
 * after silence; but a person who keeps typing delays it only up to a limit. */
void tty_hold_guarded(struct approver *self, enum tty_event event)
{
	int64_t spent_ms = loop_now_ms(self->loop) - self->guard_since_ms;

	if (event == TTY_KEY && spent_ms >= TTY_GUARD_MOST_MS)
		return;
	loop_timer_start(self->loop, &self->timer, TTY_GUARD_MS, hold_open_keys, self);
}
