/* Several questions answered in one go, each as itself and for what it asks, no wider: what is
 * ticked is listed whole, and a word is typed. What warns is answered by itself. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/approve_screen_impl.h"

size_t approve_screen_many_count(const struct approve_screen *screen)
{
	const struct screen_question *question;
	size_t count = 0;

	TAILQ_FOREACH (question, &screen->questions, entry)
		count += question->is_ticked;
	return count;
}

void approve_screen_many_tick(struct approve_screen *screen)
{
	struct screen_question *chosen = screen->chosen;

	if (!chosen || chosen->is_answered)
		return;
	if (!chosen->is_ticked && approve_screen_typed(chosen)[0] != '\0')
		return approve_screen_say(screen, "what warns (!) is answered by itself");
	chosen->is_ticked = !chosen->is_ticked;
	approve_screen_words_review(screen, false);
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

void approve_screen_many_tick_all(struct approve_screen *screen)
{
	struct screen_question *question;

	TAILQ_FOREACH (question, &screen->questions, entry)
		question->is_ticked =
			!question->is_answered && approve_screen_typed(question)[0] == '\0';
	approve_screen_words_review(screen, false);
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

/* A question that has begun to warn meanwhile is not among them any more. */
void approve_screen_many_review(struct approve_screen *screen)
{
	struct screen_question *question;

	TAILQ_FOREACH (question, &screen->questions, entry)
		question->is_ticked &= approve_screen_typed(question)[0] == '\0';
	approve_screen_words_review(screen, false);
	if (!screen->is_many || approve_screen_many_count(screen) > 0)
		return;
	screen->is_many = false;
	screen->is_late = true; /* the word is typed to its end */
}

void approve_screen_many_begin(struct approve_screen *screen, const char *op,
			       enum screen_scope scope)
{
	if (strcmp(op, "abort") == 0)
		return approve_screen_say(screen, "q ends the commands of one question: untick "
						  "the others with Space");
	if (approve_screen_draw_many_height(screen) + SCREEN_MANY_LINES > screen->rows)
		return approve_screen_say(screen,
					  "what is ticked has no room here: untick some, or "
					  "make the window larger");
	screen->is_many = true;
	screen->pending = (struct approve_answer){ .op = op, .is_person = true };
	screen->pending.scope = approve_screen_scope(scope);
	memcpy(screen->pending.words, screen->words, sizeof(screen->words));
	screen->typed[0] = '\0';
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

static void many_send(struct approve_screen *screen)
{
	struct screen_question *question;
	struct approve_answer answer = screen->pending;

	TAILQ_FOREACH (question, &screen->questions, entry) {
		if (!question->is_ticked)
			continue;
		question->is_ticked = false;
		auto_free char *to = approve_text_destination(question->question);

		(void)snprintf(answer.id, sizeof(answer.id), "%s", question->id);
		if (strcmp(answer.op, "allow") == 0)
			(void)snprintf(answer.text, sizeof(answer.text), "%s", to);
		approve_screen_send(screen, &answer);
	}
	approve_screen_words_review(screen, false);
}

void approve_screen_many_type(struct approve_screen *screen, unsigned char key)
{
	size_t len = strlen(screen->typed);

	if (key == '\r' || key == '\n') {
		bool is_shown =
			!approve_screen_keys_are_early(screen) && approve_screen_drawn_is(screen);

		screen->is_many = false;
		if (!is_shown || strcmp(screen->typed, "yes") != 0)
			approve_screen_say(screen, "nothing was answered");
		else if (approve_screen_draw_many_height(screen) + SCREEN_MANY_LINES > screen->rows)
			approve_screen_say(screen,
					   "the window is too small now; nothing was answered");
		else
			many_send(screen);
		approve_screen_guard(screen);
	} else if (key == 0x1b) {
		screen->is_many = false;
		approve_screen_guard(screen);
	} else if (key == 0x7f || key == 0x08) {
		screen->typed[len > 0 ? len - 1 : 0] = '\0';
	} else if (key > 0x20 && key < 0x7f && len + 1 < sizeof(screen->typed)) {
		screen->typed[len] = (char)key;
		screen->typed[len + 1] = '\0';
	}
	approve_screen_touch(screen);
}
