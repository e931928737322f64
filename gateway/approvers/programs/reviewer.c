#include "gateway/approvers/programs/reviewer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/approvers/table.h"

static void reviewer_pump(void *arg);

static void reviewer_pump_soon(struct approver *self)
{
	loop_defer(self->loop, &self->pump, reviewer_pump, self);
}

static struct reviewer_question *reviewer_find(struct approver *self, const char *id)
{
	struct reviewer_question *question;

	TAILQ_FOREACH (question, &self->questions, entry) {
		if (!question->is_over && !question->is_review && strcmp(question->id, id) == 0)
			return question;
	}
	return NULL;
}

void reviewer_question_free(struct reviewer_question *question)
{
	struct approver *self = question->owner;

	TAILQ_REMOVE(&self->questions, question, entry);
	self->question_count--;
	if (question->state == REVIEWER_ASKED)
		self->asked_count--;
	loop_timer_stop(&question->timer);
	json_decref(question->what);
	free(question);
}

/* Stores the description for the reviewer. -EIO: it cannot be made. */
static int question_describe(struct reviewer_question *question,
			     const struct approver_question *shown)
{
	json_t *what = reviewer_line_describe(shown);

	if (!what || reviewer_line_key(what, question->key) < 0) {
		json_decref(what);
		return -EIO;
	}
	json_decref(question->what);
	question->what = what;
	return 0;
}

/* Finds the present state of a question that was asked earlier. */
struct reviewer_look {
	const struct reviewer_question *question;
	bool is_open, is_same;
	unsigned int risk;
	json_t *what;
};

static void reviewer_look_at(const struct approver_question *shown, void *arg)
{
	struct reviewer_look *look = arg;
	char key[DIGEST_TEXT_MAX];

	if (strcmp(shown->id, look->question->id) != 0)
		return;
	look->is_open = true;
	look->risk = shown->risk;
	look->what = reviewer_line_describe(shown);
	look->is_same = look->what && reviewer_line_key(look->what, key) == 0 &&
			strcmp(key, look->question->key) == 0;
}

/* More commands wait now, which the reviewer was not told: asks again. Takes @what. */
static void question_again(struct reviewer_question *question, json_t *what)
{
	json_decref(question->what);
	question->what = what;
	question->said = REVIEWER_ABSTAIN; /* about the question as it is now */
	if (!what || reviewer_line_key(what, question->key) < 0 ||
	    ++question->tries >= REVIEWER_TRIES_MAX)
		return; /* no answer: people are asked */
	question->state = REVIEWER_QUEUED;
	reviewer_pump_soon(question->owner);
}

static void reviewer_is_open(struct approver *self);

static void reviewer_used(struct approver *self, bool is_denial)
{
	if (!reviewer_breaker_used(&self->breaker, is_denial))
		return;
	log_warn("the reviewer denied %d times in a row, so people are asked for a while",
		 REVIEWER_DENIALS_MAX);
	reviewer_is_open(self);
}

/* Gives the reviewer's answer to the gateway. @question may be freed. */
static void question_settle(struct reviewer_question *question, const char *reason)
{
	struct approver *self = question->owner;
	struct reviewer_look look = { .question = question };
	bool is_denial = question->said == REVIEWER_DENY;
	struct approver_answer answer = { .action = is_denial ? POLICY_DENY : POLICY_ALLOW,
					  .scope = GATEWAY_ONCE,
					  .is_review = true,
					  .by = gateway_reviewer_name(self->config),
					  .words = reason };
	struct err why = { 0 };

	gateway_each_question(self->gw, reviewer_look_at, &look);
	if (look.is_open && !look.is_same)
		return question_again(question, look.what);
	json_decref(look.what);
	/* A program may allow nothing that a person is warned of; a trusted one, nothing that a
	 * person would have to type. */
	unsigned int risk = self->config->is_trusted ? look.risk & APPROVER_REAL_RISKS : look.risk;

	if (!look.is_open || (!is_denial && risk != 0))
		return;
	question->is_ours = true;
	int r = gateway_answer(self->gw, question->id, &answer, &why);

	if (r < 0) {
		question->is_ours = false;
		log_warn("the reviewer's answer could not be given: %s",
			 why.text[0] ? why.text : strerror(-r));
		return;
	}
	reviewer_used(self, is_denial);
}

