#include "gateway/approvers/tty/tty_agent.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/screen/tty_words.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/tty/tty_self.h"

void tty_agent_look(const struct approver_agent_question *agent, struct approver_question *ret)
{
	*ret = (struct approver_question){
		.age_ms = agent->age_ms,
		.left_ms = agent->left_ms,
		.agent = agent,
	};
	memcpy(ret->id, agent->id, sizeof(ret->id));
	(void)snprintf(ret->typed, sizeof(ret->typed), "%s", agent->typed); /* agent_may_allow() */
}

/* A command's own program, in place of what an agent asks for. */
static bool agent_is_program(const struct approver_agent_question *agent)
{
	return strcmp(agent->kind, "program") == 0;
}

/* Not if the text that has to be typed is cut here, nor if something could cover the question: it
 * has no text that one would have to know. */
static bool agent_may_allow(const struct approver_question *question)
{
	return strlen(question->agent->typed) < POLICY_HOST_MAX &&
	       !(question->risk & APPROVER_PAINTED);
}

void tty_agent_keep(struct approver *self, const struct approver_agent_question *agent)
{
	(void)snprintf(self->agent_kind, sizeof(self->agent_kind), "%s", agent->kind);
	self->agent = *agent;
	self->agent.kind = self->agent_kind;
	self->agent.lines = NULL;
	self->agent.line_count = 0;
	self->agent.typed = self->question.typed;
	self->question.agent = &self->agent;
}

bool tty_agent_offers(const struct approver_question *question, const struct tty_answer *chosen)
{
	const struct approver_agent_question *agent = question->agent;
	bool is_allow = chosen->action == POLICY_ALLOW;
	unsigned int bit = 0;

	if (chosen->is_abort)
		return agent->choices & GATEWAY_AGENT_ABORT;
	if (is_allow && !agent_may_allow(question))
		return false;
	if (chosen->scope == GATEWAY_ONCE)
		return !is_allow || agent->choices & GATEWAY_AGENT_ONCE;
	if (chosen->scope == GATEWAY_SESSION && is_allow)
		bit = GATEWAY_AGENT_SESSION;
	else if (chosen->scope == GATEWAY_ALWAYS)
		bit = is_allow ? GATEWAY_AGENT_ALWAYS : GATEWAY_AGENT_DENY_ALWAYS;
	return agent->choices & bit;
}

static void agent_choices(struct tty_page *page, const struct approver_question *question)
{
	const struct {
		const char *label, *text;
		struct tty_answer answer;
	} all[] = {
		{ "allow", "y once", { .action = POLICY_ALLOW, .scope = GATEWAY_ONCE } },
		{ "allow", "s session", { .action = POLICY_ALLOW, .scope = GATEWAY_SESSION } },
		{ "allow", "a always", { .action = POLICY_ALLOW, .scope = GATEWAY_ALWAYS } },
		{ "deny", "n once", { .action = POLICY_DENY, .scope = GATEWAY_ONCE } },
		{ "deny", "D always", { .action = POLICY_DENY, .scope = GATEWAY_ALWAYS } },
		{ "deny",
		  agent_is_program(question->agent) ? "q and stop the command"
						    : "q and stop the agent",
		  { .action = POLICY_DENY, .is_abort = true } },
	};
	const char *before = "";

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!tty_agent_offers(question, &all[i].answer))
			continue;
		tty_page_choice(page, TTY_NEEDED,
				strcmp(before, all[i].label) == 0 ? NULL : all[i].label,
				all[i].text);
		before = all[i].label;
	}
	tty_page_choice(page, TTY_NEEDED, NULL, "r reason");
	tty_page_choice(page, TTY_NEEDED, NULL, "? help");
}

static void agent_from(struct tty_page *page, const struct approver_question *question)
{
	bool has_name = question->session && question->session[0] != '\0';
	auto_free char *from = mem_printf("%s%s%s", question->id, has_name ? ", session " : "",
					  has_name ? question->session : "");

	tty_page_field(page, TTY_HELP, "question", from);
}

static const char *agent_enter(char letter)
{
	switch (letter) {
	case 'y':
		return "allows this once";
	case 's':
		return "allows this for the session";
	case 'a':
		return "allows this always";
	case 'D':
		return "denies this always";
	case 'q':
		return "denies this, and stops what asks";
	default:
		return "";
	}
}

struct agent_page {
	const struct approver_question *question;
	const struct tty_draft *draft;
	unsigned int others;
};

/* What stands below the question's own lines. */
static void agent_foot(struct tty_page *page, enum tty_foot form, const void *arg)
{
	const struct agent_page *all = arg;
	const struct tty_draft *draft = all->draft;
	bool is_long = form == TTY_FOOT_LONG;

	tty_prompt_denied(page, all->question, all->others, true);
	if (is_long)
		agent_from(page, all->question);
	page->is_tight = false; /* a letter here has no meaning of its own */
	if (form == TTY_FOOT_LEAST && !draft->is_typing)
		tty_page_choice(page, TTY_NEEDED, NULL, "? lists the keys");
	else if (is_long || !draft->is_typing)
		agent_choices(page, all->question);
	tty_words_show(page, draft);
	if (draft->letter != 0 && is_long)
		tty_page_field(page, TTY_DETAIL, "Enter", agent_enter(draft->letter));
	if (draft->is_typing)
		tty_page_whole(page, "type", all->question->typed);
	tty_page_note(page, draft->note);
}

unsigned int tty_agent_write(struct evbuffer *out, const struct tty_look *look,
			     const struct approver_question *question, struct tty_draft *draft,
			     unsigned int others, bool *ret_is_whole)
{
	const struct approver_agent_question *agent = question->agent;
	const struct agent_page all = { question, draft, others };
	auto_free char *title = agent_is_program(agent)
					? mem_strdup("sallyport   the command starts a program")
					: mem_printf("sallyport   an agent asks: %s", agent->kind);
	struct tty_sheet sheet = {
		.title = title,
		.small_how = "n denies",
		.body = { .width = look->width },
		.foot = agent_foot,
		.arg = &all,
	};

	if (question->risk & APPROVER_PAINTED)
		tty_page_warn(&sheet.body, TTY_WARNING, "output",
			      "the command writes to a pipe that can lead here, and cover this; "
			      "allow it in another terminal, with `sallyport approve`");
	for (size_t i = 0; i < agent->line_count; i++)
		tty_page_whole(&sheet.body, agent->lines[i].label, agent->lines[i].text);
	return tty_scroll_write(&sheet, out, look, &draft->scroll, ret_is_whole);
}
