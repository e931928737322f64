#include "gateway/approvers/screen/tty_shown.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_terminal.h"

struct shown_search {
	const struct approver *self;
	char *text; /* owned; NULL: the question has ended */
};

/* Writes everything that a person may agree to by looking at it. The number of waiting connections
 * is left out: it changes all the time, and is not stored. */
static void shown_describe(const struct approver_question *question, void *arg)
{
	struct shown_search *search = arg;
	const struct approver *self = search->self;
	char *text;

	if (search->text || strcmp(question->id, self->question.id) != 0)
		return;
	if (question->agent) { /* its lines never change */
		search->text = mem_printf("%ux%u %s type %s", self->look.width, self->look.rows,
					  question->id, question->typed);
		return;
	}
	text = mem_printf("%ux%u %s %s://%s:%u type %s risk %x %s private %d program %s of %u",
			  self->look.width, self->look.rows, question->id,
			  policy_protocol_name(question->dst.protocol), question->dst.host,
			  (unsigned int)question->dst.port, question->typed, question->risk,
			  question->warning ? question->warning : "", question->is_private,
			  question->program ? question->program : "", question->command_count);
	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && question->commands[i]; i++) {
		mem_append(&text, "\n%" PRIu64 " %s", question->execs[i], question->commands[i]);
	}
	search->text = text;
}

/* Returned owned; NULL: there is no such question. */
static char *shown_asked(const struct approver *self)
{
	struct shown_search search = { .self = self };

	if (self->view == TTY_VIEW_LIST)
		return mem_printf("%ux%u", self->look.width, self->look.rows);
	tty_self_each(self, shown_describe, &search);
	return search.text;
}

/* Returned owned. */
static char *shown_given(const struct approver *self)
{
	const struct tty_draft *draft = &self->draft;
	const struct approver_width *width = &draft->width;
	const struct tty_row *row = self->view == TTY_VIEW_LIST ? tty_letters_unnamed(self) : NULL;

	return mem_printf(
		"view %d from %u letter %d empty %u typing %d %s wording %d help %d width %d %d "
		"%d %" PRId64 " %" PRIu64 " words %s covers %s",
		self->view, draft->scroll.from, draft->letter, draft->empty_count, draft->is_typing,
		draft->is_typing && row ? row->domain : "", draft->is_wording, draft->is_help,
		width->is_domain, width->is_every_port, width->is_program, width->for_s,
		width->upload_max, draft->words, draft->covers);
}

void tty_shown_begin(struct approver *self)
{
	auto_free char *asked = shown_asked(self);

	if (!asked || !self->shown.asked || strcmp(self->shown.asked, asked) != 0)
		self->draft.scroll = (struct tty_scroll){ 0 };
}

void tty_shown_take(struct approver *self, bool is_whole)
{
	struct tty_shown *shown = &self->shown;
	const struct tty_answer *chosen = tty_letters_find(self, (unsigned char)self->draft.letter);
	char *asked = shown_asked(self);

	if (shown->asked && (!asked || strcmp(shown->asked, asked) != 0))
		shown->moved_ms = loop_now_ms(self->loop);
	free(shown->asked);
	free(shown->given);
	shown->asked = asked;
	shown->given = shown_given(self);
	shown->is_whole = is_whole;
	shown->drawing++;
	memcpy(shown->id, self->question.id, sizeof(shown->id));
	memcpy(shown->words, self->draft.words, sizeof(shown->words));
	memcpy(shown->covers, self->draft.covers, sizeof(shown->covers));
	shown->answer = (struct approver_answer){ .action = POLICY_DENY };
	if (chosen)
		tty_letters_fill(self, chosen, &shown->answer);
	shown->answer.words = shown->words;
	if (self->view == TTY_VIEW_ONE && !self->question.agent && !shown->answer.is_abort)
		shown->answer.shown = shown->covers;
}

