#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/tty.h"

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

void tty_enter(struct approver *self, enum tty_state next)
{
	assert(tty_may_enter[self->state] & BIT(next));
	loop_timer_stop(&self->timer);
	self->state = next;
}

bool tty_is_held(const struct approver *self)
{
	return self->state != TTY_IDLE && self->state != TTY_GONE;
}

void tty_later(struct approver *self)
{
	loop_defer(self->loop, &self->task, tty_turn_next, self);
}

/* Back to the terminal itself, and to the command that has it. */
static void tty_let_go(struct approver *self)
{
	if (self->is_in_window)
		tty_window_close(self);
	else if (self->terminal->release)
		self->terminal->release(self->terminal->arg);
	self->has_no_window = false;
}

void tty_release(struct approver *self)
{
	event_del(self->read_event);
	event_del(self->write_event);
	event_del(self->resize_event);
	tty_terminal_restore(self);
	tty_let_go(self);
}

static void tty_tell_gone(void *arg)
{
	struct approver *self = arg;

	self->source->gone(self->of);
}

/* The window was closed by somebody, or with tmux: the question goes to the terminal behind it. */
static void tty_window_lost(struct approver *self)
{
	/* What was typed into it goes on behind it, and is no answer there. */
	self->is_late |= tty_words_is_typing(&self->draft);
	tty_turn_hide(self);
	if (self->state != TTY_BETWEEN)
		tty_enter(self, TTY_BETWEEN);
	tty_release(self);
	tty_enter(self, TTY_IDLE);
	(void)evbuffer_drain(self->out, evbuffer_get_length(self->out)); /* it was for the window */
	self->has_no_window = true;
	tty_later(self);
}

static void tty_gone(struct approver *self)
{
	if (self->state == TTY_GONE)
		return;
	if (self->is_in_window)
		return tty_window_lost(self);
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

void tty_flush(struct approver *self)
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
bool tty_seize(struct approver *self)
{
	if (tty_is_held(self))
		return true;
	if (tty_terminal_is_elsewhere(self)) {
		loop_timer_start(self->loop, &self->timer, TTY_RECHECK_MS, tty_turn_next, self);
		return false;
	}
	if (!self->is_in_window && tty_window_open(self))
		return false;
	if (!self->is_in_window && self->terminal->hold)
		self->terminal->hold(self->terminal->arg);
	if (tty_terminal_seize(self) < 0) {
		tty_let_go(self);
		tty_gone(self);
		return false;
	}
	self->input = (struct tty_input){ 0 };
	self->drawn = self->fences = 0;
	event_add(self->read_event, NULL);
	event_add(self->resize_event, NULL);
	return true;
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
	if (self->is_late && self->state < TTY_OPEN && event == TTY_KEY)
		tty_keys_late(self, byte);
	if (self->state == TTY_FENCE && event == TTY_READY && self->fences == 0)
		tty_guard(self);
	else if (self->state == TTY_GUARD)
		tty_guarded(self, event);
	else if (self->state == TTY_OPEN && event == TTY_KEY && self->is_late)
		tty_keys_late(self, byte);
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
	tty_words_escape(self);
	tty_turn_refresh(self);
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

void tty_watch(struct approver *self)
{
	struct event_base *base = loop_base(self->loop);

	self->read_event = event_new(base, self->fd, EV_READ | EV_PERSIST, tty_readable, self);
	self->write_event = event_new(base, self->fd, EV_WRITE, tty_writable, self);
	if (!self->read_event || !self->write_event)
		abort(); /* out of memory, as in base/mem */
}

void tty_unwatch(struct approver *self)
{
	if (self->read_event)
		event_free(self->read_event);
	if (self->write_event)
		event_free(self->write_event);
	self->read_event = self->write_event = NULL;
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
	tty_window_close(self);
	tty_popup_free(self->popup);
	tty_unwatch(self);
	if (self->resize_event)
		event_free(self->resize_event);
	if (self->out)
		evbuffer_free(self->out);
	tty_list_done(&self->list);
	tty_answer_forget_given(self);
	tty_shown_done(&self->shown);
	tty_terminal_close(self);
	free(self);
}

struct approver *tty_new(const struct tty_source *source, void *of, struct loop *loop,
			 const struct gateway_config *config, struct err *why)
{
	struct approver *self = mem_new(sizeof(*self));

	self->source = source;
	self->of = of;
	STAILQ_INIT(&self->given);
	STAILQ_INIT(&self->overdue);
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
	tty_watch(self);
	self->popup = tty_popup_new(loop, config, self->fd, tty_window_came, self);
	self->resize_event =
		event_new(loop_base(loop), SIGWINCH, EV_SIGNAL | EV_PERSIST, tty_resized, self);
	if (!self->out || !self->resize_event)
		abort(); /* out of memory, as in base/mem */
	return self;
}

static void own_each(void *of, void (*each)(const struct approver_question *question, void *arg),
		     void *arg)
{
	gateway_each_question(of, each, arg);
}

static int own_text(void *of, const char *id, const struct approver_answer *answer,
		    char out[APPROVER_KEY_MAX], struct err *why)
{
	return gateway_answer_text(of, id, answer, out, why);
}

static int own_give(void *of, const char *id, const struct approver_answer *answer, struct err *why)
{
	return gateway_answer(of, id, answer, why);
}

static void own_touch(void *of, const char *id)
{
	(void)gateway_touch(of, id); /* over: its retraction is on its way */
}

static void own_gone(void *of)
{
	gateway_approvers_changed(of);
}

static const struct tty_source own_source = { own_each, own_text, own_give, own_touch, own_gone };

static struct approver *tty_open(struct gateway *gw, struct loop *loop,
				 const struct gateway_config *config, struct err *why)
{
	return config->terminal ? tty_new(&own_source, gw, loop, config, why) : NULL;
}

static bool tty_is_attached(const struct approver *self)
{
	/* A window that is closed leaves the terminal behind it to ask on. */
	return self->state != TTY_GONE && (self->is_in_window || !tty_terminal_is_hung_up(self)) &&
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

	self->is_late |= tty_words_is_typing(&self->draft);
	auto_free char *shown = text_visible_dup(end->how ? end->how : "finished");
	auto_free char *line = mem_printf("  %s", shown);
	tty_turn_settle(self, line);
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
