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

/* A text that cannot be typed here whole cannot be allowed here. */
static bool agent_may_allow(const struct approver_agent_question *agent)
{
	return strlen(agent->typed) < POLICY_HOST_MAX;
}

void tty_agent_keep(struct approver *self, const struct approver_agent_question *agent)
{
	(void)snprintf(self->agent_kind, sizeof(self->agent_kind), "%s", agent->kind);
	self->agent = *agent;
	self->agent.kind = self->agent_kind;
	self->agent.lines = NULL;
	self->agent.line_count = 0;
	if (!agent_may_allow(agent))
		self->agent.choices &= GATEWAY_AGENT_DENY_ALWAYS | GATEWAY_AGENT_ABORT;
	self->agent.typed = self->question.typed;
	self->question.agent = &self->agent;
}

bool tty_agent_offers(const struct approver_agent_question *agent, const struct tty_answer *chosen)
{
	bool is_allow = chosen->action == POLICY_ALLOW;
	unsigned int bit = 0;

	if (chosen->is_abort)
		return agent->choices & GATEWAY_AGENT_ABORT;
	if (is_allow && !agent_may_allow(agent))
		return false;
	if (chosen->scope == GATEWAY_ONCE)
		return !is_allow || agent->choices & GATEWAY_AGENT_ONCE;
	if (chosen->scope == GATEWAY_SESSION && is_allow)
		bit = GATEWAY_AGENT_SESSION;
	else if (chosen->scope == GATEWAY_ALWAYS)
		bit = is_allow ? GATEWAY_AGENT_ALWAYS : GATEWAY_AGENT_DENY_ALWAYS;
	return agent->choices & bit;
}

static void agent_choices(struct tty_page *page, const struct approver_agent_question *agent)
{
	static const struct {
		const char *label, *text;
		struct tty_answer answer;
	} all[] = {
		{ "allow", "y once", { .action = POLICY_ALLOW, .scope = GATEWAY_ONCE } },
		{ "allow", "s session", { .action = POLICY_ALLOW, .scope = GATEWAY_SESSION } },
		{ "allow", "a always", { .action = POLICY_ALLOW, .scope = GATEWAY_ALWAYS } },
		{ "deny", "n once", { .action = POLICY_DENY, .scope = GATEWAY_ONCE } },
		{ "deny", "D always", { .action = POLICY_DENY, .scope = GATEWAY_ALWAYS } },
		{ "deny", "q and stop the agent", { .action = POLICY_DENY, .is_abort = true } },
	};
	const char *before = "";

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!tty_agent_offers(agent, &all[i].answer))
			continue;
		tty_page_choice(page, TTY_NEEDED,
				strcmp(before, all[i].label) == 0 ? NULL : all[i].label,
				all[i].text);
		before = all[i].label;
	}
	tty_page_choice(page, TTY_NEEDED, NULL, "r reason");
	tty_page_choice(page, TTY_NEEDED, NULL, "? help");
}

static void agent_waiting(struct tty_page *page, const struct approver_question *question,
			  unsigned int others)
{
	char text[128], left[32], more[64] = "";
	bool has_name = question->session && question->session[0] != '\0';
	auto_free char *from = mem_printf("%s%s%s", question->id, has_name ? ", session " : "",
					  has_name ? question->session : "");

	tty_prompt_left(left, sizeof(left), question->left_ms);
	if (others > 0)
		(void)snprintf(more, sizeof(more), ", %u more question%s: l lists them", others,
			       others == 1 ? " waits" : "s wait");
	(void)snprintf(text, sizeof(text), "denied in %s%s", left, more); /* fits */
	tty_page_field(page, TTY_HELP, "waiting", text);
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
		return "denies this, and stops the agent";
	default:
		return "";
	}
}

/* What stands below the question's own lines. */
static void agent_foot(struct tty_page *page, const struct approver_question *question,
		       const struct tty_draft *draft, unsigned int others, bool is_short)
{
	if (!is_short)
		agent_waiting(page, question, others);
	agent_choices(page, question->agent);
	tty_words_show(page, draft);
	if (draft->letter != 0 && !is_short)
		tty_page_field(page, TTY_DETAIL, "Enter", agent_enter(draft->letter));
	if (draft->is_typing)
		tty_page_whole(page, "type", question->typed);
	tty_page_note(page, draft->note);
}

/* Cuts @body to the lines that fit into @room with one line that says which they are. */
static void agent_cut(struct tty_page *body, struct tty_page *foot, size_t room,
		      struct tty_draft *draft)
{
	size_t all = body->count, to;
	char text[128];

	if (draft->from >= all)
		draft->from = 0;
	tty_page_cut_to(body, draft->from, room - 1);
	to = draft->from + body->count;
	if (draft->from <= draft->seen && to > draft->seen)
		draft->seen = (unsigned int)to;
	draft->next = to < all ? (unsigned int)to : 0;
	(void)snprintf(text, sizeof(text), "lines %u to %zu of %zu: Space shows %s%s",
		       draft->from + 1, to, all, draft->next ? "the next" : "the first again",
		       draft->seen < all ? "; an allow needs all of them seen" : ""); /* fits */
	tty_page_field(foot, TTY_NEEDED, "more", text);
}

unsigned int tty_agent_write(struct evbuffer *out, const struct tty_look *look,
			     const struct approver_question *question, struct tty_draft *draft,
			     unsigned int others, bool *ret_is_whole)
{
	const struct approver_agent_question *agent = question->agent;
	struct tty_page title = { .width = look->width }, body = title, more = title, foot = title;
	size_t rows = tty_page_rows(look), taken;
	auto_free char *text = mem_printf("sallyport   an agent asks: %s", agent->kind);
	unsigned int lines;

	if (draft->seen_width != look->width)
		draft->from = draft->seen = 0; /* other lines */
	draft->seen_width = look->width;
	for (size_t i = 0; i < agent->line_count; i++)
		tty_page_whole(&body, agent->lines[i].label, agent->lines[i].text);
	agent_foot(&foot, question, draft, others, false);
	if (foot.count + body.count + 1 > rows) {
		tty_page_clear(&foot);
		agent_foot(&foot, question, draft, others, true);
	}
	taken = foot.count + 1;
	*ret_is_whole = false;
	if (look->is_narrow || taken + 2 > rows) {
		tty_page_clear(&body);
		tty_page_clear(&foot);
		tty_page_small(&body, look, (unsigned int)taken + 2, "n denies");
		return tty_page_write(&body, out, look);
	}
	tty_page_title(&title, text);
	size_t all = body.count;

	if (taken + all > rows)
		agent_cut(&body, &more, rows - taken, draft);
	else
		draft->seen = (unsigned int)all;
	*ret_is_whole = draft->seen >= all;
	lines = tty_page_write(&title, out, look) + tty_page_write(&body, out, look);
	lines += tty_page_write(&more, out, look);
	return lines + tty_page_write(&foot, out, look);
}

void tty_agent_next(struct approver *self)
{
	self->draft.from = self->draft.next;
	self->is_stale = true;
}
