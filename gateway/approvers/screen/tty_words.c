/* A person can type words to the requester at any time before the answer, with which they are
 * sent. */
#include "gateway/approvers/screen/tty_words.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_self.h"

_Static_assert(GATEWAY_WORDS_MAX >= POLICY_HOST_MAX, "one line for words and domains");

#define WORDS_LABEL     "  reason, then Enter: "
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
		tty_page_whole(page, "reason", draft->words);
}

/* The line also serves for typing a domain, at another time. */
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
	tty_self_note(
		self,
		"the command is shown this reason: Enter keeps it, Esc does not; then answer");
}

/* Limits the words to what is stored, with the bytes that escaping adds, so that the requester gets
 * exactly what is shown. */
static void words_add(struct approver *self, char key)
{
	struct tty_draft *draft = &self->draft;

	draft->typed[draft->typed_len] = key;
	if (text_visible(NULL, 0, draft->typed, draft->typed_len + 1) < sizeof(draft->words))
		draft->typed_len++;
	else
		tty_self_note(self, "no more than that; Enter keeps the reason, Esc does not");
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

/* Enter alone goes back to the letters; only the exact name allows. */
static enum tty_typing words_typed_enter(struct approver *self, const char *wanted)
{
	struct tty_draft *draft = &self->draft;
	bool is_right = wanted[0] != '\0' && strcmp(draft->typed, wanted) == 0;
	bool is_empty = draft->typed_len == 0;

	draft->typed_len = 0;
	draft->typed[0] = '\0';
	if (is_empty)
		return TTY_TYPING_BACK;
	if (is_right)
		return TTY_TYPING_RIGHT;
	tty_self_note(self, "that is not %s; type it, or Enter alone to go back", wanted);
	return TTY_TYPING_ON;
}

enum tty_typing tty_words_type(struct approver *self, unsigned char key, const char *wanted)
{
	struct tty_draft *draft = &self->draft;
	bool is_erase = key == WORDS_BACKSPACE || key == WORDS_DELETE;

	self->is_stale = true;
	if (key == '\r' || key == '\n')
		return words_typed_enter(self, wanted);
	if (is_erase && draft->typed_len == 0)
		return TTY_TYPING_BACK;
	if (is_erase)
		draft->typed_len--;
	else if (key == WORDS_CTRL_U)
		draft->typed_len = 0;
	else if ((key > 0x20 || (key == 0x20 && strchr(wanted, ' '))) && key < 0x7f &&
		 draft->typed_len + 1 < sizeof(draft->typed))
		draft->typed[draft->typed_len++] = (char)key;
	draft->typed[draft->typed_len] = '\0';
	return TTY_TYPING_ON;
}