/* The same for something other than a destination. */
static void question_reviewed(struct reviewer_question *question, const char *reason)
{
	struct approver *self = question->owner;
	enum reviewer_say said = question->said;

	gateway_reviewed(question->review, reviewer_review_outcome(question),
			 gateway_reviewer_name(self->config), reason);
	reviewer_question_free(question);
	if (said != REVIEWER_ABSTAIN)
		reviewer_used(self, said == REVIEWER_DENY);
}

/* The reviewer has answered, or never will. @question may be freed. */
static void question_said(struct reviewer_question *question, enum reviewer_say say,
			  const char *reason)
{
	struct approver *self = question->owner;

	if (question->state == REVIEWER_ASKED)
		self->asked_count--;
	loop_timer_stop(&question->timer);
	question->state = REVIEWER_SAID;
	question->said = say;
	log_debug("the reviewer on %s: %s %s", question->id,
		  say == REVIEWER_ALLOW  ? "allow"
		  : say == REVIEWER_DENY ? "deny"
					 : "abstain",
		  reason);
	reviewer_pump_soon(self);
	if (question->is_watched) {
		return; /* until the person has answered too */
	} else if (question->review) {
		question_reviewed(question, reason);
	} else if (question->is_over) {
		if (question->by_person != POLICY_ASK)
			reviewer_trust_compare(self, question);
		reviewer_question_free(question);
	} else if (self->may_answer && say != REVIEWER_ABSTAIN) {
		question_settle(question, reason);
	}
}

/* Ends the waiting for every question that waits for the reviewer. */
static void reviewer_give_up(struct approver *self, enum reviewer_state least)
{
	struct reviewer_question *question = TAILQ_FIRST(&self->questions);

	while (question) {
		struct reviewer_question *next = TAILQ_NEXT(question, entry);

		if (question->state == REVIEWER_ASKED)
			question->failure = GATEWAY_REVIEW_FAILED;
		if (question->state != REVIEWER_SAID && question->state >= least)
			question_said(question, REVIEWER_ABSTAIN, "");
		question = next;
	}
}

static void reviewer_try(void *arg)
{
	struct approver *self = arg;

	reviewer_breaker_try(&self->breaker);
	gateway_approvers_changed(self->gw);
}

/* The breaker has just opened: the reviewer is not asked for a while. */
static void reviewer_is_open(struct approver *self)
{
	reviewer_helper_stop(&self->helper);
	reviewer_give_up(self, REVIEWER_QUEUED);
	loop_timer_start(self->loop, &self->open, self->breaker.open_ms, reviewer_try, self);
	gateway_approvers_changed(self->gw);
}

static void reviewer_failed(struct approver *self, const char *how)
{
	if (reviewer_breaker_failed(&self->breaker)) {
		log_warn("the reviewer %s; it will not be asked for %lld s", how,
			 (long long)(self->breaker.open_ms / 1000));
		reviewer_is_open(self);
	} else {
		log_info("the reviewer %s", how);
	}
}

void reviewer_gone(struct approver *self, const char *how, bool is_failure)
{
	bool was_asked = self->asked_count > 0;

	reviewer_give_up(self, REVIEWER_ASKED);
	if (is_failure || was_asked)
		reviewer_failed(self, how);
}

/* Counts an answer that is late, repeated, or was never asked for. */
static void reviewer_ignore(struct approver *self)
{
	if (self->ignored++ == 0)
		log_warn("the reviewer's answer is ignored: it has no open question, or it is too "
			 "late");
	if (self->ignored % REVIEWER_IGNORED_MAX != 0)
		return;
	reviewer_helper_stop(&self->helper);
	reviewer_gone(self, "sends too many answers without an open question", true);
}

static struct reviewer_question *reviewer_find_sent(struct approver *self, const char *sent)
{
	struct reviewer_question *question;

	TAILQ_FOREACH (question, &self->questions, entry) {
		if (question->state == REVIEWER_ASKED && strcmp(question->sent, sent) == 0)
			return question;
	}
	return NULL;
}

