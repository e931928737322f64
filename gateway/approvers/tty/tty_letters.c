#include "gateway/approvers/tty/tty_letters.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_agent.h"
#include "gateway/approvers/tty/tty_self.h"

static const struct tty_answer answers[] = {
	{ 'y', POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" },
	{ 'e', POLICY_ALLOW, GATEWAY_EXEC, false, "allowed for this command" },
	{ 's', POLICY_ALLOW, GATEWAY_SESSION, false, "allowed for this session" },
	{ 'a', POLICY_ALLOW, GATEWAY_ALWAYS, false, "allowed always" },
	{ 'n', POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ 'E', POLICY_DENY, GATEWAY_EXEC, false, "denied for this command" },
	{ 'S', POLICY_DENY, GATEWAY_SESSION, false, "denied for this session" },
	{ 'D', POLICY_DENY, GATEWAY_ALWAYS, false, "denied always" },
	{ 'q', POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
};

/* The letter whose text is shown while none is chosen. */
#define ANSWER_ASSUMED 's'

static const int64_t answer_times_s[] = { 0, 3600, 86400 };
static const uint64_t answer_budgets[] = { 0, 64U << 10, 1U << 20, 100U << 20 };

const struct tty_answer *tty_letters_find(const struct approver *self, unsigned char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		if ((unsigned char)answers[i].letter != letter)
			continue;
		if (self->question.agent)
			return tty_agent_offers(&self->question, &answers[i]) ? &answers[i] : NULL;
		if (answers[i].scope == GATEWAY_ALWAYS && !self->look.may_always)
			return NULL;
		if (answers[i].scope == GATEWAY_EXEC && !self->look.is_shared)
			return NULL;
		return &answers[i];
	}
	return NULL;
}

static bool width_is_plain(const struct approver_width *width)
{
	return !width->is_domain && !width->is_every_port && !width->is_program &&
	       width->for_s == 0 && width->upload_max == 0;
}

/* An answer for once covers only the waiting requests and has no width; the chosen width returns
 * with another letter. */
void tty_letters_fill(const struct approver *self, const struct tty_answer *chosen,
		      struct approver_answer *ret)
{
	*ret = (struct approver_answer){
		.action = chosen->action,
		.scope = chosen->scope,
		.is_abort = chosen->is_abort,
		.words = self->draft.words,
	};
	if (chosen->scope != GATEWAY_ONCE)
		ret->width = self->draft.width;
}

const struct tty_row *tty_letters_unnamed(const struct approver *self)
{
	const struct tty_answer *chosen = tty_letters_find(self, (unsigned char)self->draft.letter);
	struct approver_answer answer;

	if (!chosen)
		return NULL;
	tty_letters_fill(self, chosen, &answer);
	return tty_rows_unnamed(&self->list, &answer);
}

void tty_letters_key(const struct tty_answer *answer, char out[TTY_LETTERS_KEY_MAX])
{
	if (answer->action == POLICY_ALLOW)
		(void)snprintf(out, TTY_LETTERS_KEY_MAX, "Enter");
	else
		(void)snprintf(out, TTY_LETTERS_KEY_MAX, "%c", answer->letter);
}

int tty_letters_cover(struct approver *self, struct err *why)
{
	char letter = self->draft.letter != 0 ? self->draft.letter : ANSWER_ASSUMED;
	struct approver_answer answer;

	self->draft.covers[0] = '\0';
	if (self->question.agent) { /* what stands on the page */
		(void)snprintf(self->draft.covers, sizeof(self->draft.covers), "%s",
			       self->question.id);
		return 0;
	}
	tty_letters_fill(self, tty_letters_find(self, (unsigned char)letter), &answer);
	return self->source->text(self->of, self->question.id, &answer, self->draft.covers, why);
}

static int64_t next_time(int64_t now_s)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(answer_times_s) && answer_times_s[i] != now_s)
		i++;
	return answer_times_s[(i + 1) % ARRAY_SIZE(answer_times_s)];
}

static uint64_t next_budget(uint64_t now)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(answer_budgets) && answer_budgets[i] != now)
		i++;
	return answer_budgets[(i + 1) % ARRAY_SIZE(answer_budgets)];
}

static bool width_press(struct tty_draft *draft, unsigned char key)
{
	struct approver_width *width = &draft->width;

	switch (key) {
	case 'h':
		width->is_domain = !width->is_domain;
		return true;
	case 'p':
		width->is_every_port = !width->is_every_port;
		return true;
	case 't':
		width->for_s = next_time(width->for_s);
		return true;
	case 'b':
		width->upload_max = next_budget(width->upload_max);
		return true;
	case 'o':
		width->is_program = !width->is_program && draft->has_program;
		return draft->has_program;
	default:
		return false;
	}
}

bool tty_letters_scope(struct approver *self, unsigned char key)
{
	const struct approver_width before = self->draft.width;
	const struct tty_answer *chosen = tty_letters_find(self, (unsigned char)self->draft.letter);
	struct err why = { 0 };

	if (!width_press(&self->draft, key))
		return false;
	self->draft.note[0] = '\0';
	self->is_stale = true;
	if (tty_letters_cover(self, &why) < 0) {
		tty_self_note(self, "not here: %s", why.text);
		self->draft.width = before;
		(void)tty_letters_cover(self, NULL); /* it was valid before */
	} else if (chosen && chosen->scope == GATEWAY_ONCE && !width_is_plain(&self->draft.width)) {
		tty_self_note(
			self,
			"once is only about those that wait now; Backspace, then another letter");
	}
	return true;
}
