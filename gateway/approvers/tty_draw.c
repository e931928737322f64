#include <event2/buffer.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/tty.h"

/* What the command may have left behind that would hide or bend the question: another terminal's
 * language (VT52), a sequence begun and not ended, output sent to a printer or held back, colours
 * and hidden text, another character set, margins, insert mode, no wrapping, no cursor. Then
 * everything below is erased, so that nothing prepared there can pass for a part of the question. A
 * paste is bracketed from here on, and so is no answer. */
#define DRAW_RESET                                                                                 \
	"\x18\x1b\\\x1b<\x1b[4i\x1b[?2026l\x1b[0m\x1b(B\x0f\x1b[?69l\x1b"                          \
	"7\x1b[r\x1b"                                                                              \
	"8"                                                                                        \
	"\x1b[4l\x1b[?7h\x1b[?25h\x1b[?2004h\r\n\x1b[J"
#define DRAW_END "\x1b[?2004l"

struct drawing {
	struct approver *self;
	bool is_there, is_whole;
};

static void draw_one(const struct approver_question *question, void *arg)
{
	struct drawing *drawing = arg;
	struct approver *self = drawing->self;

	if (drawing->is_there || strcmp(self->question.id, question->id) != 0)
		return;
	drawing->is_there = true;
	self->question.risk |= question->risk; /* what it once was it stays, while it is shown */
	(void)tty_answer_cover(self, NULL); /* what cannot be said is not shown, and not allowed */
	self->drawn = tty_prompt_write(self->out, &self->look, question, &self->draft, self->others,
				       &drawing->is_whole);
}

/* What was typed, behind the label; the end of it where all does not fit. */
static void draw_typed(struct approver *self)
{
	const struct tty_draft *draft = &self->draft;
	const char *label = self->look.is_narrow ? "> " : tty_words_label(draft);
	size_t taken = strlen(label) + 1; /* and the cursor */
	size_t room = self->look.width > taken ? self->look.width - taken : 0;

	(void)evbuffer_add(self->out, label, strlen(label)); /* only out of memory */
	const char *typed = draft->typed + (draft->typed_len > room ? draft->typed_len - room : 0);

	if (tty_words_is_typing(draft))
		(void)evbuffer_add(self->out, typed, strlen(typed)); /* only out of memory */
	else if (draft->letter != 0)
		(void)evbuffer_add(self->out, &draft->letter, 1);
	else if (self->view == TTY_VIEW_LIST)
		(void)evbuffer_add(self->out, self->list.digits, strlen(self->list.digits));
}

void tty_draw(struct approver *self)
{
	struct drawing drawing = { .self = self };

	tty_terminal_size(self);
	if (!self->look.has_escapes)
		(void)evbuffer_add(self->out, "\r\n", 2); /* only out of memory, as below */
	else if (self->drawn == 0)
		(void)evbuffer_add(self->out, DRAW_RESET, strlen(DRAW_RESET));
	else
		(void)evbuffer_add_printf(self->out, "\x1b[%uA\r\x1b[J", self->drawn);
	if (self->draft.is_help)
		self->drawn = tty_help_write(self->out, &self->look, self->view == TTY_VIEW_LIST,
					     &self->draft);
	else if (self->view == TTY_VIEW_LIST)
		self->drawn = tty_list_write(self, &drawing.is_whole);
	else
		self->source->each(self->of, draw_one, &drawing);
	draw_typed(self);
	tty_shown_take(self, drawing.is_whole);
	self->is_stale = false;
}

void tty_draw_end(struct approver *self)
{
	if (self->look.has_escapes)
		(void)evbuffer_add(self->out, DRAW_END, strlen(DRAW_END)); /* only out of memory */
}