void reviewer_heard(struct approver *self, const char *line, size_t len)
{
	struct reviewer_reply reply;
	int r = reviewer_line_parse(line, len, &reply);
	struct reviewer_question *question = reviewer_find_sent(self, reply.id);

	if (r < 0 && question) {
		question->failure = GATEWAY_REVIEW_FAILED;
		question_said(question, REVIEWER_ABSTAIN, "");
	}
	if (r < 0)
		return reviewer_failed(self, "sent a malformed line");
	if (!question)
		return reviewer_ignore(self);
	reviewer_breaker_answered(&self->breaker);
	/* An allow of something other than a destination is for that one request: it is not
	 * remembered. */
	if (!question->is_review || reply.say == REVIEWER_DENY)
		reviewer_memory_keep(&self->memory, question->key, &reply, loop_now_ms(self->loop));
	question_said(question, reply.say, reply.reason);
}

static void reviewer_late(void *arg)
{
	struct reviewer_question *question = arg;
	struct approver *self = question->owner;

	question->failure = GATEWAY_REVIEW_LATE;
	question_said(question, REVIEWER_ABSTAIN, "");
	reviewer_failed(self, "did not answer in time");
}

/* At most half of the remaining time: the rest is for people. */
static int64_t question_timeout(const struct reviewer_question *question)
{
	const struct approver *self = question->owner;
	int64_t left_ms = question->due_ms - loop_now_ms(self->loop);
	int64_t timeout_ms =
		self->config->timeout_ms > 0 ? self->config->timeout_ms : REVIEWER_TIMEOUT_MS;

	return timeout_ms < left_ms / 2 ? timeout_ms : left_ms / 2;
}

static void question_send(struct reviewer_question *question)
{
	struct approver *self = question->owner;
	int64_t timeout_ms = question_timeout(question);

	(void)snprintf(question->sent, sizeof(question->sent), "%s.%llu", question->id,
		       (unsigned long long)++self->last_sent);
	auto_free char *line =
		timeout_ms > 0 ? reviewer_line_ask(question->what, question->sent, timeout_ms)
			       : NULL;
	if (!line)
		return question_said(question, REVIEWER_ABSTAIN, "");
	question->state = REVIEWER_ASKED;
	self->asked_count++;
	loop_timer_start(self->loop, &question->timer, timeout_ms, reviewer_late, question);
	if (reviewer_helper_say(&self->helper, line) < 0) {
		question->failure = GATEWAY_REVIEW_FAILED;
		question_said(question, REVIEWER_ABSTAIN, "");
		reviewer_failed(self, "does not read its input");
	}
}

/* Uses a remembered answer about an equal question; also true if the reviewer may not be asked
 * now. */
static bool question_is_said(struct reviewer_question *question)
{
	struct approver *self = question->owner;
	const struct reviewer_remembered *before =
		reviewer_memory_find(&self->memory, question->key, loop_now_ms(self->loop));

	if (before) {
		struct reviewer_remembered copy = *before;

		question_said(question, copy.say, copy.reason);
		return true;
	}
	if (self->breaker.fitness != REVIEWER_UNFIT)
		return false;
	question_said(question, REVIEWER_ABSTAIN, "");
	return true;
}

static struct reviewer_question *reviewer_next(struct approver *self)
{
	struct reviewer_question *question;

	TAILQ_FOREACH (question, &self->questions, entry) {
		if (question->state == REVIEWER_QUEUED)
			return question;
	}
	return NULL;
}

/* Asks one at a time, because each call may end other questions. */
static void reviewer_pump(void *arg)
{
	struct approver *self = arg;
	struct reviewer_question *question = reviewer_next(self);
	unsigned int max = self->breaker.fitness == REVIEWER_ON_TRIAL ? 1 : REVIEWER_ASKED_MAX;

	if (!question)
		return;
	reviewer_pump_soon(self);
	if (question_is_said(question))
		return;
	if (self->asked_count < max)
		question_send(question);
	else
		loop_timer_stop(&self->pump); /* until one of them is answered */
}

struct reviewer_question *reviewer_question_new(struct approver *self, const char *id)
{
	struct reviewer_question *question = mem_new(sizeof(*question));