void tty_shown_done(struct tty_shown *shown)
{
	free(shown->asked);
	free(shown->given);
	*shown = (struct tty_shown){ .drawing = shown->drawing };
}

void tty_shown_hide(struct approver *self)
{
	self->question.id[0] = self->wanted_id[0] = '\0';
	self->view = self->wanted = TTY_VIEW_NONE;
	self->is_stale = false;
	tty_rows_done(&self->list);
	tty_shown_done(&self->shown);
}

static bool shown_is_given(const struct approver *self)
{
	auto_free char *given = shown_given(self);

	return self->shown.given && strcmp(self->shown.given, given) == 0 &&
	       evbuffer_get_length(self->out) == 0;
}

static bool shown_is_asked(struct approver *self)
{
	int64_t since_ms = loop_now_ms(self->loop) - self->shown.moved_ms;

	tty_terminal_size(self);
	auto_free char *asked = shown_asked(self);

	if (!asked)
		return true; /* it has ended: the source says so, and stores nothing */
	return self->shown.asked && strcmp(self->shown.asked, asked) == 0 &&
	       (self->shown.moved_ms == 0 || since_ms >= TTY_GUARD_MS);
}

bool tty_shown_covers(struct approver *self, const struct tty_answer *chosen)
{
	char text[APPROVER_KEY_MAX];
	struct approver_answer answer;

	if (self->question.agent) /* its lines are what is denied */
		return true;
	tty_letters_fill(self, chosen, &answer);
	if (self->source->text(self->of, self->question.id, &answer, text, NULL) == 0 &&
	    strcmp(text, self->shown.covers) == 0)
		return true;
	self->shown.moved_ms = loop_now_ms(self->loop);
	return false;
}

bool tty_shown_may_answer(struct approver *self, const struct tty_answer *chosen)
{
	bool stores = chosen->action == POLICY_ALLOW || chosen->scope != GATEWAY_ONCE;
	char key[TTY_LETTERS_KEY_MAX];

	tty_letters_key(chosen, key);
	if (!shown_is_given(self)) {
		tty_self_note(self, "that was not on the screen yet: look, then %s", key);
		return false;
	}
	if (!stores)
		return true;
	if (!shown_is_asked(self)) {
		tty_self_note(self, "this has just changed: look again, then %s", key);
		return false;
	}
	if (!self->shown.asked)
		return true;
	if (!self->shown.is_whole && self->draft.scroll.seen > 0)
		tty_self_note(self, "Space shows lines that were not seen; then %s", key);
	/* If there is no room, or no such answer, the screen says so already. */
	return self->shown.is_whole &&
	       (self->view == TTY_VIEW_LIST || self->shown.covers[0] != '\0');
}

static void shown_describe_row(const struct approver *self, const struct tty_row *row,
			       struct tty_row_shown *ret)
{
	*ret = (struct tty_row_shown){
		.drawing = row->shown.drawing,
		.width = self->look.width,
		.rows = self->look.rows,
		.risk = row->risk,
		.is_ticked = row->is_ticked,
	};
}

void tty_shown_take_row(struct approver *self, struct tty_row *row)
{
	if (row->shown.drawing != 0 && row->shown.is_ticked && row->shown.risk != row->risk)
		self->shown.moved_ms = loop_now_ms(self->loop);
	shown_describe_row(self, row, &row->shown);
	row->shown.drawing = self->shown.drawing + 1; /* tty_shown_take() completes this drawing */
}

bool tty_shown_had_row(const struct approver *self, const struct tty_row *row)
{
	struct tty_row_shown now;

	shown_describe_row(self, row, &now);
	return now.drawing != 0 && now.width == row->shown.width && now.rows == row->shown.rows &&
	       now.risk == row->shown.risk && now.is_ticked == row->shown.is_ticked;
}

bool tty_shown_has_row(const struct approver *self, const struct tty_row *row)
{
	return row->shown.drawing == self->shown.drawing && tty_shown_had_row(self, row);
}
