#include "gateway/approvers/tty/tty_keys.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/tty/tty_answer.h"
#include "gateway/approvers/screen/tty_help.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/tty/tty_list_keys.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/tty/tty_turn.h"
#include "gateway/approvers/screen/tty_words.h"

#define KEY_CTRL_C    0x03
#define KEY_BACKSPACE 0x08
#define KEY_DELETE    0x7f

static bool key_is_enter(unsigned char key)
{
	return key == '\r' || key == '\n';
}

static bool key_is_erase(unsigned char key)
{
	return key == KEY_BACKSPACE || key == KEY_DELETE;
}

/* Returns to choosing a letter; none is chosen. */
static void key_to_letters(struct approver *self)
{
	self->draft.letter = 0;
	self->draft.is_typing = false;
	self->draft.typed_len = 0;
	self->draft.typed[0] = '\0';
	self->draft.note[0] = '\0';
	(void)tty_letters_cover(self, NULL); /* no letter is chosen, so it cannot fail */
	self->is_stale = true;
}

static void key_type(struct approver *self, unsigned char key)
{
	switch (tty_words_type(self, key, self->question.typed)) {
	case TTY_TYPING_RIGHT:
		return tty_answer_give(self,
				       tty_letters_find(self, (unsigned char)self->draft.letter));
	case TTY_TYPING_BACK:
		key_to_letters(self);
		self->draft.empty_count = key_is_enter(key);
		return tty_self_note(self, "Nothing was allowed. Type a key, or n to deny.");
	case TTY_TYPING_ON:
	default:
		return;
	}
}

static void key_enter(struct approver *self)
{
	const struct tty_answer *chosen = tty_letters_find(self, (unsigned char)self->draft.letter);
	struct approver_answer answer = { .action = POLICY_DENY };

	if (chosen)
		tty_letters_fill(self, chosen, &answer);
	if (chosen && gateway_typed_because(&self->question, &answer)) {
		if (!tty_shown_may_answer(self, chosen))
			return;
		self->draft.is_typing = true;
		return tty_self_note(self, "To confirm, type %s and press Enter.",
				     self->question.typed);
	}
	if (chosen)
		return tty_answer_give(self, chosen);
	if (self->draft.empty_count > 0)
		return tty_answer_deny(self, tty_letters_find(self, 'n'));
	self->draft.empty_count++;
	tty_self_note(self, "Type a key first. Enter once more denies.");
}

/* Asks what the typed letter would store. If that cannot be given here, takes the letter back and
 * says why. */
static bool key_cover(struct approver *self)
{
	struct err why = { 0 };
	int r = tty_letters_cover(self, &why);

	if (r >= 0 || r == -ENOENT) /* -ENOENT: it has ended, and the answer will say so */
		return true;
	key_to_letters(self);
	tty_self_note(self, "not here: %s", why.text);
	return false;
}

/* One key denies. What it stores is what the page shows anyway; if not, it is shown first, and the
 * key is pressed again. */
static void key_deny(struct approver *self, const struct tty_answer *answer)
{
	if (answer->scope == GATEWAY_ONCE) /* stores nothing, so nothing has to be looked at */
		return tty_answer_deny(self, answer);
	if (tty_shown_covers(self, answer))
		return tty_answer_give(self, answer);
	self->draft.letter = answer->letter;
	if (key_cover(self))
		tty_self_note(self, "it denies what is shown now: %c again", answer->letter);
}

static void key_letter(struct approver *self, unsigned char key)
{
	const struct tty_answer *answer = tty_letters_find(self, key);

	if (!answer)
		return tty_help_unknown(self, key);
	if (answer->action == POLICY_DENY)
		return key_deny(self, answer);
	if (self->draft.letter != 0)
		return tty_self_note(self, "%c was typed: Enter gives it, Backspace takes it back",
				     self->draft.letter);
	self->draft.letter = (char)key;
	self->draft.note[0] = '\0';
	self->is_stale = true;
	(void)key_cover(self); /* if not, a note says so */
}

/* Shows the next lines of a page that does not fit, or the first again. */
static void key_space(struct approver *self)
{
	struct tty_scroll *scroll = &self->draft.scroll;

	if (scroll->from == 0 && scroll->next == 0)
		return tty_help_unknown(self, ' ');
	scroll->from = scroll->next;
	self->is_stale = true;
}

/* While no question waits. */
static void key_status(struct approver *self, unsigned char key)
{
	if (self->draft.is_help)
		tty_help_press(self);
	else if (key == '?')
		tty_help_begin(self);
	else if (!tty_self_leaves(self, key))
		tty_help_unknown(self, key);
}

/* Handles a key that neither ends a line nor erases. */
static void key_other(struct approver *self, unsigned char key)
{
	if (key == 'l' && self->others > 0)
		return tty_turn_switch(self, NULL);
	if (key == 'l')
		return tty_self_note(self, "no other question waits");
	if (key == 'r')
		return tty_words_begin(self);
	if (key == ' ')
		return key_space(self);
	if (self->question.agent)
		return key_letter(self, key);
	if (key == 'o' && !self->draft.has_program)
		return tty_self_note(self, "the program that asks is not known");
	if (!tty_letters_scope(self, key))
		key_letter(self, key);
}

void tty_keys_late(struct approver *self, unsigned char key)
{
	if (!key_is_enter(key) && key != KEY_CTRL_C)
		return;
	self->is_late = self->input.is_text = false;
	self->draft.note[0] = '\0';
	self->is_stale = self->look.has_escapes;
}

void tty_keys_press(struct approver *self, unsigned char key)
{
	if (self->draft.is_wording && key != KEY_CTRL_C)
		return tty_words_press(self, key);
	if (self->view == TTY_VIEW_LIST)
		return tty_list_keys_press(self, key);
	if (self->view == TTY_VIEW_STATUS)
		return key_status(self, key);
	if (key == KEY_CTRL_C) {
		const struct tty_answer *stop = tty_letters_find(self, 'q');

		return tty_answer_deny(self, stop ? stop : tty_letters_find(self, 'n'));
	}
	if (self->draft.is_help)
		return tty_help_press(self);
	if (!self->draft.is_typing && tty_self_leaves(self, key))
		return;
	if (!self->draft.is_typing && key == '?')
		return tty_help_begin(self);
	if (!self->draft.was_touched)
		self->source->touch(self->of, self->question.id);
	self->draft.was_touched = true;
	if (self->draft.is_typing)
		return key_type(self, key);
	if (key_is_enter(key))
		return key_enter(self);
	self->draft.empty_count = 0; /* only a second Enter in a row denies */
	if (key_is_erase(key))
		return key_to_letters(self);
	key_other(self, key);
}
