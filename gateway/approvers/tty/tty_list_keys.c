#include "gateway/approvers/tty/tty_list_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/tty/tty_answer.h"
#include "gateway/approvers/screen/tty_help.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/tty/tty_list.h"
#include "gateway/approvers/tty/tty_list_lines.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/screen/tty_terminal.h"
#include "gateway/approvers/tty/tty_turn.h"
#include "gateway/approvers/screen/tty_words.h"

#define KEY_CTRL_C    0x03
#define KEY_BACKSPACE 0x08
#define KEY_DELETE    0x7f

void tty_list_keys_move(struct approver *self, int by)
{
	struct tty_list *list = &self->list;

	size_t from, to;

	if (self->view != TTY_VIEW_LIST || list->count == 0)
		return;
	tty_rows_group(list, list->at, &from, &to);
	if ((by < 0 && from == 0) || (by > 0 && to >= list->count))
		return;
	list->at = by < 0 ? from - 1 : to;
	tty_rows_group(list, list->at, &from, &to);
	list->at = from;
	self->is_stale = true;
}

/* The row whose number was typed, else the cursor's. NULL: no such row. */
static struct tty_row *list_meant(struct approver *self)
{
	struct tty_list *list = &self->list;
	uint64_t number = 0;
	struct tty_row *row;

	if (list->digits[0] == '\0')
		return list->at < list->count ? &list->rows[list->at] : NULL;
	(void)text_to_u64(list->digits, strlen(list->digits), 9999, &number); /* three digits */
	row = tty_rows_find(list, (unsigned int)number);
	if (!row)
		tty_self_note(self, "there is no question %s", list->digits);
	else
		list->at = (size_t)(row - list->rows);
	list->digits[0] = '\0';
	return row;
}

static bool list_is_plain(const struct approver *self, const struct tty_row *row)
{
	static const struct approver_answer once = { .action = POLICY_ALLOW };

	return !tty_rows_is_typed(row, &once) && !tty_list_lines_is_long(row, &self->look);
}

/* Ticks the rows from @from to @to that are on the screen, or unticks them if all are ticked.
 * Returns how many are not on the screen. */
static size_t list_tick(struct approver *self, size_t from, size_t to, bool is_plain_only)
{
	struct tty_list *list = &self->list;
	bool is_any_unticked = false;
	size_t unseen = 0;

	for (int is_doing = 0; is_doing < 2; is_doing++) {
		for (size_t i = from; i < to; i++) {
			struct tty_row *row = &list->rows[i];
			bool is_seen = tty_shown_has_row(self, row);

			if (is_plain_only && !list_is_plain(self, row))
				continue;
			if (is_doing && is_seen)
				row->is_ticked = is_any_unticked;
			else if (!is_doing && is_seen)
				is_any_unticked = is_any_unticked || !row->is_ticked;
			unseen += !is_doing && !is_seen && !row->is_ticked;
		}
	}
	return unseen;
}

static void list_tick_many(struct approver *self, bool is_plain_only)
{
	size_t unseen = list_tick(self, 0, self->list.count, is_plain_only);

	if (unseen > 0)
		tty_self_note(self, "%zu not on the screen: not selected; go there with j or k",
			      unseen);
	else if (is_plain_only && tty_rows_ticked(&self->list) == 0)
		tty_self_note(self, "none of them is without (!): A selects all");
}

/* The row, or the rows that share its line. */
static void list_tick_row(struct approver *self, const struct tty_row *row)
{
	size_t from, to;

	tty_rows_group(&self->list, (size_t)(row - self->list.rows), &from, &to);
	size_t unseen = list_tick(self, from, to, false);

	if (unseen > 0 && to == from + 1)
		tty_self_note(self, "%u was not on the screen: look, then Space", row->number);
	else if (unseen > 0)
		tty_self_note(self, "%zu not on the screen: not selected; g lists each", unseen);
}

/* A row that was ticked, or taken out, and has not been on the screen in its current state. */
static const struct tty_row *list_unseen(const struct approver *self)
{
	for (size_t i = 0; i < self->list.count; i++) {
		const struct tty_row *row = &self->list.rows[i];

		if ((row->is_ticked || row->shown.is_ticked) && !tty_shown_had_row(self, row))
			return row;
	}
	return NULL;
}

static const struct tty_row *list_ticked_long(const struct approver *self)
{
	for (size_t i = 0; i < self->list.count; i++) {
		const struct tty_row *row = &self->list.rows[i];

		if (row->is_ticked && tty_list_lines_is_long(row, &self->look))
			return row;
	}
	return NULL;
}

/* A typed domain counts for one answer only. */
static void list_unname(struct approver *self)
{
	self->draft.is_typing = false;
	for (size_t i = 0; i < self->list.count; i++)
		self->list.rows[i].is_named = false;
}

/* True: every ticked row was on the screen in its current state, and the letter is. False: the
 * person was told why. */
static bool list_is_shown(struct approver *self, const struct tty_answer *chosen)
{
	char key[TTY_LETTERS_KEY_MAX];
	const struct tty_row *row;
	size_t from, to;

	tty_terminal_size(self);
	tty_list_sync(self);
	if (tty_rows_ticked(&self->list) == 0) {
		tty_self_note(self, "nothing is selected: Space, or A for all");
		return false;
	}
	if (!tty_shown_may_answer(self, chosen))
		return false;
	row = list_unseen(self);
	if (!row)
		return true;
	self->list.at = (size_t)(row - self->list.rows);
	tty_rows_group(&self->list, self->list.at, &from, &to);
	self->list.is_single |= to > from + 1; /* they may be too many for this window */
	tty_letters_key(chosen, key);
	tty_self_note(self, "%u was not on the screen as it is: look, then %s", row->number, key);
	return false;
}