	question->owner = self;
	question->by_person = POLICY_ASK;
	(void)snprintf(question->id, sizeof(question->id), "%s", id);
	TAILQ_INSERT_TAIL(&self->questions, question, entry);
	self->question_count++;
	reviewer_pump_soon(self);
	return question;
}

static void reviewer_ask(struct approver *self, const struct approver_question *shown)
{
	if (!reviewer_review_is_asked(self, POLICY_HELPS_NETWORK) ||
	    self->question_count >= REVIEWER_QUESTIONS_MAX || reviewer_find(self, shown->id))
		return;
	struct reviewer_question *question = reviewer_question_new(self, shown->id);

	question->due_ms = loop_now_ms(self->loop) + shown->left_ms;
	if (question_describe(question, shown) < 0)
		reviewer_question_free(question);
}

/* A question that was sent already is compared again when its answer arrives. */
static void reviewer_changed(struct approver *self, const struct approver_question *shown)
{
	struct reviewer_question *question = reviewer_find(self, shown->id);

	if (question && question->state == REVIEWER_QUEUED &&
	    question_describe(question, shown) < 0)
		reviewer_question_free(question);
}

void reviewer_question_end(struct reviewer_question *question, enum policy_action by_person)
{
	question->by_person = by_person;
	question->is_over = true;
	if (question->state == REVIEWER_ASKED)
		return; /* the answer is still compared */
	if (question->state == REVIEWER_SAID && by_person != POLICY_ASK)
		reviewer_trust_compare(question->owner, question);
	reviewer_question_free(question);
}

static bool is_by_person(enum policy_reason reason)
{
	static const enum policy_reason reasons[] = {
		POLICY_GRANTED_ONCE,   POLICY_GRANTED_EXEC,  POLICY_GRANTED_SESSION,
		POLICY_GRANTED_ALWAYS, POLICY_DENIED_ONCE,   POLICY_DENIED_EXEC,
		POLICY_DENIED_SESSION, POLICY_DENIED_ALWAYS, POLICY_ABORTED,
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i] == reason)
			return true;
	}
	return false;
}

static void reviewer_retract(struct approver *self, const struct approver_end *end)
{
	struct reviewer_question *question = reviewer_find(self, end->id);

	if (!question)
		return;
	reviewer_question_end(question, !question->is_ours && is_by_person(end->reason)
						? end->action
						: POLICY_ASK);
}

static bool reviewer_is_attached(const struct approver *self)
{
	return reviewer_review_is_asked(self, POLICY_HELPS_NETWORK) && self->may_answer &&
	       self->breaker.fitness != REVIEWER_UNFIT;
}

static void reviewer_close(struct approver *self)
{
	if (!self)
		return;
	loop_timer_stop(&self->save);
	reviewer_trust_save(self);
	loop_timer_stop(&self->save);
	loop_timer_stop(&self->pump);
	loop_timer_stop(&self->open);
	reviewer_helper_stop(&self->helper);
	while (!TAILQ_EMPTY(&self->questions))
		reviewer_question_free(TAILQ_FIRST(&self->questions));
	free(self);
}

static struct approver *reviewer_open(struct gateway *gw, struct loop *loop,
				      const struct gateway_config *config, struct err *why)
{
	if (!config->helpers || !config->helpers->reviewer)
		return NULL;
	struct approver *self = mem_new(sizeof(*self));

	self->gw = gw;
	self->loop = loop;
	self->config = config->helpers->reviewer;
	self->may_answer = self->config->may_answer;
	reviewer_helper_init(&self->helper, self);
	TAILQ_INIT(&self->questions);
	return self;
}

const struct approver_ops reviewer_approver = {
	.name = "reviewer",
	.open = reviewer_open,
	.is_attached = reviewer_is_attached,
	.ask = reviewer_ask,
	.changed = reviewer_changed,
	.retract = reviewer_retract,
	.review = reviewer_review,
	.forget = reviewer_review_forget,
	.reviews_as = GATEWAY_REVIEW_BY_REVIEWER,
	.watch = reviewer_review_watch,
	.compare = reviewer_review_compare,
	.close = reviewer_close,
};
