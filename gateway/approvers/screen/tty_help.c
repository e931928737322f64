/* Lists the keys, for a window of any size: as many lines as fit, and the next ones after a key. */
#include "gateway/approvers/screen/tty_help.h"

#include <event2/buffer.h>

#include "base/mem.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_self.h"

#define HELP_LINES_LEAST 1

/* HELP_RUN: the terminal is a command's; HELP_WATCH: it is not. */
enum help_where { HELP_ALL, HELP_ONE, HELP_LIST, HELP_RUN, HELP_WATCH };

static const struct help_key {
	const char *key, *text;
	enum help_where where;
} help_keys[] = {
	{ "y", "allow once, those that wait now", HELP_ALL },
	{ "e", "allow for this command", HELP_ALL },
	{ "s", "allow for the session", HELP_ALL },
	{ "a", "allow always: a line in your policy", HELP_ALL },
	{ "n E S D", "deny, for the same times", HELP_ALL },
	{ "q Ctrl-C", "deny and end the commands", HELP_RUN },
	{ "q", "deny and end the commands", HELP_WATCH },
	{ "Enter", "gives the letter that was typed", HELP_ALL },
	{ "Backspace", "takes the letter back", HELP_ALL },
	{ "h", "this host, or its whole domain", HELP_ONE },
	{ "p", "this port, or every port", HELP_ONE },
	{ "t", "without end, or for a time", HELP_ONE },
	{ "b", "any amount sent, or so many bytes", HELP_ONE },
	{ "o", "any program, or only this one", HELP_ONE },
	{ "l", "all questions as a list", HELP_ONE },
	{ "Space", "tick or untick a question", HELP_LIST },
	{ "j k", "down and up, as the arrows", HELP_LIST },
	{ "1 2 3 ...", "the number, then Space, g or v", HELP_LIST },
	{ "g", "tick its domain, of what is shown", HELP_LIST },
	{ "*", "tick all that is shown without (!)", HELP_LIST },
	{ "v", "view it by itself", HELP_LIST },
	{ "r", "a reason, which the command is shown", HELP_ALL },
	{ "x Ctrl-C", "leave this screen", HELP_WATCH },
};

unsigned int tty_help_write(struct evbuffer *out, const struct tty_look *look, bool is_list,
			    struct tty_draft *draft)
{
	struct tty_page page = { .width = look->width };
	unsigned int rows = tty_page_rows(look), all;

	for (size_t i = 0; i < ARRAY_SIZE(help_keys); i++) {
		const struct help_key *key = &help_keys[i];

		if (key->where == HELP_ALL || key->where == (is_list ? HELP_LIST : HELP_ONE) ||
		    key->where == (look->may_leave ? HELP_WATCH : HELP_RUN))
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
	self->draft.help_from = self->draft.empty_count = 0;
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
		tty_self_note(self, "Ctrl-%c does nothing here; ? lists the keys", key ^ 0x40);
	else
		tty_self_note(self, "%c does nothing here%s; ? lists the keys", key, always);
}
