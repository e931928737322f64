/* Reviews of something other than a destination: they are handled like questions, but the answer
 * goes to the caller of gateway_review(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/programs/reviewer.h"

bool reviewer_review_is_asked(const struct approver *self, enum policy_helper_kind kind)
{
	unsigned int kinds = self->config->kinds ? self->config->kinds : POLICY_HELPS_NETWORK;

	return kinds & kind;
}

/* Queues @review, to be sent soon. */
static int review_put(struct approver *self, struct approver_review *review, bool is_watched)
{
	int64_t timeout_ms =
		self->config->timeout_ms > 0 ? self->config->timeout_ms : REVIEWER_TIMEOUT_MS;

	if (!reviewer_review_is_asked(self, review->kind) ||
	    self->breaker.fitness == REVIEWER_UNFIT ||
	    self->question_count >= REVIEWER_QUESTIONS_MAX)
		return -EAGAIN;
	json_t *what = json_loads(review->object, JSON_REJECT_DUPLICATES, NULL);
	char key[DIGEST_TEXT_MAX];

	if (!what || reviewer_line_key(what, key) < 0) {
		json_decref(what);
		return -EIO;
	}
	if (review->timeout_ms > 0 && review->timeout_ms < timeout_ms)
		timeout_ms = review->timeout_ms;
	struct reviewer_question *question = reviewer_question_new(self, "review");

	question->is_review = true;
	question->is_watched = is_watched;
	question->review = review;
	review->job = question;
	question->what = what;
	memcpy(question->key, key, sizeof(key));
	/* reviewer.c uses half of the time and leaves the rest to people, so this doubles it. */
	question->due_ms = loop_now_ms(self->loop) + 2 * timeout_ms;
	return 0;
}

int reviewer_review(struct approver *self, struct approver_review *review)
{
	return self->may_answer ? review_put(self, review, false) : -EAGAIN;
}

/* A reviewer that may answer was asked before the person. */
int reviewer_review_watch(struct approver *self, struct approver_review *review)
{
	return self->may_answer ? -EAGAIN : review_put(self, review, true);
}

void reviewer_review_compare(struct approver *self, struct approver_review *review,
			     enum policy_action by_person)
{
	struct reviewer_question *question = review->job;

	(void)self;
	question->is_watched = false;
	question->review = NULL;
	reviewer_question_end(question, by_person);
}

void reviewer_review_forget(struct approver *self, struct approver_review *review)
{
	(void)self;
	reviewer_question_free(review->job);
}

enum gateway_review_outcome reviewer_review_outcome(const struct reviewer_question *question)
{
	if (question->said == REVIEWER_ABSTAIN)
		return question->failure;
	return question->said == REVIEWER_DENY ? GATEWAY_REVIEW_DENY : GATEWAY_REVIEW_ALLOW;
}
