#include "gateway/approvers/tty_answer.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/tty.h"

static const struct tty_answer answers[] = {
	{ 'y', POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once, for those now waiting" },
	{ 'e', POLICY_ALLOW, GATEWAY_EXEC, false, "allowed for this command" },
	{ 's', POLICY_ALLOW, GATEWAY_SESSION, false, "allowed for this session" },
	{ 'a', POLICY_ALLOW, GATEWAY_ALWAYS, false, "allowed always" },
	{ 'n', POLICY_DENY, GATEWAY_ONCE, false, "denied once, for those now waiting" },
	{ 'E', POLICY_DENY, GATEWAY_EXEC, false, "denied for this command" },
	{ 'S', POLICY_DENY, GATEWAY_SESSION, false, "denied for this session" },
	{ 'D', POLICY_DENY, GATEWAY_ALWAYS, false, "denied always" },
	{ 'q', POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
};

/* The letter that is tried while none is chosen. */
#define ANSWER_ASSUMED 's'

static const int64_t answer_times_s[] = { 0, 3600, 86400 };
static const uint64_t answer_budgets[] = { 0, 64U << 10, 1U << 20, 100U << 20 };

const struct tty_answer *tty_answer_find(const struct approver *self, unsigned char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		if ((unsigned char)answers[i].letter != letter)
			continue;
		if (answers[i].scope == GATEWAY_ALWAYS && !self->look.may_always)
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

/* An answer for once is about those who wait, and has no width: what was picked comes back with
 * another letter. */
void tty_answer_fill(const struct approver *self, const struct tty_answer *chosen,
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

int tty_answer_cover(struct approver *self, struct err *why)
{
	char letter = self->draft.letter != 0 ? self->draft.letter : ANSWER_ASSUMED;
	struct approver_answer answer;

	self->draft.covers[0] = '\0';
	tty_answer_fill(self, tty_answer_find(self, (unsigned char)letter), &answer);
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

bool tty_answer_scope(struct approver *self, unsigned char key)
{
	const struct approver_width before = self->draft.width;
	const struct tty_answer *chosen = tty_answer_find(self, (unsigned char)self->draft.letter);
	struct err why = { 0 };

	if (!width_press(&self->draft, key))
		return false;
	self->draft.note[0] = '\0';
	self->is_stale = true;
	if (tty_answer_cover(self, &why) < 0) {
		tty_turn_note(self, "not here: %s", why.text);
		self->draft.width = before;
		(void)tty_answer_cover(self, NULL); /* it was fine before */
	} else if (chosen && chosen->scope == GATEWAY_ONCE && !width_is_plain(&self->draft.width)) {
		tty_turn_note(self,
			      "once is about those who wait now; Backspace, and another letter");
	}
	return true;
}

/* The whole key, uncut: what stands here is what was granted. */
static char *answer_line(const char *key, const struct tty_answer *chosen, int r,
			 const struct err *why)
{
	auto_free char *words = text_visible_dup(why->text[0] ? why->text : strerror(-r));

	if (r == 0)
		return mem_printf("sallyport   %s %s", key, chosen->recorded);
	if (r == -ENOENT)
		return mem_printf("sallyport   %s: the question was finished already", key);
	return mem_printf("sallyport   %s: nothing was recorded: %s", key, words);
}

/* What has its own text: else the destination, as the question shows it. */
static char *answer_key(const struct tty_answer *chosen, const char *covers,
			const struct policy_destination *dst)
{
	char destination[POLICY_DESTINATION_TEXT_MAX * 4];

	if (chosen->scope != GATEWAY_ONCE && covers[0] != '\0')
		return text_visible_dup(covers);
	tty_prompt_destination(destination, sizeof(destination), dst, "", sizeof(destination));
	return mem_strdup(destination);
}

static void answer_sent(struct approver *self, const char *id, const char *key,
			const struct tty_answer *chosen)
{
	struct tty_given *given = mem_new(sizeof(*given));

	(void)snprintf(given->id, sizeof(given->id), "%s", id); /* fits: as long as ids are */
	given->key = mem_strdup(key);
	given->chosen = chosen;
	STAILQ_INSERT_TAIL(&self->given, given, entry);
}

static void answer_given_free(struct tty_given *given)
{
	free(given->key);
	free(given);
}

/* Takes nothing of the draft but its words, which @answer borrows, and what was typed. */
static void answer_send(struct approver *self, const struct tty_answer *chosen,
			struct approver_answer *answer, const char *covers)
{
	char by[PERSON_TEXT_MAX], id[APPROVER_ID_MAX];
	auto_free char *key = answer_key(chosen, covers, &self->question.dst);
	struct err why = { 0 };
	int r;

	answer->by = person_text(getuid(), "tty", by);
	memcpy(id, self->question.id, sizeof(id));
	self->question.id[0] = '\0'; /* whoever retracts it from here on means us */
	r = self->source->give(self->of, id, answer, &why);
	if (r == -EINPROGRESS) {
		answer_sent(self, id, key, chosen);
		return tty_turn_wait(self);
	}
	auto_free char *line = answer_line(key, chosen, r, &why);
	tty_turn_settle(self, line);
	if (r < 0 && r != -ENOENT)
		tty_turn_note(self, "nothing was recorded: %s", why.text);
}

/* What is stored is what was taken down when the page was drawn. */
void tty_answer_give(struct approver *self, const struct tty_answer *chosen)
{
	struct approver_answer answer;
	char covers[APPROVER_KEY_MAX];

	if (!tty_shown_may_answer(self, chosen))
		return;
	if (chosen->action == POLICY_DENY && chosen->scope == GATEWAY_ONCE)
		return tty_answer_deny(self, chosen);
	answer = self->shown.answer;
	memcpy(covers, self->shown.covers, sizeof(covers));
	if (chosen->action == POLICY_ALLOW && self->question.risk != 0)
		answer.typed = self->question.typed; /* key_typed_enter() compared it */
	answer_send(self, chosen, &answer, covers);
}

void tty_answer_deny(struct approver *self, const struct tty_answer *chosen)
{
	struct approver_answer answer;

	tty_answer_fill(self, chosen, &answer);
	answer_send(self, chosen, &answer, "");
}

/* Each by its own id and key: a list widens nothing. */
void tty_answer_give_ticked(struct approver *self, const struct tty_answer *chosen)
{
	size_t count = tty_list_ticked(&self->list), at = 0;
	struct tty_row *ticked = mem_new_array(count + 1, sizeof(*ticked));
	struct approver_answer answer;
	char by[PERSON_TEXT_MAX], words[GATEWAY_WORDS_MAX];

	memcpy(words, self->draft.words, sizeof(words));
	for (size_t i = 0; i < self->list.count; i++) {
		if (self->list.rows[i].is_ticked)
			ticked[at++] = self->list.rows[i];
	}
	self->draft = (struct tty_draft){ 0 };
	tty_answer_fill(self, chosen, &answer);
	answer.words = words;
	answer.by = person_text(getuid(), "tty", by);
	for (size_t i = 0; i < count; i++) {
		struct err why = { 0 };
		auto_free char *key = answer_key(chosen, "", &ticked[i].dst);

		answer.shown = chosen->action == POLICY_ALLOW ? key : NULL;
		answer.typed = ticked[i].is_named ? ticked[i].domain : NULL;
		tty_list_forget(&self->list, ticked[i].id); /* one that stays open comes again */
		int r = self->source->give(self->of, ticked[i].id, &answer, &why);

		if (r == -EINPROGRESS) {
			answer_sent(self, ticked[i].id, key, chosen);
			continue;
		}
		auto_free char *line = answer_line(key, chosen, r, &why);
		(void)evbuffer_add_printf(self->out, "\r\n%s", line); /* only out of memory */
	}
	free(ticked);
	if (STAILQ_EMPTY(&self->given))
		tty_turn_settle(self, "");
	else
		tty_turn_wait(self);
}

static struct tty_given *answer_take(struct tty_given_list *list, const char *id)
{
	struct tty_given *given;

	STAILQ_FOREACH (given, list, entry) {
		if (strcmp(given->id, id) == 0)
			break;
	}
	if (given)
		STAILQ_REMOVE(list, given, tty_given, entry);
	return given;
}

/* One of several that are waited for, or the last: then the turn goes on. */
static void answer_said(struct approver *self, const char *line)
{
	if (STAILQ_EMPTY(&self->given))
		tty_turn_settle(self, line);
	else if (tty_is_held(self))
		(void)evbuffer_add_printf(self->out, "\r\n%s", line); /* only out of memory */
}

/* Said by the gateway, and not before: what stands on the screen is what was granted. Replies come
 * in the order of the answers, so that what is overdue was first. */
void tty_answer_came(struct approver *self, const char *id, int r, const struct err *why)
{
	struct tty_given *overdue = answer_take(&self->overdue, id);
	struct tty_given *given = overdue ? overdue : answer_take(&self->given, id);

	if (!given)
		return;
	auto_free char *line = answer_line(given->key, given->chosen, r, why);

	answer_given_free(given);
	if (overdue && STAILQ_EMPTY(&self->given))
		return tty_turn_say(self, line);
	answer_said(self, line);
	if (STAILQ_EMPTY(&self->given) && r < 0 && r != -ENOENT)
		tty_turn_note(self, "nothing was recorded: %s", why->text);
}

void tty_answer_overdue(struct approver *self, const char *id)
{
	struct tty_given *given = answer_take(&self->given, id);

	if (!given)
		return;
	auto_free char *line = mem_printf("sallyport   %s: the session has not answered yet; what "
					  "became of it is said here",
					  given->key);

	STAILQ_INSERT_TAIL(&self->overdue, given, entry);
	answer_said(self, line);
}

static void answer_forget(struct tty_given_list *list)
{
	struct tty_given *given;

	while ((given = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, entry);
		answer_given_free(given);
	}
}

void tty_answer_forget_given(struct approver *self)
{
	answer_forget(&self->given);
	answer_forget(&self->overdue);
}
