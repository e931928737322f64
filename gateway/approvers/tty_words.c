/* A person's words to whoever asked: typed at any time before the answer, and sent with it. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/tty.h"
#include "gateway/approvers/tty_answer.h"

_Static_assert(GATEWAY_WORDS_MAX >= POLICY_HOST_MAX, "one line for words and domains");

#define WORDS_LABEL     "  words, then Enter: "
#define WORDS_BACKSPACE 0x08
#define WORDS_CTRL_U    0x15
#define WORDS_DELETE    0x7f

bool tty_words_is_typing(const struct tty_draft *draft)
{
	return draft->is_typing || draft->is_wording;
}

const char *tty_words_label(const struct tty_draft *draft)
{
	return draft->is_wording ? WORDS_LABEL : draft->is_typing ? TTY_TYPE_LABEL : TTY_LABEL;
}

void tty_words_show(struct tty_page *page, const struct tty_draft *draft)
{
	if (draft->words[0] != '\0')
		tty_page_whole(page, "words", draft->words);
}

/* The line is that of a domain, which is typed at another time. */
static void words_put(struct tty_draft *draft, const char *text)
{
	draft->typed_len = strlen(text);
	memmove(draft->typed, text, draft->typed_len + 1);
}

static void words_end(struct approver *self)
{
	self->draft.is_wording = self->input.is_text = false;
	self->draft.note[0] = '\0';
	words_put(&self->draft, "");
	self->is_stale = true;
}

void tty_words_begin(struct approver *self)
{
	self->draft.is_wording = self->input.is_text = true;
	words_put(&self->draft, self->draft.words);
	tty_turn_note(self, "words to whoever asked: Enter keeps them, Esc does not; then answer");
}

/* What stands there is what arrives: no more than is kept, with what is doubled on the way. */
static void words_add(struct approver *self, char key)
{
	struct tty_draft *draft = &self->draft;

	draft->typed[draft->typed_len] = key;
	if (text_visible(NULL, 0, draft->typed, draft->typed_len + 1) < sizeof(draft->words))
		draft->typed_len++;
	else
		tty_turn_note(self, "no more than that; Enter keeps the words, Esc does not");
	draft->typed[draft->typed_len] = '\0';
}

void tty_words_press(struct approver *self, unsigned char key)
{
	struct tty_draft *draft = &self->draft;
	bool is_erase = key == WORDS_BACKSPACE || key == WORDS_DELETE;

	self->is_stale = true;
	if (key == '\r' || key == '\n') {
		memcpy(draft->words, draft->typed, draft->typed_len + 1);
		return words_end(self);
	}
	if (is_erase && draft->typed_len > 0)
		draft->typed[--draft->typed_len] = '\0';
	else if (is_erase)
		words_end(self);
	else if (key == WORDS_CTRL_U)
		words_put(draft, "");
	else if (key >= 0x20 && key < 0x7f)
		words_add(self, (char)key);
}

void tty_words_escape(struct approver *self)
{
	if (self->draft.is_wording && tty_input_is_escape(&self->input))
		words_end(self);
}
