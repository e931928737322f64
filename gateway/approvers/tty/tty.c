#include <event2/buffer.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/tty/tty_agent.h"
#include "gateway/approvers/tty/tty_answer.h"
#include "gateway/approvers/screen/tty_draw.h"
#include "gateway/approvers/tty/tty_hold.h"
#include "gateway/approvers/tty/tty_keys.h"
#include "gateway/approvers/tty/tty_list_keys.h"
#include "gateway/approvers/tty/tty_popup.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/tty/tty_source.h"
#include "gateway/approvers/screen/tty_terminal.h"
#include "gateway/approvers/tty/tty_turn.h"
#include "gateway/approvers/screen/tty_window.h"
#include "gateway/approvers/screen/tty_words.h"

#define TTY_READ_BYTES 1024

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
		tty_hold_guard(self);
	else if (self->state == TTY_GUARD)
		tty_hold_guarded(self, event);
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
		return tty_hold_lost(self);
	for (ssize_t i = 0; i < got; i++)
		tty_byte(self, bytes[i]);
	tty_words_escape(self);
	tty_turn_refresh(self);
	tty_hold_flush(self);
}

/* Lines that wrapped in a smaller window are more than the drawing goes up: a part of the old page
 * then stays above. */
static void tty_resized(evutil_socket_t signal, short what, void *arg)
{
	struct approver *self = arg;

	self->is_stale = self->view != TTY_VIEW_NONE && self->look.has_escapes;
	tty_self_later(self);
}

/* Returns the terminal to the shell until we continue. */
static void tty_stopped(evutil_socket_t signal, short what, void *arg)
{
	tty_hold_leave(arg);
	(void)raise(SIGSTOP);
}

static void tty_writable(evutil_socket_t fd, short what, void *arg)
{
	tty_hold_flush(arg);
}

static void tty_close(struct approver *self)
{
	if (!self)
		return;
	if (tty_self_is_held(self)) {
		if (self->view != TTY_VIEW_NONE)
			tty_draw_line(self, "");
		tty_draw_end(self);
		(void)tty_terminal_flush(self); /* what does not fit now is lost */
		tty_hold_release(self);
	}
	loop_timer_stop(&self->timer);
	loop_timer_stop(&self->task);
	loop_timer_stop(&self->tick);
	if (self->source->await)
		gateway_forget_kept(self->of, &self->kept);
	tty_window_close(self);
	tty_popup_free(self->popup);
	tty_terminal_unwatch(self);
	if (self->resize_event)
		event_free(self->resize_event);
	if (self->stop_event)
		event_free(self->stop_event);
	if (self->out)
		evbuffer_free(self->out);
	tty_rows_done(&self->list);
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
	self->next = tty_turn_next;
	self->on_readable = tty_readable;
	self->on_writable = tty_writable;
	self->terminal = config->terminal;
	self->fd = self->keeper.socket = -1;
	if (tty_terminal_open(self, config->terminal->fd, why) < 0) {
		tty_close(self);
		return NULL;
	}
	tty_prompt_look(&self->look);
	self->look.may_always = config->answers_path != NULL;
	self->out = evbuffer_new();
	tty_terminal_watch(self);
	self->popup = tty_popup_new(loop, config, self->fd, tty_window_came, self);
	self->resize_event =
		event_new(loop_base(loop), SIGWINCH, EV_SIGNAL | EV_PERSIST, tty_resized, self);
	if (source->status)
		self->stop_event = event_new(loop_base(loop), SIGTSTP, EV_SIGNAL | EV_PERSIST,
					     tty_stopped, self);
	if (!self->out || !self->resize_event || (source->status && !self->stop_event))
		abort(); /* out of memory, as in base/mem */
	if (source->status) {
		self->look.may_leave = true;
		event_add(self->stop_event, NULL); /* if this fails, it stops without that */
		tty_self_later(self);
	}
	return self;
}

struct own_walk {
	void (*each)(const struct approver_question *question, void *arg);
	void *arg;
};

