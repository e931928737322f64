#include "gateway/approvers/tty/tty_answer.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/tty/tty_letters.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/screen/tty_draw.h"
#include "gateway/approvers/screen/tty_rows.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/approvers/screen/tty_shown.h"
#include "gateway/approvers/tty/tty_turn.h"

/* Shows the whole key, uncut, because it says what was granted. */
static char *answer_line(const char *key, const struct tty_answer *chosen, bool is_agent, int r,
			 const struct err *why)
{
	const char *after = is_agent                        ? ""
			    : chosen->is_abort              ? ""
			    : chosen->scope == GATEWAY_ONCE ? ", for those now waiting"
							    : " (undo: sallyport approve undo)";

	auto_free char *words = text_visible_dup(why->text[0] ? why->text : strerror(-r));

	if (r == 0)
		return mem_printf("sallyport   %s %s%s", key, chosen->recorded, after);
	if (r == -ENOENT)
		return mem_printf("sallyport   %s: the question was finished already", key);
	return mem_printf("sallyport   %s: nothing was recorded: %s", key, words);
}

/* The text that was stored; without one, the destination as the question shows it. */
static char *answer_key(const struct tty_answer *chosen, const char *covers,
			const struct policy_destination *dst)
{
	if (chosen->scope != GATEWAY_ONCE && covers[0] != '\0')
		return text_visible_dup(covers);
	return tty_prompt_name(&(struct approver_question){ .dst = *dst });
}

static void answer_again(void *arg);

/* Copies its texts: it may have to be given again. */
static void answer_copy(struct approver_answer *ret, const struct approver_answer *answer)
{
	*ret = *answer;
	ret->by = mem_strdup_or_null(answer->by);
	ret->words = mem_strdup_or_null(answer->words);
	ret->shown = mem_strdup_or_null(answer->shown);
	ret->typed = mem_strdup_or_null(answer->typed);
}

static void answer_sent(struct approver *self, const char *id, const char *key,
			const struct tty_answer *chosen, const struct approver_answer *answer)
{
	struct tty_given *given = mem_new(sizeof(*given));

	answer_copy(&given->answer, answer);
	if (self->source->await)
		self->source->await(self->of, &self->kept, answer_again, self);

	(void)snprintf(given->id, sizeof(given->id), "%s", id); /* fits: both are ids */
	given->key = mem_strdup(key);
	given->chosen = chosen;
	given->is_agent = self->question.agent != NULL;
	STAILQ_INSERT_TAIL(&self->given, given, entry);
}

static void answer_given_free(struct tty_given *given)
{
	free((char *)(uintptr_t)given->answer.by);
	free((char *)(uintptr_t)given->answer.words);
	free((char *)(uintptr_t)given->answer.shown);
	free((char *)(uintptr_t)given->answer.typed);
	free(given->key);
	free(given);
}

/* Uses only the draft's words, which @answer borrows, and what was typed. */
static void answer_send(struct approver *self, const struct tty_answer *chosen,
			struct approver_answer *answer, const char *covers)
{
	char by[PERSON_TEXT_MAX], id[APPROVER_ID_MAX];
	bool is_agent = self->question.agent != NULL;
	auto_free char *key = is_agent ? tty_prompt_name(&self->question)
				       : answer_key(chosen, covers, &self->question.dst);
	struct err why = { 0 };
	int r;

	answer->by = person_text(getuid(), "tty", by);
	memcpy(id, self->question.id, sizeof(id));
	self->question.id[0] = '\0'; /* a retraction from here on is our own */
	r = self->source->give(self->of, id, answer, &why);
	if (r == -EINPROGRESS) {
		answer_sent(self, id, key, chosen, answer);
		return tty_turn_wait(self);
	}
	auto_free char *line = answer_line(key, chosen, is_agent, r, &why);
	tty_turn_settle(self, line);
	if (r < 0 && r != -ENOENT)
		tty_self_note(self, "nothing was recorded: %s", why.text);
}

/* Gives the answer that was recorded when the page was drawn. */
void tty_answer_give(struct approver *self, const struct tty_answer *chosen)
{
	struct approver_answer answer;
	char covers[APPROVER_KEY_MAX];

	if (!tty_shown_may_answer(self, chosen))
		return;
	answer = self->shown.answer;
	if (chosen->action == POLICY_DENY) { /* by one key: tty_shown_covers() */
		tty_letters_fill(self, chosen, &answer);
		answer.shown = self->question.agent ? NULL : self->shown.covers;
	}
	memcpy(covers, self->shown.covers, sizeof(covers));
	if (gateway_typed_because(&self->question, &answer))
		answer.typed = self->question.typed; /* tty_words.c compared it */
	answer_send(self, chosen, &answer, covers);
}

