#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/questions/question_impl.h"
#include "exec/orchestrator/setting.h"

/* The open question that is put under this id now. */
static struct question *find_put(const struct questions *questions, const char *id)
{
	struct question *question;

	TAILQ_FOREACH (question, &questions->list, entry) {
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

int question_answer(struct questions *questions, const char *id, uint64_t client,
		    const struct orchestrator_answer *answer, struct err *why)
{
	struct question *question = find_put(questions, id);
	unsigned int choice = answer->choice;

	if (!question || !question_put_is_with_person(question))
		return err_set(why, -ENOENT,
			       "the question is not open; it was answered or withdrawn, or its "
			       "time was over");
	if (question->wanted.client != client)
		return err_set(why, -EPERM, "the question was put to another client");
	if (choice > ORCHESTRATOR_UNCONFINED || !(question->choices & BIT(choice)) ||
	    answer->expires_ms < 0 || (answer->is_nobody && choice != ORCHESTRATOR_DENY))
		return err_set(why, -EINVAL, "the question does not offer this answer");
	if (answer->proposal > 0 &&
	    (choice != ORCHESTRATOR_ALWAYS || answer->proposal > count_lines(question)))
		return err_set(why, -EINVAL, "the question does not propose this line");
	question->chosen = count_lines(question) > 1 ? answer->proposal : 0;
	question->expires_ms = answer->expires_ms;
	(void)snprintf(question->by, sizeof(question->by), "%s", answer->by ? answer->by : "");
	question->ruling.through = answer->through;
	question_rule(question, answer->is_nobody ? ORCHESTRATOR_BY_NOBODY : ORCHESTRATOR_BY_PERSON,
		      answer->choice,
		      answer->is_nobody ? ORCHESTRATOR_REJECTED_NO_ANSWER
					: ORCHESTRATOR_REJECTED_BY_PERSON,
		      answer->words);
	return 0;
}

/* Does the program's "allow" count, or must a person decide? A retry after a refusal, a request
 * that is asked each time, and a run with less confinement need a person. */
static bool may_allow(const struct question *question, const struct orchestrator_decider *decider)
{
	if (question->is_retry || question->ask.is_one_shot || question->heard != ORCHESTRATOR_PASS)
		return false;
	if (question->ask.is_wider && !decider->may_unconfine)
		return false;
	return decider->is_reviewer || !question->setting->config.is_strict;
}

/* question_put_next() chooses the next one to ask. */
static void pass(struct question *question)
{
	loop_timer_stop(&question->deadline);
	question->next++;
	question->state = QUESTION_NEW;
	question_wake(question);
}

static void rule_by(struct question *question, const struct orchestrator_decider *decider,
		    enum orchestrator_choice choice, const char *by, const char *words)
{
	(void)snprintf(question->by, sizeof(question->by), "%s", by && by[0] ? by : decider->name);
	question_rule(question,
		      decider->is_reviewer ? ORCHESTRATOR_BY_REVIEWER : ORCHESTRATOR_BY_HOOK,
		      choice,
		      decider->is_reviewer ? ORCHESTRATOR_REJECTED_BY_REVIEWER
					   : ORCHESTRATOR_REJECTED_BY_HOOK,
		      words);
}

int question_answer_decider(struct questions *questions, const char *id,
			    enum orchestrator_decision decision, const char *by, const char *words,
			    struct err *why)
{
	struct question *question = find_put(questions, id);

	if (!question || question_put_is_with_person(question))
		return err_set(why, -ENOENT,
			       "the question is not open; it was withdrawn, or it expired");
	const struct orchestrator_decider *decider =
		&questions->setting->config.deciders[question->next];
	bool is_silence = decision == ORCHESTRATOR_WAS_LATE || decision == ORCHESTRATOR_HAS_FAILED;
	bool is_denial = !is_silence && decision != ORCHESTRATOR_PASS &&
			 decision != ORCHESTRATOR_DECIDES_ALLOW;

	if (decider->is_reviewer && !is_silence)
		breaker_count(&questions->breakers[question->next], is_denial);
	if (is_silence) {
		question->heard = decision;
		question->is_reviewer_late |=
			decider->is_reviewer && decision == ORCHESTRATOR_WAS_LATE;
		pass(question);
	} else if (is_denial) {
		rule_by(question, decider, ORCHESTRATOR_DENY, by, words);
	} else if (decision == ORCHESTRATOR_DECIDES_ALLOW && may_allow(question, decider)) {
		rule_by(question, decider, ORCHESTRATOR_ONCE, by, words);
	} else {
		pass(question);
	}
	return 0;
}

size_t question_answer_gone(struct questions *questions, uint64_t client)
{
	struct question *question;
	size_t count = 0;

	TAILQ_FOREACH (question, &questions->list, entry) {
		if (!question_put_is_with_person(question) || question->wanted.client != client)
			continue;
		question_rule(question, ORCHESTRATOR_BY_DEPARTURE, ORCHESTRATOR_DENY,
			      ORCHESTRATOR_REJECTED_NO_ANSWER,
			      "the client that was asked has disconnected");
		count++;
	}
	return count;
}
