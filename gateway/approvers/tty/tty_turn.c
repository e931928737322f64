#include "gateway/approvers/tty/tty_turn.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process/readers.h"
#include "gateway/approvers/screen/tty_draw.h"
#include "gateway/approvers/tty/tty_agent.h"
#include "gateway/approvers/tty/tty_hold.h"
#include "gateway/approvers/tty/tty_list.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_terminal.h"
#include "gateway/approvers/screen/tty_window.h"
#include "gateway/approvers/screen/tty_words.h"

#define TURN_LATE      "the one before is over: what you type goes nowhere until Enter"
#define TTY_FENCE_TEXT "\x1b[5n" /* DSR: terminals answer it in order with earlier requests */

/* Text of the gateway is not kept: it is read again for every drawing. */
static void turn_keep(struct approver *self, const struct approver_question *question)
{
	self->look.is_shared = question->is_shared;
	self->draft.has_program = question->program && question->program[0] != '\0';
	self->question = *question;
	if (question->agent)
		tty_agent_keep(self, question->agent);
	self->question.command_count = 0;
	self->question.rule = self->question.because = self->question.warning = NULL;
	self->question.program = self->question.chain = self->question.plea = NULL;
	self->question.session = NULL;
	memset(self->question.commands, 0, sizeof(self->question.commands));
}

static void turn_tick(void *arg)
{
	struct approver *self = arg;

	if ((self->view != TTY_VIEW_ONE && self->view != TTY_VIEW_LIST) || !self->look.has_escapes)
		return;
	self->is_stale = true;
	loop_timer_start(self->loop, &self->tick, TTY_TICK_MS, turn_tick, self);
	if (self->view == TTY_VIEW_LIST)
		return tty_turn_next(self); /* the time that is left is read with the questions */
	tty_turn_refresh(self);
	tty_hold_flush(self);
}

/* Keys typed before the question was on the screen cannot answer it: the kernel's input queue is
 * flushed, input on its way arrives before the end of the fence, and keys typed too soon fall into
 * the guard. */
static void turn_show(struct approver *self, enum tty_view view,
		      const struct approver_question *question)
{
	char note[TTY_NOTE_MAX];

	if (!tty_hold_seize(self))
		return;
	if (view == TTY_VIEW_STATUS) {
		tty_terminal_yield(self);
	} else if (!tty_terminal_claim(self)) { /* the status was shown until now */
		loop_timer_start(self->loop, &self->tick, TTY_CLAIM_MS, self->next, self);
		return;
	}
	if (self->state != TTY_BETWEEN && self->state != TTY_IDLE)
		tty_self_enter(self, TTY_BETWEEN); /* the next view follows */
	tty_self_enter(self, TTY_DRAWING);
	memcpy(note, self->draft.note, sizeof(note));
	self->draft = (struct tty_draft){ 0 };
	self->input.is_text = self->is_late;
	memcpy(self->draft.note, note, sizeof(note));
	if (self->is_late)
		tty_self_note(self, TURN_LATE);
	self->view = view;
	self->wanted = TTY_VIEW_NONE;
	self->question.id[0] = '\0';
	self->question.agent = NULL;
	self->look.is_shared = false; /* until a question says so */
	if (view == TTY_VIEW_LIST)
		tty_list_sync(self);
	else if (view == TTY_VIEW_ONE)
		turn_keep(self, question);
	loop_timer_start(self->loop, &self->tick, TTY_TICK_MS, turn_tick, self);
	tty_draw(self);
	if (!self->look.has_escapes)
		return;
	(void)evbuffer_add(self->out, TTY_FENCE_TEXT, strlen(TTY_FENCE_TEXT));
	self->fences++;
}

/* The gateway's open questions. */
struct turn_round {
	const char *shown, *wanted; /* ids */
	unsigned int total, agents; /* about destinations; others */
	bool has_shown, has_wanted;
	/* The wanted one, else the oldest of an agent, else the oldest; its text is borrowed. */
	struct approver_question next;
};

static void turn_count(const struct approver_question *question, void *arg)
{
	struct turn_round *round = arg;
	bool is_wanted = !round->has_wanted && strcmp(round->wanted, question->id) == 0;

	unsigned int before = question->agent ? round->agents++ : round->total++;

	bool is_first = before == 0 && (question->agent || !round->next.agent);

	if ((is_first && !round->has_wanted) || is_wanted)
		round->next = *question;
	round->has_wanted = round->has_wanted || is_wanted;
	round->has_shown =
		round->has_shown || (!question->agent && strcmp(round->shown, question->id) == 0);
}

/* True: nobody has typed at the question, or has asked to see it alone, so it may become a list,
 * with a new fence. */
static bool turn_is_untouched(const struct approver *self)
{
	const struct tty_draft *draft = &self->draft;

	if (self->wanted_id[0] != '\0')
		return false;
	if (self->state == TTY_DRAWING || self->state == TTY_FENCE || self->state == TTY_GUARD)
		return true; /* keys have no effect yet */
	return self->state == TTY_OPEN && self->look.has_escapes && !self->is_late &&
	       !draft->was_touched && !draft->is_help && !draft->is_wording &&
	       draft->empty_count == 0;
}

/* While output is queued, the view is marked stale instead of queueing another drawing. */
void tty_turn_refresh(struct approver *self)
{
	if (self->is_stale && self->view != TTY_VIEW_NONE && evbuffer_get_length(self->out) == 0)
		tty_draw(self);
}