/* Gives the answer, or asks for the next domain first. */
static void list_confirm(struct approver *self, const struct tty_answer *chosen)
{
	const struct tty_row *row = tty_letters_unnamed(self);

	self->draft.is_typing = row != NULL;
	if (!row)
		return tty_answer_give_ticked(self, chosen);
	tty_self_note(self, "To confirm %u, type %s and press Enter.", row->number, row->domain);
}

static void list_enter(struct approver *self)
{
	const struct tty_answer *chosen = tty_letters_find(self, (unsigned char)self->draft.letter);
	const struct tty_row *row;

	if (!chosen)
		return tty_self_note(self,
				     "nothing is answered yet: select, type a key, then Enter");
	if (!list_is_shown(self, chosen))
		return;
	row = chosen->action == POLICY_ALLOW ? list_ticked_long(self) : NULL;
	if (row)
		return tty_self_note(self,
				     "%u is too long to be shown here: take it out; v shows it",
				     row->number);
	list_confirm(self, chosen);
}

/* As for a single question: ends the commands that wait here. */
static void list_abort(struct approver *self)
{
	for (size_t i = 0; i < self->list.count; i++)
		self->list.rows[i].is_ticked = true;
	tty_answer_give_ticked(self, tty_letters_find(self, 'q'));
}

/* The domain of the first unnamed row was typed: it counts for every ticked row of that domain. */
static void list_named(struct approver *self, const char *domain)
{
	const struct tty_answer *chosen = tty_letters_find(self, (unsigned char)self->draft.letter);

	if (!chosen || !list_is_shown(self, chosen))
		return;
	for (size_t i = 0; i < self->list.count; i++) {
		struct tty_row *row = &self->list.rows[i];

		if (strcmp(row->domain, domain) == 0)
			row->is_named = row->is_ticked;
	}
	list_confirm(self, chosen);
}

/* Asks for one domain after another, until every ticked row is named. */
static void list_type(struct approver *self, unsigned char key)
{
	const struct tty_row *row = tty_letters_unnamed(self);
	char domain[POLICY_HOST_MAX];

	if (!row) { /* it was settled elsewhere */
		list_unname(self);
		return;
	}
	memcpy(domain, row->domain, sizeof(domain)); /* the row may be freed */
	switch (tty_words_type(self, key, domain)) {
	case TTY_TYPING_RIGHT:
		return list_named(self, domain);
	case TTY_TYPING_BACK:
		self->draft.letter = 0;
		list_unname(self);
		return tty_self_note(self, "Nothing was allowed.");
	case TTY_TYPING_ON:
	default:
		return;
	}
}

static void list_digit(struct tty_list *list, char digit)
{
	size_t len = strlen(list->digits);

	if (len + 1 >= sizeof(list->digits))
		return;
	list->digits[len] = digit;
	list->digits[len + 1] = '\0';
}

static void list_erase(struct approver *self)
{
	size_t len = strlen(self->list.digits);

	if (self->draft.letter != 0)
		self->draft.letter = 0;
	else if (len > 0)
		self->list.digits[len - 1] = '\0';
}

/* Denying what is selected takes one key: each for its own destination, which its row shows. */
static void list_deny(struct approver *self, const struct tty_answer *chosen)
{
	if (list_is_shown(self, chosen))
		tty_answer_give_ticked(self, chosen);
}

/* Space and v: keys for one row. */
static void list_about(struct approver *self, unsigned char key)
{
	struct tty_row *row = list_meant(self);
	char id[APPROVER_ID_MAX];

	if (!row)
		return;
	memcpy(id, row->id, sizeof(id)); /* the row is freed with the list */
	if (key == ' ')
		list_tick_row(self, row);
	else
		tty_turn_switch(self, id);
}

void tty_list_keys_press(struct approver *self, unsigned char key)
{
	const struct tty_answer *answer = tty_letters_find(self, key);

	self->is_stale = true;
	if (key == KEY_CTRL_C)
		return list_abort(self);
	if (self->draft.is_help)
		return tty_help_press(self);
	if (self->draft.is_typing)
		return list_type(self, key);
	if (key == '\r' || key == '\n')
		return list_enter(self);
	self->draft.note[0] = '\0';
	if (key == KEY_BACKSPACE || key == KEY_DELETE)
		list_erase(self);
	else if (key == 'r')
		tty_words_begin(self);
	else if (key == '?')
		tty_help_begin(self);
	else if (tty_self_leaves(self, key))
		return;
	else if (answer && answer->action == POLICY_DENY)
		list_deny(self, answer);
	else if (self->draft.letter != 0)
		tty_self_note(self, "%c was typed: Enter gives it, Backspace takes it back",
			      self->draft.letter);
	else if (key >= '0' && key <= '9')
		list_digit(&self->list, (char)key);
	else if (key == 'j' || key == 'k')
		tty_list_keys_move(self, key == 'j' ? 1 : -1);
	else if (key == ' ' || key == 'v')
		list_about(self, key);
	else if (key == 'g')
		self->list.is_single = !self->list.is_single;
	else if (key == '*' || key == 'A')
		list_tick_many(self, key == '*');
	else if (strchr("hptbo", key))
		tty_self_note(self, "%c changes the scope of one question: v views one", key);
	else if (answer)
		self->draft.letter = (char)key;
	else
		tty_help_unknown(self, key);
}