static void own_agent(const struct approver_agent_question *agent, void *arg)
{
	const struct own_walk *walk = arg;
	struct approver_question question;

	tty_agent_look(agent, &question);
	walk->each(&question, walk->arg);
}

static void own_each(void *of, void (*each)(const struct approver_question *question, void *arg),
		     void *arg)
{
	struct own_walk walk = { each, arg };

	gateway_each_question(of, each, arg);
	gateway_each_agent_question(of, own_agent, &walk);
}

static int own_text(void *of, const char *id, const struct approver_answer *answer,
		    char out[APPROVER_KEY_MAX], struct err *why)
{
	return gateway_answer_text(of, id, answer, out, why);
}

static int own_give(void *of, const char *id, const struct approver_answer *answer, struct err *why)
{
	return gateway_has_agent_question(of, id)
		       ? gateway_answer_agent(of, id, answer, "terminal", why)
		       : gateway_answer(of, id, answer, why);
}

static void own_await(void *of, struct gateway_kept *kept, void (*fn)(void *arg), void *arg)
{
	gateway_when_kept(of, kept, fn, arg);
}

static void own_touch(void *of, const char *id)
{
	(void)gateway_touch(of, id); /* -ENOENT: its retraction follows */
}

static void own_gone(void *of)
{
	gateway_approvers_changed(of);
}

static const struct tty_source own_source = {
	.each = own_each,
	.text = own_text,
	.give = own_give,
	.await = own_await,
	.touch = own_touch,
	.gone = own_gone,
};

static struct approver *tty_open(struct gateway *gw, struct loop *loop,
				 const struct gateway_config *config, struct err *why)
{
	return config->terminal ? tty_new(&own_source, gw, loop, config, why) : NULL;
}

static bool tty_is_attached(const struct approver *self)
{
	/* If a window is closed, the terminal behind it is used instead. */
	return self->state != TTY_GONE && (self->is_in_window || !tty_terminal_is_hung_up(self)) &&
	       !tty_terminal_is_elsewhere(self);
}

static void tty_ask(struct approver *self, const struct approver_question *question)
{
	if (self->state != TTY_GONE)
		tty_self_later(self);
}

static void tty_agent_asked(struct approver *self, const struct approver_agent_question *question)
{
	if (self->state != TTY_GONE)
		tty_self_later(self);
}

static void tty_changed(struct approver *self, const struct approver_question *question)
{
	if (self->view != TTY_VIEW_LIST && strcmp(self->question.id, question->id) != 0)
		return;
	self->is_stale = self->is_stale || self->look.has_escapes;
	tty_self_later(self);
}

/* Returned owned. */
static char *tty_end_line(const struct approver_question *question, const char *how)
{
	auto_free char *name = tty_prompt_name(question);
	auto_free char *shown = text_visible_dup(how ? how : "finished");

	return mem_printf("sallyport   %s %s", name, shown);
}

static void tty_retract(struct approver *self, const struct approver_end *end)
{
	bool is_shown = self->question.id[0] != '\0' && strcmp(self->question.id, end->id) == 0;
	auto_free char *line = NULL;

	if (self->state == TTY_GONE)
		return;
	tty_rows_forget(&self->list, end->id);
	if (is_shown) {
		line = tty_end_line(&self->question, end->how);
		self->is_late |= tty_words_is_typing(&self->draft);
		return tty_turn_settle(self, line);
	}
	tty_self_later(self); /* the number of waiting questions changed */
	if (!end->dst || tty_answer_is_given(self, end->id))
		return;
	line = tty_end_line(&(struct approver_question){ .dst = *end->dst }, end->how);
	tty_turn_say(self, line);
}

const struct approver_ops tty_approver = {
	.name = "tty",
	.open = tty_open,
	.is_attached = tty_is_attached,
	.ask = tty_ask,
	.agent_asked = tty_agent_asked,
	.changed = tty_changed,
	.retract = tty_retract,
	.close = tty_close,
};
