#include "gateway/approvers/screen/tty_draw.h"

#include <event2/buffer.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/screen/tty_help.h"
#include "gateway/approvers/tty/tty_agent.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/tty/tty_list.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_terminal.h"
#include "gateway/approvers/screen/tty_words.h"

/* Resets everything that output of the command may have left behind and that would hide or change
 * the question: another terminal's language (VT52), an unfinished sequence, output sent to a
 * printer or suspended, colours and hidden text, another character set, margins, insert mode, no
 * wrapping, no cursor. Then everything below is erased, so that no text prepared there looks like a
 * part of the question. From here on pastes are bracketed, and therefore not taken as answers. */
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
	self->question.risk = question->risk;
	self->question.is_private = question->is_private;
	(void)tty_letters_cover(self, NULL); /* on failure it has no text, and cannot be given */
	self->drawn = question->agent
			      ? tty_agent_write(self->out, &self->look, question, &self->draft,
						self->others, &drawing->is_whole)
			      : tty_prompt_write(self->out, &self->look, question, &self->draft,
						 self->others, &drawing->is_whole);
}

static void draw_status(struct approver *self)
{
	struct tty_page page = { .width = self->look.width };
	char status[128];

	self->source->status(self->of, status, sizeof(status));
	auto_free char *title = mem_printf("sallyport   no question waits; %s", status);
	tty_page_title(&page, title);
	tty_page_wrap(&page, TTY_HELP, "a question is shown here as soon as a command asks");
	tty_page_note(&page, self->draft.note);
	self->drawn = tty_page_write(&page, self->out, &self->look);
}

/* A terminal without escape sequences cannot be drawn on again, so its label never changes. */
static const char *draw_label(const struct approver *self)
{
	if (self->look.is_narrow)
		return "> ";
	if (self->look.has_escapes && self->state != TTY_OPEN)
		return TTY_WAIT_LABEL;
	return self->view == TTY_VIEW_STATUS ? TTY_STATUS_LABEL : tty_words_label(&self->draft);
}

/* Adds the typed text after the label; if it does not fit, its end. */
static void draw_typed(struct approver *self)
{
	const struct tty_draft *draft = &self->draft;
	const char *label = draw_label(self);
	size_t taken = strlen(label) + 1; /* one column for the cursor */
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
	tty_shown_begin(self);
	if (self->draft.is_help)
		self->drawn = tty_help_write(self->out, &self->look, self->view == TTY_VIEW_LIST,
					     self->question.agent != NULL, &self->draft);
	else if (self->view == TTY_VIEW_LIST)
		self->drawn = tty_list_write(self, &drawing.is_whole);
	else if (self->view == TTY_VIEW_STATUS)
		draw_status(self);
	else
		tty_self_each(self, draw_one, &drawing);
	draw_typed(self);
	tty_shown_take(self, drawing.is_whole);
	self->is_stale = false;
}

void tty_draw_line(struct approver *self, const char *line)
{
	if (self->look.has_escapes && self->drawn > 0)
		(void)evbuffer_add_printf(self->out, "\x1b[%uA\r\x1b[J%s", self->drawn,
					  line); /* only out of memory, as below */
	else
		(void)evbuffer_add_printf(self->out, "\r\n%s", line);
	self->drawn = 0;
}

void tty_draw_end(struct approver *self)
{
	if (self->look.has_escapes)
		(void)evbuffer_add(self->out, DRAW_END, strlen(DRAW_END)); /* only out of memory */
}
