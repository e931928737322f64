#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/question_impl.h"

/* What is put to somebody now under this id. */
static struct question *find_put(const struct orchestrator *orchestrator, const char *id)
{
	struct question *question;

	TAILQ_FOREACH (question, &orchestrator->questions, entry) {
		if (question->state == QUESTION_PUT && strcmp(question->id, id) == 0)
			return question;
	}
	return NULL;
}

static size_t count_lines(const struct question *question)
{
	size_t count = 0;

	while (question->proposal[count])
		count++;
	return count;
}

int question_answer(struct orchestrator *orchestrator, const char *id, uint64_t client,
		    const struct orchestrator_answer *answer, struct err *why)
{
	struct question *question = find_put(orchestrator, id);
	unsigned int choice = answer->choice;

	if (!question || !question_put_is_with_person(question))
		return err_set(why, -ENOENT,
			       "no such question is open: it was answered, withdrawn or late");
	if (question->request.client != client)
		return err_set(why, -EPERM, "the question was not put to you");
	if (choice > ORCHESTRATOR_UNCONFINED || !(question->choices & BIT(choice)) ||
	    answer->expires_ms < 0 || (answer->is_nobody && choice != ORCHESTRATOR_DENY))
		return err_set(why, -EINVAL, "this answer was not offered");
	if (answer->proposal > 0 &&
	    (choice != ORCHESTRATOR_ALWAYS || answer->proposal > count_lines(question)))
		return err_set(why, -EINVAL, "this line was not proposed");
	question->chosen = count_lines(question) > 1 ? answer->proposal : 0;
	question->expires_ms = answer->expires_ms;
	question_rule(question, answer->choice,
		      answer->is_nobody ? ORCHESTRATOR_REJECTED_NO_ANSWER
					: ORCHESTRATOR_REJECTED_BY_PERSON,
		      answer->words);
	return 0;
}

/* Does the program's "allow" count, or is it for a person to say? What is asked once more because
 * something was refused, each time anew, or to run with less around it, a person allows. */
static bool may_allow(const struct question *question, const struct orchestrator_decider *decider)
{
	if (question->is_retry || question->ask.is_one_shot || question->heard != ORCHESTRATOR_PASS)
		return false;
	if (question->ask.is_wider && !decider->may_unconfine)
		return false;
	return decider->is_reviewer || !question->orchestrator->config.is_strict;
}

/* Whom it is put to next is another's to say. */
static void pass(struct question *question)
{
	loop_timer_stop(&question->deadline);
	question->next++;
	question->state = QUESTION_NEW;
	question_wake(question);
}

int question_answer_decider(struct orchestrator *orchestrator, const char *id,
			    enum orchestrator_decision decision, const char *words, struct err *why)
{
	struct question *question = find_put(orchestrator, id);

	if (!question || question_put_is_with_person(question))
		return err_set(why, -ENOENT, "no such question is open: it was withdrawn or late");
	const struct orchestrator_decider *decider = &orchestrator->config.deciders[question->next];
	bool is_silence = decision == ORCHESTRATOR_WAS_LATE || decision == ORCHESTRATOR_HAS_FAILED;
	bool is_denial = !is_silence && decision != ORCHESTRATOR_PASS &&
			 decision != ORCHESTRATOR_DECIDES_ALLOW;

	if (decider->is_reviewer && !is_silence)
		breaker_count(&orchestrator->breakers[question->next], is_denial);
	if (is_silence) {
		question->heard = decision;
		question->is_reviewer_late |=
			decider->is_reviewer && decision == ORCHESTRATOR_WAS_LATE;
		pass(question);
	} else if (is_denial) {
		question_rule(question, ORCHESTRATOR_DENY,
			      decider->is_reviewer ? ORCHESTRATOR_REJECTED_BY_REVIEWER
						   : ORCHESTRATOR_REJECTED_BY_HOOK,
			      words);
	} else if (decision == ORCHESTRATOR_DECIDES_ALLOW && may_allow(question, decider)) {
		question_rule(question, ORCHESTRATOR_ONCE, ORCHESTRATOR_REJECTED_BY_HOOK, NULL);
	} else {
		pass(question);
	}
	return 0;
}

size_t question_answer_gone(struct orchestrator *orchestrator, uint64_t client)
{
	struct question *question;
	size_t count = 0;

	TAILQ_FOREACH (question, &orchestrator->questions, entry) {
		if (!question_put_is_with_person(question) || question->request.client != client)
			continue;
		question_rule(question, ORCHESTRATOR_DENY, ORCHESTRATOR_REJECTED_NO_ANSWER,
			      "who was asked has gone");
		count++;
	}
	return count;
}
