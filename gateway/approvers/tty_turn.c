#include "gateway/approvers/tty.h"

#include <event2/buffer.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gateway/approvers/tty_answer.h"

#define TURN_LATE      "the one before is over: what you type goes nowhere until Enter"
#define TTY_FENCE_TEXT "\x1b[5n" /* DSR, answered in order with everything asked before it */

/* Its text is the gateway's: it is read again with every drawing. */
static void turn_keep(struct approver *self, const struct approver_question *question)
{
	self->draft.has_program = question->program && question->program[0] != '\0';
	self->question = *question;
	self->question.command_count = 0;
	self->question.rule = self->question.because = self->question.warning = NULL;
	self->question.program = self->question.chain = self->question.plea = NULL;
	memset(self->question.commands, 0, sizeof(self->question.commands));
}

/* Nothing typed until the question stood there can answer it: what the kernel holds is flushed,
 * what is on its way is behind the fence, and what a hand is about to type falls into the guard. */
static void turn_show(struct approver *self, enum tty_view view,
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
	self->input.is_text = self->is_late;
	memcpy(self->draft.note, note, sizeof(note));
	if (self->is_late)
		tty_turn_note(self, TURN_LATE);
	self->view = view;
	self->wanted = TTY_VIEW_NONE;
	self->question.id[0] = '\0';
	if (view == TTY_VIEW_LIST) {
		tty_list_sync(self);
	} else {
		turn_keep(self, question);
	}
	tty_draw(self);
	if (!self->look.has_escapes)
		return;
	(void)evbuffer_add(self->out, TTY_FENCE_TEXT, strlen(TTY_FENCE_TEXT));
	self->fences++;
}

/* What is open at the gateway. */
struct turn_round {
	const char *shown, *wanted; /* ids */
	unsigned int total;
	bool has_shown, has_wanted;
	struct approver_question next; /* the one wanted, else the oldest; its text is borrowed */
};

static void turn_count(const struct approver_question *question, void *arg)
{
	struct turn_round *round = arg;
	bool is_wanted = !round->has_wanted && strcmp(round->wanted, question->id) == 0;

	if (round->total++ == 0 || is_wanted)
		round->next = *question;
	round->has_wanted = round->has_wanted || is_wanted;
	round->has_shown = round->has_shown || strcmp(round->shown, question->id) == 0;
}

/* Nobody has typed into it: it may still become a list, behind a fence of its own. */
static bool turn_is_fresh(const struct approver *self)
{
	return self->state == TTY_DRAWING || self->state == TTY_FENCE || self->state == TTY_GUARD;
}

/* While output waits, what is shown goes stale instead of queueing up behind it. */
void tty_turn_refresh(struct approver *self)
{
	if (self->is_stale && self->view != TTY_VIEW_NONE && evbuffer_get_length(self->out) == 0)
		tty_draw(self);
}

static void turn_next_shown(struct approver *self, const struct turn_round *round)
{
	unsigned int others = round->total - round->has_shown;

	if (self->view == TTY_VIEW_ONE) {
		if (round->total >= TTY_LIST_LEAST && turn_is_fresh(self))
			return turn_show(self, TTY_VIEW_LIST, &round->next);
		if (self->others != others)
			self->is_stale = self->look.has_escapes;
		self->others = others;
	} else {
		tty_list_sync(self);
		self->is_late |= self->list.count == 0 && tty_words_is_typing(&self->draft);
		if (self->list.count == 0)
			return tty_turn_settle(self, "  no question is left");
	}
	tty_turn_refresh(self);
}

/* The gateway is the only queue: whatever is open there comes to the screen one after another,
 * oldest first, or as a list when it is much. */
void tty_turn_next(void *arg)
{
	struct approver *self = arg;
	struct turn_round round = { .shown = self->question.id, .wanted = self->wanted_id };

	if (self->state == TTY_GONE || !STAILQ_EMPTY(&self->given))
		return;
	self->source->each(self->of, turn_count, &round);
	if (self->view != TTY_VIEW_NONE) {
		turn_next_shown(self, &round);
	} else if (round.total > 0) {
		bool is_list = self->wanted == TTY_VIEW_LIST ||
			       (!round.has_wanted && round.total >= TTY_LIST_LEAST);

		self->others = round.total - 1;
		turn_show(self, is_list ? TTY_VIEW_LIST : TTY_VIEW_ONE, &round.next);
	} else if (self->state == TTY_BETWEEN && self->drawn > 0) {
		tty_turn_settle(self, "  no question is left");
	} else if (self->state == TTY_BETWEEN && evbuffer_get_length(self->out) == 0) {
		self->draft.note[0] = '\0';
		self->is_late = false;
		tty_release(self);
		return tty_enter(self, TTY_IDLE);
	} else if (self->state == TTY_IDLE) {
		tty_window_close(self); /* it comes too late */
		self->has_no_window = self->is_late = false;
	}
	tty_flush(self);
}

void tty_turn_hide(struct approver *self)
{
	self->question.id[0] = self->wanted_id[0] = '\0';
	self->view = self->wanted = TTY_VIEW_NONE;
	self->is_stale = false;
	tty_list_done(&self->list);
	tty_shown_done(&self->shown);
}

void tty_turn_wait(struct approver *self)
{
	tty_turn_hide(self);
	self->draft = (struct tty_draft){ 0 };
	if (tty_is_held(self) && self->state != TTY_BETWEEN)
		tty_enter(self, TTY_BETWEEN);
	tty_flush(self);
}

void tty_turn_settle(struct approver *self, const char *line)
{
	tty_turn_hide(self);
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

void tty_turn_say(struct approver *self, const char *line)
{
	if (self->view != TTY_VIEW_NONE || !tty_seize(self)) {
		tty_turn_note(self, "%s", line); /* on this page, or on the next */
		return tty_later(self);
	}
	if (self->state == TTY_IDLE)
		tty_enter(self, TTY_DRAWING);
	tty_turn_settle(self, line);
}

void tty_turn_switch(struct approver *self, const char *id)
{
	tty_turn_hide(self);
	self->wanted = id ? TTY_VIEW_ONE : TTY_VIEW_LIST;
	(void)snprintf(self->wanted_id, sizeof(self->wanted_id), "%s", id ? id : "");
	tty_enter(self, TTY_BETWEEN);
	tty_later(self);
}

void tty_turn_note(struct approver *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(self->draft.note, sizeof(self->draft.note), format, args); /* cut is fine */
	va_end(args);
	self->is_stale = true;
}
