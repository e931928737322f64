/* What the keys do, for a window of any size: as many lines as fit, then the next. */
#include <event2/buffer.h>

#include "base/mem.h"
#include "gateway/approvers/tty.h"

#define HELP_LINES_LEAST 1

static const struct help_key {
	const char *key, *text;
	enum tty_view view; /* TTY_VIEW_NONE: in both */
} help_keys[] = {
	{ "y", "allow once, those that wait now", TTY_VIEW_NONE },
	{ "e", "allow for this command", TTY_VIEW_NONE },
	{ "s", "allow for the session", TTY_VIEW_NONE },
	{ "a", "allow always: a line in your policy", TTY_VIEW_NONE },
	{ "n E S D", "deny, for the same times", TTY_VIEW_NONE },
	{ "q Ctrl-C", "deny and end the commands", TTY_VIEW_NONE },
	{ "Enter", "gives the letter that was typed", TTY_VIEW_NONE },
	{ "Backspace", "takes the letter back", TTY_VIEW_NONE },
	{ "h", "this host, or its whole domain", TTY_VIEW_ONE },
	{ "p", "this port, or every port", TTY_VIEW_ONE },
	{ "t", "without end, or for a time", TTY_VIEW_ONE },
	{ "b", "any amount sent, or so many bytes", TTY_VIEW_ONE },
	{ "o", "any program, or only this one", TTY_VIEW_ONE },
	{ "l", "all questions as a list", TTY_VIEW_ONE },
	{ "Space", "tick or untick a question", TTY_VIEW_LIST },
	{ "j k", "down and up, as the arrows", TTY_VIEW_LIST },
	{ "1 2 3 ...", "the number, then Space, g or v", TTY_VIEW_LIST },
	{ "g", "tick its domain, of what is shown", TTY_VIEW_LIST },
	{ "*", "tick all that is shown without (!)", TTY_VIEW_LIST },
	{ "v", "view it by itself", TTY_VIEW_LIST },
	{ "r", "words to whoever asked", TTY_VIEW_NONE },
};

unsigned int tty_help_write(struct evbuffer *out, const struct tty_look *look, bool is_list,
			    struct tty_draft *draft)
{
	struct tty_page page = { .width = look->width };
	unsigned int rows = tty_page_rows(look), all;

	for (size_t i = 0; i < ARRAY_SIZE(help_keys); i++) {
		const struct help_key *key = &help_keys[i];

		if (key->view == TTY_VIEW_NONE || (key->view == TTY_VIEW_LIST) == is_list)
			tty_page_whole(&page, key->key, key->text);
	}
	all = (unsigned int)page.count;
	if (draft->help_from >= all)
		draft->help_from = 0;
	tty_page_cut_to(&page, draft->help_from,
			rows > HELP_LINES_LEAST ? rows - 1 : HELP_LINES_LEAST);
	draft->help_next = draft->help_from + (unsigned int)page.count;
	if (draft->help_next >= all)
		draft->help_next = 0;
	tty_page_wrap(&page, TTY_HELP, draft->help_next ? "any key: more" : "any key: back");
	return tty_page_write(&page, out, look);
}

void tty_help_begin(struct approver *self)
{
	self->draft.is_help = true;
	self->draft.help_from = 0;
	self->draft.note[0] = '\0';
	self->is_stale = true;
}

void tty_help_press(struct approver *self)
{
	struct tty_draft *draft = &self->draft;

	draft->help_from = draft->help_next;
	draft->is_help = draft->help_next != 0;
	self->is_stale = true;
}

void tty_help_unknown(struct approver *self, unsigned char key)
{
	const char *always = key == 'a' || key == 'D' ? ": there is no policy file to write" : "";

	if (key < 0x20 || key == 0x7f)
		tty_turn_note(self, "Ctrl-%c does nothing here; ? lists the keys", key ^ 0x40);
	else
		tty_turn_note(self, "%c does nothing here%s; ? lists the keys", key, always);
}
