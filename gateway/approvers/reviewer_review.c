/* What is put to a reviewer and is no destination: it takes the same way as one, and its word goes
 * back to whoever asked instead of to a question. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/reviewer.h"

bool reviewer_review_is_asked(const struct approver *self, enum policy_helper_kind kind)
{
	unsigned int kinds = self->config->kinds ? self->config->kinds : POLICY_HELPS_NETWORK;

	return kinds & kind;
}

int reviewer_review(struct approver *self, struct approver_review *review)
{
	int64_t timeout_ms =
		self->config->timeout_ms > 0 ? self->config->timeout_ms : REVIEWER_TIMEOUT_MS;

	/* Who is only watched is watched where people answer what it is asked: at destinations. */
	if (!reviewer_review_is_asked(self, review->kind) || !self->may_answer ||
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

	question->review = review;
	review->job = question;
	question->what = what;
	memcpy(question->key, key, sizeof(key));
	/* Half of it is the reviewer's: reviewer.c leaves the rest to people. */
	question->due_ms = loop_now_ms(self->loop) + 2 * timeout_ms;
	return 0;
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