/* No view is shown, or only the status: shows what waits. */
static void turn_begin(struct approver *self, const struct turn_round *round)
{
	bool is_listed = round->agents == 0 && round->total >= TTY_LIST_LEAST;
	bool is_list =
		self->wanted == TTY_VIEW_LIST ? round->total > 0 : !round->has_wanted && is_listed;

	self->others = round->total - (round->total > 0 && !round->next.agent);
	self->is_painted = readers_are_here(STDOUT_FILENO) || readers_are_here(STDERR_FILENO);
	turn_show(self,
		  round->total + round->agents == 0 ? TTY_VIEW_STATUS
		  : is_list                         ? TTY_VIEW_LIST
						    : TTY_VIEW_ONE,
		  &round->next);
}

/* The list has only destinations: that an agent asks as well is a note. */
static void turn_note_agents(struct approver *self, const struct turn_round *round)
{
	unsigned int agents = round->agents - (round->agents > 0 && self->question.agent);

	if (agents > self->agents)
		tty_self_note(self, "an agent asks too: its question follows");
	self->agents = agents;
}

static void turn_next_shown(struct approver *self, const struct turn_round *round)
{
	unsigned int others = round->total - round->has_shown;

	if (self->view == TTY_VIEW_STATUS) {
		if (round->total + round->agents > 0)
			return turn_begin(self, round);
	} else if (self->view == TTY_VIEW_ONE) {
		if (!self->question.agent && round->total >= TTY_LIST_LEAST &&
		    turn_is_untouched(self))
			return turn_show(self, TTY_VIEW_LIST, &round->next);
		if (self->others != others)
			self->is_stale = self->look.has_escapes;
		self->others = others;
		turn_note_agents(self, round);
	} else {
		tty_list_sync(self);
		turn_note_agents(self, round);
		self->is_late |= self->list.count == 0 && tty_words_is_typing(&self->draft);
		if (self->list.count == 0)
			return tty_turn_settle(self, "  no question is left");
	}
	tty_turn_refresh(self);
}

/* The gateway has the only queue: its open questions are shown one after another, oldest first, or
 * as a list if there are many. */
void tty_turn_next(void *arg)
{
	struct approver *self = arg;
	struct turn_round round = { .shown = self->question.id, .wanted = self->wanted_id };

	if (self->state == TTY_GONE || !STAILQ_EMPTY(&self->given))
		return;
	tty_self_each(self, turn_count, &round);
	if (self->view != TTY_VIEW_NONE) {
		turn_next_shown(self, &round);
	} else if (round.total + round.agents > 0 || self->source->status) {
		turn_begin(self, &round);
	} else if (self->state == TTY_BETWEEN && self->drawn > 0) {
		tty_turn_settle(self, "  no question is left");
	} else if (self->state == TTY_BETWEEN && evbuffer_get_length(self->out) == 0) {
		self->draft.note[0] = '\0';
		self->is_late = false;
		tty_hold_release(self);
		return tty_self_enter(self, TTY_IDLE);
	} else if (self->state == TTY_IDLE) {
		tty_window_close(self); /* it is too late */
		self->has_no_window = self->is_late = false;
	}
	tty_hold_flush(self);
}

void tty_turn_wait(struct approver *self)
{
	tty_shown_hide(self);
	self->draft = (struct tty_draft){ 0 };
	if (tty_self_is_held(self) && self->state != TTY_BETWEEN)
		tty_self_enter(self, TTY_BETWEEN);
	tty_hold_flush(self);
}

/* Nothing is shown: prints @line, and what is shown next stands below it. */
static void turn_print(struct approver *self, const char *line)
{
	if (self->state != TTY_BETWEEN)
		tty_self_enter(self, TTY_BETWEEN);
	tty_draw_line(self, line);
	(void)evbuffer_add(self->out, "\r\n", 2); /* only out of memory */
	tty_draw_end(self);
	tty_hold_flush(self);
}

void tty_turn_settle(struct approver *self, const char *line)
{
	tty_shown_hide(self);
	self->draft = (struct tty_draft){ 0 };
	if (tty_self_is_held(self))
		turn_print(self, line);
}

void tty_turn_say(struct approver *self, const char *line)
{
	if (self->state == TTY_GONE)
		return;
	if (self->view != TTY_VIEW_NONE && self->look.may_leave && self->look.has_escapes) {
		tty_draw_line(self, line); /* the page follows below it */
		self->is_stale = true;
		return tty_self_later(self);
	}
	if (self->view != TTY_VIEW_NONE || !tty_hold_seize(self)) {
		tty_self_note(self, "%s", line); /* on this page, or on the next */
		return tty_self_later(self);
	}
	if (self->state == TTY_IDLE)
		tty_self_enter(self, TTY_DRAWING);
	turn_print(self, line); /* what a key asked to see comes next */
}

void tty_turn_switch(struct approver *self, const char *id)
{
	tty_shown_hide(self);
	self->wanted = id ? TTY_VIEW_ONE : TTY_VIEW_LIST;
	(void)snprintf(self->wanted_id, sizeof(self->wanted_id), "%s", id ? id : "");
	tty_self_enter(self, TTY_BETWEEN);
	tty_self_later(self);
}