void tty_answer_deny(struct approver *self, const struct tty_answer *chosen)
{
	struct approver_answer answer;

	tty_letters_fill(self, chosen, &answer);
	answer_send(self, chosen, &answer, "");
}

/* Each question is answered by its own id and key: a list never widens an answer. */
void tty_answer_give_ticked(struct approver *self, const struct tty_answer *chosen)
{
	size_t count = tty_rows_ticked(&self->list), at = 0;
	struct tty_row *ticked = mem_new_array(count + 1, sizeof(*ticked));
	struct approver_answer answer;
	char by[PERSON_TEXT_MAX], words[GATEWAY_WORDS_MAX];

	memcpy(words, self->draft.words, sizeof(words));
	for (size_t i = 0; i < self->list.count; i++) {
		if (self->list.rows[i].is_ticked)
			ticked[at++] = self->list.rows[i];
	}
	self->draft = (struct tty_draft){ 0 };
	tty_letters_fill(self, chosen, &answer);
	answer.words = words;
	answer.by = person_text(getuid(), "tty", by);
	for (size_t i = 0; i < count; i++) {
		struct err why = { 0 };
		auto_free char *key = answer_key(chosen, "", &ticked[i].dst);

		answer.shown = chosen->action == POLICY_ALLOW ? key : NULL;
		answer.typed = ticked[i].is_named ? ticked[i].domain : NULL;
		tty_rows_forget(&self->list, ticked[i].id); /* an open one is shown again */
		int r = self->source->give(self->of, ticked[i].id, &answer, &why);

		if (r == -EINPROGRESS) {
			answer_sent(self, ticked[i].id, key, chosen, &answer);
			continue;
		}
		auto_free char *line = answer_line(key, chosen, false, r, &why);
		tty_draw_line(self, line);
	}
	free(ticked);
	if (STAILQ_EMPTY(&self->given))
		tty_turn_settle(self, "");
	else
		tty_turn_wait(self);
}

static struct tty_given *answer_find(const struct tty_given_list *list, const char *id)
{
	struct tty_given *given;

	STAILQ_FOREACH (given, list, entry) {
		if (strcmp(given->id, id) == 0)
			break;
	}
	return given;
}

bool tty_answer_is_given(const struct approver *self, const char *id)
{
	return answer_find(&self->given, id) || answer_find(&self->overdue, id);
}

static struct tty_given *answer_take(struct tty_given_list *list, const char *id)
{
	struct tty_given *given = answer_find(list, id);

	if (given)
		STAILQ_REMOVE(list, given, tty_given, entry);
	return given;
}

/* Shows one result; after the last awaited one, the turn continues. */
static void answer_said(struct approver *self, const char *line)
{
	if (STAILQ_EMPTY(&self->given))
		tty_turn_settle(self, line);
	else if (tty_self_is_held(self))
		tty_draw_line(self, line);
}

/* Shows a result only when the gateway reports it, so that the screen says what was granted.
 * Replies come in the order of the answers, so an overdue answer is looked for first. */
void tty_answer_came(struct approver *self, const char *id, int r, const struct err *why)
{
	struct tty_given *overdue = answer_take(&self->overdue, id);
	struct tty_given *given = overdue ? overdue : answer_take(&self->given, id);

	if (!given)
		return;
	auto_free char *line = answer_line(given->key, given->chosen, given->is_agent, r, why);

	answer_given_free(given);
	if (overdue && STAILQ_EMPTY(&self->given))
		return tty_turn_say(self, line);
	answer_said(self, line);
	if (STAILQ_EMPTY(&self->given) && r < 0 && r != -ENOENT)
		tty_self_note(self, "nothing was recorded: %s", why->text);
}

/* The file was written: gives the answers again that waited for it. */
static void answer_again(void *arg)
{
	struct approver *self = arg;
	struct tty_given *given = STAILQ_FIRST(&self->given), *next;

	for (; given; given = next) {
		struct err why = { 0 };
		int r = self->source->give(self->of, given->id, &given->answer, &why);

		next = STAILQ_NEXT(given, entry);
		if (r != -EINPROGRESS)
			tty_answer_came(self, given->id, r, &why);
		else
			self->source->await(self->of, &self->kept, answer_again, self);
	}
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
