/* Lists the keys, for a window of any size: as many lines as fit, and the next ones after a key. */
#include "gateway/approvers/screen/tty_help.h"

#include <event2/buffer.h>

#include "base/mem.h"
#include "gateway/approvers/screen/tty_page.h"
#include "gateway/approvers/tty/tty_self.h"

#define HELP_LINES_LEAST 1

/* HELP_RUN: the terminal is a command's; HELP_WATCH: it is not. */
enum help_where {
	HELP_ALL,
	HELP_ONE,
	HELP_LIST,
	HELP_PAGE,
	HELP_DESTINATION,
	HELP_RUN,
	HELP_WATCH,
	HELP_SHARED, /* several commands may share the session */
	HELP_ALWAYS, /* there is a policy file to write */
};

static const struct help_key {
	const char *key, *text;
	enum help_where where;
} help_keys[] = {
	{ "y", "allow once, those that wait now", HELP_ALL },
	{ "e", "allow for this command", HELP_SHARED },
	{ "s", "allow for the session", HELP_ALL },
	{ "a", "allow always: a line in your policy", HELP_ALWAYS },
	{ "Enter", "allows, after one of these letters", HELP_ALL },
	{ "n", "deny once; denials need no Enter", HELP_ALL },
	{ "E", "deny for this command", HELP_SHARED },
	{ "S", "deny for the session", HELP_DESTINATION },
	{ "D", "deny always: a line in your policy", HELP_ALWAYS },
	{ "q", "deny, and stop the commands", HELP_ALL },
	{ "Ctrl-C", "the same, for all questions shown", HELP_RUN },
	{ "Backspace", "takes the letter back", HELP_ALL },
	{ "h", "this host, or its whole domain", HELP_ONE },
	{ "p", "this port, or every port", HELP_ONE },
	{ "t", "without end, or for a time", HELP_ONE },
	{ "b", "any bytes sent, or at most so many", HELP_ONE },
	{ "o", "any program, or only this one", HELP_ONE },
	{ "Space", "the next lines, if there are more", HELP_PAGE },
	{ "l", "all questions as a list", HELP_ONE },
	{ "Space", "select a line, or take it out", HELP_LIST },
	{ "j k", "down and up, as the arrows", HELP_LIST },
	{ "1 2 3 ...", "the number, then Space or v", HELP_LIST },
	{ "A", "select all that is shown", HELP_LIST },
	{ "*", "select all that is shown without (!)", HELP_LIST },
	{ "g", "a line for each domain, or each host", HELP_LIST },
	{ "v", "view it by itself", HELP_LIST },
	{ "r", "a reason, which the command is shown", HELP_ALL },
	{ "x Ctrl-C", "leave this screen", HELP_WATCH },
};

static bool help_has(enum help_where where, const struct tty_look *look, bool is_list,
		     bool is_agent)
{
	switch (where) {
	case HELP_ONE:
		return !is_list && !is_agent;
	case HELP_LIST:
		return is_list;
	case HELP_PAGE:
		return !is_list;
	case HELP_DESTINATION:
		return !is_agent;
	case HELP_RUN:
		return !look->may_leave;
	case HELP_WATCH:
		return look->may_leave;
	case HELP_SHARED:
		return look->is_shared;
	case HELP_ALWAYS:
		return look->may_always;
	case HELP_ALL:
	default:
		return true;
	}
}

unsigned int tty_help_write(struct evbuffer *out, const struct tty_look *look, bool is_list,
			    bool is_agent, struct tty_draft *draft)
{
	struct tty_page page = { .width = look->width };
	unsigned int rows = tty_page_rows(look), all;

	for (size_t i = 0; i < ARRAY_SIZE(help_keys); i++) {
		const struct help_key *key = &help_keys[i];

		if (help_has(key->where, look, is_list, is_agent))
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
	const char *why = self->question.agent       ? ": the question does not offer it"
			  : key == 'a' || key == 'D' ? ": there is no policy file to write"
			  : key == 'e' || key == 'E' ? ": the session has one command, use s or S"
						     : "";

	if (key < 0x20 || key == 0x7f)
		tty_self_note(self, "Ctrl-%c does nothing here; ? lists the keys", key ^ 0x40);
	else if (key == ' ')
		tty_self_note(self, "all lines are shown; ? lists the keys");
	else
		tty_self_note(self, "%c does nothing here%s; ? lists the keys", key, why);
}
